/* SPDX-License-Identifier: Apache-2.0 */
/* A C99 program that classifies with a compiled model: classify_c MODEL.fib; exit code 0 if all of it holds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fibottention/engine.h"

static int failures = 0;

static void expect(int ok, const char* what) {
  if (ok) return;
  ++failures;
  fprintf(stderr, "failed: %s (last error: '%s')\n", what, fib_last_error());
}

static int64_t largest(const float* values, int64_t count) {
  int64_t best = 0, i;
  for (i = 1; i < count; ++i) {
    if (values[i] > values[best]) best = i;
  }
  return best;
}

static void classify(fib_engine* engine, const fib_engine_info* info) {
  const size_t size = (size_t)(info->channels * info->height * info->width);
  float* image = calloc(2 * size, sizeof(float));
  float* logits = calloc(2 * (size_t)info->classes, sizeof(float));
  size_t i;
  for (i = 0; i < 2 * size; ++i) image[i] = (float)(i % 255) / 127.5f - 1.0f;
  memcpy(image + size, image, size * sizeof(float));
  expect(fib_engine_run(engine, image, 2, info->height, info->width, logits) == FIB_OK, "a batch of two");
  expect(memcmp(logits, logits + info->classes, (size_t)info->classes * sizeof(float)) == 0,
         "equal images, equal logits");
  printf("class %d\n", (int)largest(logits, info->classes));
  expect(
      fib_engine_run(engine, image, info->most_samples + 1, info->height, info->width, logits) == FIB_INVALID_ARGUMENT,
      "a batch above the limit");
  expect(strstr(fib_last_error(), "accepted are 1 to") != NULL, "its message");
  expect(fib_engine_run(engine, image, 1, info->height + 1, info->width, logits) == FIB_INVALID_ARGUMENT,
         "an image of another size");
  free(image);
  free(logits);
}

int main(int argc, char** argv) {
  fib_engine* engine = NULL;
  fib_engine_info info;
  if (argc != 2) return 2;
  expect(fib_engine_load("/nonexistent.fib", &engine) == FIB_FAILURE, "a file that is not there");
  expect(engine == NULL && strlen(fib_last_error()) > 0, "its message");
  expect(fib_engine_load(argv[1], NULL) == FIB_INVALID_ARGUMENT, "nowhere to put the engine");
  expect(fib_engine_load(argv[1], &engine) == FIB_OK, "load");
  if (engine == NULL) return 1;
  expect(fib_engine_describe(engine, &info) == FIB_OK && info.classes > 0, "describe");
  expect(fib_engine_metadata(engine, "model") != NULL, "metadata");
  expect(fib_engine_metadata(engine, "nothing like it") == NULL, "no such metadata");
  classify(engine, &info);
  fib_engine_free(engine);
  return failures == 0 ? 0 : 1;
}
