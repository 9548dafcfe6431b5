// SPDX-License-Identifier: Apache-2.0
// The nineteen corruptions, each changing a image at a severity from 0 to 4. `Draw` says where random numbers come
// from and whether the channels of a pixel share them, as those of grey images must.
#pragma once

#include "base/rng.h"
#include "data/corruptions/float_image.h"

namespace fib::corruptions {

struct Draw {
  CounterRng& rng;
  bool grey = false;
};

using Kind = FloatImage (*)(const FloatImage& image, int severity, Draw draw);

FloatImage gaussian_noise(const FloatImage& image, int severity, Draw draw);
FloatImage shot_noise(const FloatImage& image, int severity, Draw draw);
FloatImage impulse_noise(const FloatImage& image, int severity, Draw draw);
FloatImage speckle_noise(const FloatImage& image, int severity, Draw draw);

FloatImage gaussian_blur(const FloatImage& image, int severity, Draw draw);
FloatImage glass_blur(const FloatImage& image, int severity, Draw draw);
FloatImage defocus_blur(const FloatImage& image, int severity, Draw draw);
FloatImage motion_blur(const FloatImage& image, int severity, Draw draw);
FloatImage zoom_blur(const FloatImage& image, int severity, Draw draw);

FloatImage snow(const FloatImage& image, int severity, Draw draw);
FloatImage frost(const FloatImage& image, int severity, Draw draw);
FloatImage fog(const FloatImage& image, int severity, Draw draw);
FloatImage spatter(const FloatImage& image, int severity, Draw draw);

FloatImage brightness(const FloatImage& image, int severity, Draw draw);
FloatImage contrast(const FloatImage& image, int severity, Draw draw);
FloatImage saturate(const FloatImage& image, int severity, Draw draw);
FloatImage elastic_transform(const FloatImage& image, int severity, Draw draw);
FloatImage pixelate(const FloatImage& image, int severity, Draw draw);
FloatImage jpeg_compression(const FloatImage& image, int severity, Draw draw);

/// Diamond-square noise in [0, 1] on a square whose side is a power of two; a larger decay is smoother.
FloatImage plasma(int side, double decay, CounterRng& rng);

}  // namespace fib::corruptions
