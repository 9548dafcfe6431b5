/* SPDX-License-Identifier: Apache-2.0 */
/* Fibottention for C, and for every language that can call C: the same attention as attention.h behind a stable binary
 * interface. Functions return FIB_OK or an error code; fib_last_error() then holds one line about what was wrong.
 * Nothing here throws, prints or ends the process.
 *
 * Shapes: q [B,H,Tq,d], k [B,H,Tk,d], v [B,H,Tk,e], out [B,H,Tq,e], lse [B,H,Tq] (contiguous). Strides count elements;
 * channels are contiguous. Results are bitwise equal for any number of threads, and in a child after fork(), which
 * computes with one thread. Arrays are aligned to their type; what is written must not overlap itself or begin where an
 * input does. */
#ifndef FIBOTTENTION_FIBOTTENTION_H_
#define FIBOTTENTION_FIBOTTENTION_H_

#include <stdint.h>

#if defined(__GNUC__)
#define FIB_API __attribute__((visibility("default")))
#else
#define FIB_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Grows whenever a struct or a function below changes its meaning or layout. */
#define FIB_ABI_VERSION 2

/* The version the library was built with; differs from FIB_ABI_VERSION if header and library do not belong together. */
FIB_API int32_t fib_abi_version(void);

typedef enum fib_status {
  FIB_OK = 0,
  FIB_INVALID_ARGUMENT = 1, /* what was received and what is accepted: fib_last_error() */
  FIB_OUT_OF_MEMORY = 2,
  FIB_FAILURE = 3
} fib_status;

/* About the last call that failed on this thread; "" if none has. Valid until the next failure on this thread. */
FIB_API const char* fib_last_error(void);

/* ---- Patterns: which query meets which key ------------------------------------------------------------------------
 */

typedef struct fib_pattern fib_pattern;

/* What a pattern is made for: patches + cls tokens, class tokens first. layer < 0 means none. */
typedef struct fib_geometry {
  int64_t patches;
  int64_t cls;
  int64_t heads;
  int64_t layer;
  int32_t causal;
  /* How the patches lie, for the options grid and summaries: all 0 for a square, frames 0 or 1 for an image. The frames
   * of a place stand side by side. */
  int64_t height, width, frames;
} fib_geometry;

/* What one head looks at: distances between patch tokens, the diagonal, and further (query, key) token pairs. */
typedef struct fib_head {
  const int64_t* offsets; /* ascending, each in both directions */
  int64_t num_offsets;
  int32_t diagonal;
  const int32_t* pairs; /* query, key, query, key, ... */
  int64_t num_pairs;
} fib_head;

/* By name, NAME or NAME:key=value,key=value: "fibottention:wmin=5,wmax=65". */
FIB_API fib_status fib_pattern_from_spec(const char* spec, const fib_geometry* geometry, fib_pattern** pattern);
/* From geometry->heads explicit heads; geometry->layer is not used. */
FIB_API fib_status fib_pattern_from_heads(const fib_head* heads, const fib_geometry* geometry, fib_pattern** pattern);
/* Between query_tokens queries and key_tokens other keys: of each head only the pairs are used. */
FIB_API fib_status fib_pattern_rectangular(const fib_head* heads, int64_t num_heads, int64_t query_tokens,
                                           int64_t key_tokens, fib_pattern** pattern);
FIB_API void fib_pattern_free(fib_pattern* pattern); /* null is allowed */

/* Of a null pattern: no heads, tokens or pairs. */
FIB_API int64_t fib_pattern_heads(const fib_pattern* pattern);
FIB_API int64_t fib_pattern_query_tokens(const fib_pattern* pattern);
FIB_API int64_t fib_pattern_key_tokens(const fib_pattern* pattern);
/* Pairs that are computed, class tokens included: of one head, or of all if head is negative; -1 if there is no such.
 */
FIB_API int64_t fib_pattern_pairs(const fib_pattern* pattern, int64_t head);
/* The share of all pairs of patch tokens that is left out. */
FIB_API double fib_pattern_pruning_ratio(const fib_pattern* pattern);
/* 1 if the query meets the key in this head, 0 if not or if there is no such head or token. */
FIB_API int32_t fib_pattern_contains(const fib_pattern* pattern, int64_t head, int64_t query, int64_t key);

/* What one head looks at: ascending distances, *count of them, valid as long as the pattern; null if there is no such
 * head. */
