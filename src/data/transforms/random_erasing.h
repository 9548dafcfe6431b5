// SPDX-License-Identifier: Apache-2.0
// Random erasing: a box of the normalised image becomes noise, N(0, 1) for every value.
#pragma once

#include <optional>

#include "base/rng.h"
#include "data/resize.h"

namespace fib {

/// Ten draws of an area in [0.02, 1/3] of the image and a ratio with logarithm in [log 0.3, log 1/0.3]; none if no box
/// is smaller than the image on both sides.
std::optional<Region> draw_erased_box(ImageSize size, CounterRng& rng);

/// values: channels × height × width.
void fill_with_noise(float* values, int channels, ImageSize size, const Region& box, CounterRng& rng);

}  // namespace fib
