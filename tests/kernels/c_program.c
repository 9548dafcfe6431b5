/* SPDX-License-Identifier: Apache-2.0 */
/* A C99 program that uses the library as C programs do; exit code 0 if all of it holds. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fibottention/fibottention.h"

#define HEADS 2
#define PATCHES 40
#define TOKENS (PATCHES + 1)
#define DIM 6
#define COUNT (HEADS * TOKENS * DIM)

static int failures = 0;

static void expect(int ok, const char* what) {
  if (ok) return;
  ++failures;
  fprintf(stderr, "failed: %s (last error: '%s')\n", what, fib_last_error());
}

static fib_array array_of(double* data) {
  fib_array a;
  a.data = data;
  a.batch_stride = COUNT;
  a.head_stride = TOKENS * DIM;
  a.token_stride = DIM;
  return a;
}

static fib_pattern* make_pattern(void) {
  static const int64_t offsets[] = {1, 3, 4, 7};
  static const int32_t pairs[] = {5, 30, 30, 5, 12, 12};
  fib_head heads[HEADS] = {{offsets, 4, 0, NULL, 0}, {offsets, 1, 1, pairs, 3}};
  fib_geometry geometry = {PATCHES, 1, HEADS, -1, 0, 0, 0, 0};
  fib_pattern* pattern = NULL;
  expect(fib_pattern_from_heads(heads, &geometry, &pattern) == FIB_OK, "pattern from heads");
  return pattern;
}

static double q[COUNT], k[COUNT], v[COUNT], out[COUNT], lse[HEADS * TOKENS], ones[COUNT], dq[COUNT], dk[COUNT],
    dv[COUNT];

static fib_attention make_call(void) {
  fib_attention call;
  int i;
  for (i = 0; i < COUNT; ++i) {
    q[i] = sin(0.7 * i);
    k[i] = cos(0.3 * i);
    v[i] = sin(0.1 * i * i);
    ones[i] = 1.0;
  }
  fib_attention_init(&call);
  call.type = FIB_F64;
  call.batch = 1;
  call.dim = call.value_dim = DIM;
  call.q = array_of(q);
  call.k = array_of(k);
  call.v = array_of(v);
  return call;
}

/* One row of head h by the definition. */
static double expected_output(const fib_pattern* pattern, int h, int j, int c) {
  double sum = 0, weighted = 0;
  int key, i;
  for (key = 0; key < TOKENS; ++key) {
    double s = 0;
    if (!fib_pattern_contains(pattern, h, j, key)) continue;
    for (i = 0; i < DIM; ++i) s += q[(h * TOKENS + j) * DIM + i] * k[(h * TOKENS + key) * DIM + i];
    s = exp(s / sqrt((double)DIM));
    sum += s;
    weighted += s * v[(h * TOKENS + key) * DIM + c];
  }
  return weighted / sum;
}

static void check_forward(const fib_pattern* pattern, const fib_attention* call) {
  double worst = 0;
  int h, j;
  expect(fib_attention_forward(pattern, call, array_of(out), lse) == FIB_OK, "forward");
  for (h = 0; h < HEADS; ++h) {
    for (j = 0; j < TOKENS; ++j) {
      const double error = fabs(out[(h * TOKENS + j) * DIM + 2] - expected_output(pattern, h, j, 2));
      if (error > worst) worst = error;
    }
  }
  expect(worst < 1e-13, "forward gives the definition's numbers");
}

/* The probabilities of a query sum to one, so with grad_out = 1 all of dv sums to the number of outputs. */
static void check_backward(const fib_pattern* pattern, const fib_attention* call) {
  fib_gradients g;
  double sum = 0;
  int i;
  memset(&g, 0, sizeof(g));
  g.dq = array_of(dq);
  g.dk = array_of(dk);
  g.dv = array_of(dv);
  expect(fib_attention_backward(pattern, call, array_of(out), lse, array_of(ones), &g) == FIB_OK, "backward");
  for (i = 0; i < COUNT; ++i) sum += dv[i];
  expect(fabs(sum - COUNT) < 1e-9, "dv adds up");
}

