/* SPDX-License-Identifier: Apache-2.0 */
/* Classifies a picture (binary PPM, as `convert photo.jpg photo.ppm` writes it) with a model of `fib compile`, without
 * torch: classify MODEL.fib PHOTO.ppm */
#include <fibottention/engine.h>
#include <stdio.h>
#include <stdlib.h>

static int fail(const char* what, const char* why) { return fprintf(stderr, "classify: %s: %s\n", what, why), 1; }

/* Interleaved bytes of any size to normalized planes of the model's size; nearest pixels, the whole picture. */
static void to_input(const unsigned char* rgb, int w, int h, const fib_engine_info* info, const float* mean,
                     const float* std, float* planes) {
  int64_t c, y, x;
  for (c = 0; c < 3; ++c) {
    for (y = 0; y < info->height; ++y) {
      for (x = 0; x < info->width; ++x) {
        const int64_t pixel = y * h / info->height * w + x * w / info->width;
        *planes++ = ((float)rgb[3 * pixel + c] / 255.0f - mean[c]) / std[c];
      }
    }
  }
}

int main(int argc, char** argv) {
  fib_engine* engine = NULL;
  fib_engine_info info;
  float mean[3] = {0.5f, 0.5f, 0.5f}, std[3] = {0.5f, 0.5f, 0.5f}, *input, *logits;
  unsigned char* rgb;
  const char* text;
  FILE* file;
  int w = 0, h = 0, best = 0, i;

  if (argc != 3) return fail("usage", "classify MODEL.fib PHOTO.ppm");
  if (fib_engine_load(argv[1], &engine) != FIB_OK || fib_engine_describe(engine, &info) != FIB_OK)
    return fail(argv[1], fib_last_error());
  if (info.channels != 3 || info.frames != 0) return fail(argv[1], "takes no color images");
  if ((text = fib_engine_metadata(engine, "mean")) != NULL) sscanf(text, "[%f, %f, %f]", mean, mean + 1, mean + 2);
  if ((text = fib_engine_metadata(engine, "std")) != NULL) sscanf(text, "[%f, %f, %f]", std, std + 1, std + 2);

  file = fopen(argv[2], "rb");
  if (file == NULL || fscanf(file, "P6 %d %d 255", &w, &h) != 2 || w < 1 || h < 1 || w > 20000 || h > 20000)
    return fail(argv[2], "is no binary PPM of 8 bits");
  fgetc(file);
  rgb = malloc(3 * (size_t)w * (size_t)h);
  input = malloc(3 * (size_t)(info.height * info.width) * sizeof(float));
  logits = malloc((size_t)info.classes * sizeof(float));
  if (rgb == NULL || input == NULL || logits == NULL || fread(rgb, 3 * (size_t)w, (size_t)h, file) != (size_t)h)
    return fail(argv[2], "ends too early, or memory does");
  to_input(rgb, w, h, &info, mean, std, input);

  if (fib_engine_run(engine, input, 1, info.height, info.width, logits) != FIB_OK)
    return fail(argv[1], fib_last_error());
  for (i = 1; i < info.classes; ++i) best = logits[i] > logits[best] ? i : best;
  printf("class %d of %d, logit %.3f\n", best, (int)info.classes, logits[best]);
  fib_engine_free(engine);
  return EXIT_SUCCESS;
}
