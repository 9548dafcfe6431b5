/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled models for C: what `fib compile` writes, loaded and run without torch. Errors are those of fibottention.h.
 * One call at a time for an engine; load the file once for each thread that calls. Results are bitwise equal for any
 * number of threads, which OpenMP decides (OMP_NUM_THREADS), and any batch. */
#ifndef FIBOTTENTION_ENGINE_H_
#define FIBOTTENTION_ENGINE_H_

#include <stdint.h>

#include "fibottention/fibottention.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fib_engine fib_engine;

/* What a model takes and gives. A sample is an image [channels, height, width], or a clip [channels, frames, height,
 * width], its values normalized: (x / 255 - mean) / std. A decoder takes tokens, by fib_engine_step: channels, frames,
 * height and width are 0, and its classes are the symbols. */
typedef struct fib_engine_info {
  int64_t channels;
  int64_t frames;        /* of a clip; 0: it takes images */
  int64_t height, width; /* of the first size it was compiled for */
  int64_t classes;
  int64_t most_samples; /* the largest batch */
} fib_engine_info;

/* Maps the file, which must stay as it is until the engine is freed. A file that was tampered with is refused. */
FIB_API fib_status fib_engine_load(const char* file, fib_engine** engine);
/* The same within limits of the caller: bytes of memory beside the file, and multiply-adds (or what takes as long) for
 * a sample. Both follow from the file's steps; one that needs more is refused before anything is allocated or run.
 * fib_engine_load grants 4 GiB and 4e14. */
FIB_API fib_status fib_engine_load_within(const char* file, int64_t max_memory, int64_t max_work, fib_engine** engine);
FIB_API void fib_engine_free(fib_engine* engine); /* null is allowed */

FIB_API fib_status fib_engine_describe(const fib_engine* engine, fib_engine_info* info);
/* What it takes: bytes of memory beside the file with all its sizes, multiply-adds for a sample of the largest. */
FIB_API fib_status fib_engine_requirements(const fib_engine* engine, int64_t* memory, int64_t* work);
/* A value of the file's metadata: "model", "attention", "mean", "std", "crop_ratio", "class_names", ...; null where it
 * has none. Valid as long as the engine. */
FIB_API const char* fib_engine_metadata(const fib_engine* engine, const char* key);

/* `count` samples to logits [count, classes], arrays that do not overlap. The size must be one it was compiled for. */
FIB_API fib_status fib_engine_run(fib_engine* engine, const float* samples, int64_t count, int64_t height,
                                  int64_t width, float* logits);

/* Decoders. The next `count` tokens of a sequence, from 0 to classes - 1, to the logits [classes] of what comes after
 * the last of them. Keys and values of earlier tokens are kept; a step reads those that the attention looks back at.
 * More tokens than the model has learned positions for are refused; with rotary positions there is no end. */
FIB_API fib_status fib_engine_step(fib_engine* engine, const int32_t* tokens, int64_t count, float* logits);
/* Forgets all tokens: the next step begins a sequence. */
FIB_API fib_status fib_engine_restart(fib_engine* engine);
/* Tokens since the sequence began. */
FIB_API fib_status fib_engine_position(const fib_engine* engine, int64_t* position);

/* ---- Policies: what `fib compile` writes of a run that learned a robot's task ---- */

/* Observations are as the task's world gives them, one behind the other: numbers [times, numbers], or pixels from 0 to
 * 255 [times, 3, side, side], the oldest time first. fib_engine_metadata(engine, "policy") is JSON with the name and
 * shape of each. Actions are as the world takes them, to be carried out one after the other. */
typedef struct fib_policy_info {
  int64_t observation_values; /* of all observations together */
  int64_t noise_values;       /* from which the actions are drawn */
  int64_t actions, numbers;   /* the result, [actions, numbers] */
} fib_policy_info;

/* FIB_INVALID_ARGUMENT where the file is no policy. */
FIB_API fib_status fib_policy_describe(const fib_engine* engine, fib_policy_info* info);
/* The noise of decision 0, 1, … of an episode with this seed, as `fib rollout` draws it. */
FIB_API fib_status fib_policy_noise(const fib_engine* engine, uint32_t seed, int64_t decision, float* noise);
/* The sampler and all its steps are in the file. Arrays do not overlap. */
FIB_API fib_status fib_policy_decide(fib_engine* engine, const float* observations, const float* noise, float* actions);

#ifdef __cplusplus
}
#endif

#endif /* FIBOTTENTION_ENGINE_H_ */
