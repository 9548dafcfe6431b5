/* SPDX-License-Identifier: Apache-2.0 */
/* A C99 program that decides with a compiled policy: decide_c POLICY.fib CLASSIFIER.fib; exit code 0 if all of it
 * holds. */
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

static float* floats(int64_t count) { return calloc((size_t)count, sizeof(float)); }

static void decide(fib_engine* engine, const fib_policy_info* info) {
  const size_t bytes = (size_t)(info->actions * info->numbers) * sizeof(float);
  float *seen = floats(info->observation_values), *noise = floats(info->noise_values),
        *other = floats(info->noise_values);
  float *actions = malloc(bytes), *again = malloc(bytes);
  int64_t i;
  for (i = 0; i < info->observation_values; ++i) seen[i] = 0.25f * (float)i;
  expect(fib_policy_noise(engine, 7, 0, noise) == FIB_OK, "noise");
  expect(fib_policy_noise(engine, 7, 1, other) == FIB_OK, "the next decision's noise");
  expect(memcmp(noise, other, (size_t)info->noise_values * sizeof(float)) != 0, "noise is new for each decision");
  expect(fib_policy_decide(engine, seen, noise, actions) == FIB_OK, "a decision");
  expect(fib_policy_decide(engine, seen, noise, again) == FIB_OK, "the same decision");
  expect(memcmp(actions, again, bytes) == 0, "equal observations, equal actions");
  expect(fib_policy_decide(engine, seen, other, again) == FIB_OK, "another decision");
  expect(memcmp(actions, again, bytes) != 0, "other noise, other actions");
  for (i = 0; i < info->actions; ++i)
    printf("%g %g\n", (double)actions[i * info->numbers], (double)actions[i * info->numbers + 1]);
  expect(fib_policy_decide(engine, seen, noise, noise) == FIB_INVALID_ARGUMENT, "arrays that overlap");
  expect(fib_policy_decide(engine, NULL, noise, actions) == FIB_INVALID_ARGUMENT, "a null pointer");
  expect(fib_policy_noise(engine, 7, -1, noise) == FIB_INVALID_ARGUMENT, "decision -1");
  free(seen), free(noise), free(other), free(actions), free(again);
}

int main(int argc, char** argv) {
  fib_engine *policy = NULL, *classifier = NULL;
  fib_policy_info info;
  if (argc != 3) return 2;
  expect(fib_engine_load(argv[1], &policy) == FIB_OK, "loading the policy");
  expect(fib_engine_load(argv[2], &classifier) == FIB_OK, "loading the classifier");
  if (policy == NULL || classifier == NULL) return 1;
  expect(fib_policy_describe(policy, &info) == FIB_OK, "describing it");
  expect(strstr(fib_engine_metadata(policy, "policy"), "observations") != NULL, "its observations");
  decide(policy, &info);
  expect(fib_policy_describe(classifier, &info) == FIB_INVALID_ARGUMENT, "a classifier is no policy");
  expect(strstr(fib_last_error(), "no policy") != NULL, "its message");
  fib_engine_free(policy), fib_engine_free(classifier);
  return failures == 0 ? 0 : 1;
}
