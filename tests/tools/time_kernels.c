/* SPDX-License-Identifier: Apache-2.0 */
/* time_kernels: the shortest times of Fibottention's kernels through the C interface, as "what<TAB>ms". For
 * scripts/compare-commit.sh COMMIT kernels, which links it with the library of either version. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fibottention/fibottention.h"

typedef struct Size {
  const char* attention;
  int64_t tokens, batch, dim;
} Size;

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static float* numbers(int64_t count, uint32_t seed) {
  float* x = malloc((size_t)count * sizeof(float));
  for (int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    x[i] = (float)(seed >> 8) / 8388608.0f - 1.0f;
  }
  return x;
}

static void check(fib_status status) {
  if (status == FIB_OK) return;
  fprintf(stderr, "time_kernels: %s\n", fib_last_error());
  exit(1);
}

static void time_size(const Size* s) {
  const int64_t heads = 12, tokens = s->tokens + 1, count = s->batch * heads * tokens * s->dim;
  fib_geometry geometry;
  memset(&geometry, 0, sizeof geometry);
  geometry.patches = s->tokens, geometry.cls = 1, geometry.heads = heads, geometry.layer = -1;
  fib_pattern* pattern;
  check(fib_pattern_from_spec(s->attention, &geometry, &pattern));
  fib_array arrays[8];
  for (uint32_t i = 0; i < 8; ++i) {
    const fib_array array = {numbers(count, i), heads * tokens * s->dim, tokens * s->dim, s->dim};
    arrays[i] = array;
  }
  float* lse = malloc((size_t)(s->batch * heads * tokens) * sizeof(float));
  fib_attention call;
  fib_attention_init(&call);
  call.batch = s->batch, call.dim = call.value_dim = s->dim;
  call.q = arrays[0], call.k = arrays[1], call.v = arrays[2];
  fib_gradients gradients;
  memset(&gradients, 0, sizeof gradients);
  gradients.dq = arrays[5], gradients.dk = arrays[6], gradients.dv = arrays[7];
  double forward = 1e30, backward = 1e30;
  const double end = now_ms() + 700;
  for (int round = 0; round < 5 || now_ms() < end; ++round) {
    const double begin = now_ms();
    check(fib_attention_forward(pattern, &call, arrays[3], lse));
    const double middle = now_ms();
    check(fib_attention_backward(pattern, &call, arrays[3], lse, arrays[4], &gradients));
    const double after = now_ms();
    if (middle - begin < forward) forward = middle - begin;
    if (after - middle < backward) backward = after - middle;
  }
  const char* const passes[] = {"forward", "backward"};
  const double times[] = {forward, backward};
  for (int i = 0; i < 2; ++i)
    printf("%s, N = %d, d = %d, B = %d, %s\t%.4f\n", s->attention, (int)s->tokens, (int)s->dim, (int)s->batch,
           passes[i], times[i]);
  for (int i = 0; i < 8; ++i) free(arrays[i].data);
  free(lse);
  fib_pattern_free(pattern);
}

int main(void) {
  const Size sizes[] = {{"fibottention", 196, 8, 64}, {"fibottention", 784, 1, 64}, {"fibottention", 4096, 1, 64},
                        {"fibottention", 196, 32, 8}, {"bigbird", 196, 8, 64},      {"random:ratio=0.2", 196, 8, 64},
                        {"longformer", 784, 1, 64}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) time_size(&sizes[i]);
  return 0;
}