static void check_queries(const fib_pattern* pattern) {
  expect(fib_pattern_heads(pattern) == HEADS, "heads");
  expect(fib_pattern_query_tokens(pattern) == TOKENS && fib_pattern_key_tokens(pattern) == TOKENS, "tokens");
  expect(fib_pattern_pairs(pattern, 0) + fib_pattern_pairs(pattern, 1) == fib_pattern_pairs(pattern, -1), "pairs");
  expect(fib_pattern_pairs(pattern, HEADS) == -1, "no such head has no pairs");
  expect(fib_pattern_contains(pattern, 1, 5, 30) && !fib_pattern_contains(pattern, 0, 5, 30), "explicit pair");
  expect(!fib_pattern_contains(pattern, 0, 5, TOKENS), "no such token");
  expect(fib_pattern_pruning_ratio(pattern) > 0.5, "pruning ratio");
}

/* The list of a head's pairs is what contains() says of each. */
static void check_list(const fib_pattern* pattern, int h) {
  static int64_t pairs[2 * TOKENS * TOKENS];
  int64_t count = 0, offsets = 0, listed = 0;
  int query, key;
  expect(fib_pattern_list_pairs(pattern, h, NULL, 0, &count) == FIB_OK, "pairs are counted");
  expect(count == fib_pattern_pairs(pattern, h), "as pairs() counts them");
  expect(fib_pattern_list_pairs(pattern, h, pairs, count - 1, &count) == FIB_INVALID_ARGUMENT, "too little room");
  expect(fib_pattern_list_pairs(pattern, h, pairs, count, &count) == FIB_OK, "pairs are listed");
  for (query = 0; query < TOKENS; ++query) {
    for (key = 0; key < TOKENS; ++key) {
      if (!fib_pattern_contains(pattern, h, query, key)) continue;
      if (pairs[2 * listed] != query || pairs[2 * listed + 1] != key) expect(0, "in ascending order");
      ++listed;
    }
  }
  expect(listed == count, "and all of them");
  expect(fib_pattern_offsets(pattern, h, &offsets)[0] == 1 && offsets == (h == 0 ? 4 : 1), "offsets");
  expect(fib_pattern_diagonal(pattern, h) == h, "diagonal");
}

static void check_what_there_is_not(const fib_pattern* pattern) {
  int64_t count = 7;
  expect(fib_pattern_offsets(pattern, HEADS, &count) == NULL && count == 0, "no such head has no offsets");
  expect(fib_pattern_window(pattern, -1) == -1 && fib_pattern_diagonal(pattern, HEADS) == -1, "nor a window");
  expect(fib_pattern_neighbor_pairs(pattern, HEADS) == -1, "nor neighbors");
  expect(fib_pattern_list_pairs(pattern, HEADS, NULL, 0, &count) == FIB_INVALID_ARGUMENT, "nor pairs");
  expect(fib_pattern_summaries(pattern) == 0 && fib_pattern_neighbor_pairs(pattern, 0) == 0, "no grid");
  expect(fib_pattern_memory(pattern) > 0 && fib_pattern_memory(NULL) == 0, "memory");
}