FIB_API const int64_t* fib_pattern_offsets(const fib_pattern* pattern, int64_t head, int64_t* count);
/* The paper's w_i, and whether a patch token sees itself; -1 if there is no such head. */
FIB_API int64_t fib_pattern_window(const fib_pattern* pattern, int64_t head);
FIB_API int32_t fib_pattern_diagonal(const fib_pattern* pattern, int64_t head);
/* Pairs of patch tokens, over all heads: what the paper counts; of one head those that neighbors on the grid alone
 * give; and how many summaries every patch token sees besides. */
FIB_API int64_t fib_pattern_patch_pairs(const fib_pattern* pattern);
FIB_API int64_t fib_pattern_neighbor_pairs(const fib_pattern* pattern, int64_t head);
FIB_API int64_t fib_pattern_summaries(const fib_pattern* pattern);
/* All pairs of tokens of one head as query, key, query, key, ..., ascending, summaries aside: *count is how many there
 * are. Writes nothing where `pairs` is null, and refuses where `capacity` pairs do not hold them. */
FIB_API fib_status fib_pattern_list_pairs(const fib_pattern* pattern, int64_t head, int64_t* pairs, int64_t capacity,
                                          int64_t* count);
/* Bytes that it takes. */
FIB_API int64_t fib_pattern_memory(const fib_pattern* pattern);

/* ---- Attention ----------------------------------------------------------------------------------------------------
 */

typedef enum fib_type { FIB_F32 = 0, FIB_F64 = 1 } fib_type;
typedef enum fib_masking { FIB_MASKING_EXCLUDE = 0, FIB_MASKING_ZERO = 1 } fib_masking;

/* A [batch, heads, tokens, channels] array. */
typedef struct fib_array {
  void* data; /* of the call's type; inputs are not written */
  int64_t batch_stride;
  int64_t head_stride;
  int64_t token_stride;
} fib_array;

/* An additive score [groups, heads or 1, Tq, Tk]; sample b uses group b mod groups. Null data means none. */
typedef struct fib_bias {
  void* data;
  int64_t groups;
  int64_t group_stride;
  int64_t head_stride; /* 0 shares one bias among the heads */
  int64_t query_stride;
  int64_t key_stride;
} fib_bias;

/* Everything both directions need. fib_attention_init gives every field its default; then set what is yours. */
typedef struct fib_attention {
  int32_t abi_version; /* FIB_ABI_VERSION, checked by every call */
  fib_type type;
  int64_t batch;
  int64_t dim;       /* d, 1 to 512 */
  int64_t value_dim; /* e, 1 to 512 */
  fib_array q, k, v;
  double scale; /* 0 means 1/sqrt(d) */
  fib_masking masking;
  const int64_t* lengths; /* [B] tokens that are no padding, or null */
  fib_bias bias;
  double dropout; /* in [0, 1) */
  uint64_t dropout_seed;
} fib_attention;

FIB_API void fib_attention_init(fib_attention* call);

/* lse may be null when no backward follows. */
FIB_API fib_status fib_attention_forward(const fib_pattern* pattern, const fib_attention* call, fib_array out,
                                         void* lse);

/* out and lse are those of the forward with the same call. dq, dk, dv are overwritten; dbias, where given, is added to
 * and shares groups and heads as the bias does. */
typedef struct fib_gradients {
  fib_array dq, dk, dv;
  fib_bias dbias;
} fib_gradients;

FIB_API fib_status fib_attention_backward(const fib_pattern* pattern, const fib_attention* call, fib_array out,
                                          const void* lse, fib_array grad_out, const fib_gradients* gradients);

/* Attention of every query with every key, or where `causal` with every key up to itself: by tiles whose scores never
 * leave the caches. Masking must be FIB_MASKING_EXCLUDE. */
typedef struct fib_dense {
  int64_t heads;
  int64_t query_tokens;
  int64_t key_tokens;
  int32_t causal; /* needs as many queries as keys */
} fib_dense;

FIB_API fib_status fib_dense_attention_forward(const fib_dense* dense, const fib_attention* call, fib_array out,
                                               void* lse);
FIB_API fib_status fib_dense_attention_backward(const fib_dense* dense, const fib_attention* call, fib_array out,
                                                const void* lse, fib_array grad_out, const fib_gradients* gradients);

/* How many threads the calls of this thread use, where nothing else says it to OpenMP; 1 or more. */
FIB_API fib_status fib_set_num_threads(int32_t threads);

/* Name of the SIMD target in use ("AVX3", ...), or null with an error. Valid until the next call on this thread. */
FIB_API const char* fib_simd_target(void);
/* Forces one by name; "" chooses the best again. */
FIB_API fib_status fib_set_simd_target(const char* name);

#ifdef __cplusplus
}
#endif

#endif /* FIBOTTENTION_FIBOTTENTION_H_ */