/* Dense attention is that of a pattern with all pairs. */
static void check_dense(fib_attention call) {
  static double dense_out[COUNT], dense_lse[HEADS * TOKENS];
  fib_geometry geometry = {PATCHES, 1, HEADS, -1, 0, 0, 0, 0};
  fib_dense dense = {HEADS, TOKENS, TOKENS, 0};
  fib_pattern* full = NULL;
  fib_gradients g;
  double worst = 0, sum = 0;
  int i;
  memset(&g, 0, sizeof(g));
  g.dq = array_of(dq), g.dk = array_of(dk), g.dv = array_of(dv);
  expect(fib_pattern_from_spec("full", &geometry, &full) == FIB_OK, "pattern of all pairs");
  expect(fib_attention_forward(full, &call, array_of(out), lse) == FIB_OK, "its forward");
  expect(fib_dense_attention_forward(&dense, &call, array_of(dense_out), dense_lse) == FIB_OK, "dense forward");
  for (i = 0; i < COUNT; ++i) worst = fmax(worst, fabs(out[i] - dense_out[i]));
  expect(worst < 1e-13, "dense gives the pattern's numbers");
  expect(fib_dense_attention_backward(&dense, &call, array_of(out), lse, array_of(ones), &g) == FIB_OK, "its backward");
  for (i = 0; i < COUNT; ++i) sum += dv[i];
  expect(fabs(sum - COUNT) < 1e-9, "dv of dense adds up");
  call.masking = FIB_MASKING_ZERO;
  expect(fib_dense_attention_forward(&dense, &call, array_of(out), lse) == FIB_INVALID_ARGUMENT, "nothing is masked");
  expect(fib_dense_attention_forward(NULL, &call, array_of(out), lse) == FIB_INVALID_ARGUMENT, "null is refused");
  expect(fib_set_num_threads(0) == FIB_INVALID_ARGUMENT && fib_set_num_threads(1) == FIB_OK, "threads");
  fib_pattern_free(full);
}

static void check_errors(const fib_pattern* pattern, fib_attention call) {
  fib_geometry geometry = {196, 1, 12, -1, 0, 0, 0, 0};
  fib_pattern* none = NULL;
  expect(fib_pattern_from_spec("fibonachos", &geometry, &none) == FIB_INVALID_ARGUMENT, "unknown name is refused");
  expect(none == NULL && strstr(fib_last_error(), "fibonachos") != NULL, "and named");
  call.dim = 513;
  expect(fib_attention_forward(pattern, &call, array_of(out), NULL) == FIB_INVALID_ARGUMENT, "dim 513 is refused");
  expect(strstr(fib_last_error(), "513") != NULL, "and named");
  call.abi_version = FIB_ABI_VERSION + 1;
  expect(fib_attention_forward(pattern, &call, array_of(out), NULL) == FIB_INVALID_ARGUMENT, "other ABI is refused");
  expect(fib_attention_forward(NULL, &call, array_of(out), NULL) == FIB_INVALID_ARGUMENT, "null pattern is refused");
  expect(fib_set_simd_target("MMX") == FIB_INVALID_ARGUMENT, "unknown target is refused");
}

static void check_named_pattern(void) {
  fib_geometry geometry = {196, 1, 12, -1, 0, 0, 0, 0};
  fib_pattern* pattern = NULL;
  expect(fib_pattern_from_spec("fibottention:wmin=5,wmax=65", &geometry, &pattern) == FIB_OK, "pattern by name");
  expect(pattern != NULL && fabs(fib_pattern_pruning_ratio(pattern) - 0.98006) < 1e-5, "the paper's pruning ratio");
  fib_pattern_free(pattern);
}

static void check_rectangular(void) {
  static const int32_t pairs[] = {0, 3, 1, 0};
  fib_head head = {NULL, 0, 0, pairs, 2};
  fib_pattern* pattern = NULL;
  expect(fib_pattern_rectangular(&head, 1, 2, 4, &pattern) == FIB_OK, "rectangular pattern");
  expect(fib_pattern_pairs(pattern, -1) == 2 && fib_pattern_key_tokens(pattern) == 4, "and its size");
  fib_pattern_free(pattern);
}

int main(void) {
  fib_pattern* pattern = make_pattern();
  fib_attention call = make_call();
  expect(fib_abi_version() == FIB_ABI_VERSION, "header and library belong together");
  expect(fib_simd_target() != NULL, "a target runs");
  if (pattern == NULL) return EXIT_FAILURE;
  check_queries(pattern);
  check_forward(pattern, &call);
  check_backward(pattern, &call);
  check_list(pattern, 0);
  check_list(pattern, 1);
  check_what_there_is_not(pattern);
  check_dense(call);
  check_errors(pattern, call);
  check_named_pattern();
  check_rectangular();
  fib_pattern_free(pattern);
  fib_pattern_free(NULL);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
