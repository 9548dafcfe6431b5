// SPDX-License-Identifier: Apache-2.0
// Mixup and cutmix, one decision for a whole batch: image i meets image n − 1 − i.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/rng.h"
#include "data/images/resize.h"

namespace fib {

struct MixOptions {
  double mixup_alpha = 0, cutmix_alpha = 0;  ///< 0 turns one off
  double probability = 1;                    ///< that a batch is mixed at all
  double switch_probability = 0.5;           ///< of cutmix, where both are on

  bool enabled() const { return probability > 0 && (mixup_alpha > 0 || cutmix_alpha > 0); }
};

/// What happens to a batch: image i becomes lambda · i + (1 − lambda) · partner (mixup), or takes the box from its
/// partner (cutmix); its target is lambda · own + (1 − lambda) · partner's either way.
struct Mix {
  enum class Kind { none, mixup, cutmix } kind = Kind::none;
  double lambda = 1;
  Region box;  ///< of cutmix
};

/// For cutmix lambda is the share of the image that the clipped box leaves.
Mix draw_mix(const MixOptions& options, ImageSize size, CounterRng& rng);

/// The box that cutmix takes for lambda, its centre given, clipped to the image.
Region cutmix_box(double lambda, ImageSize size, int64_t centre_x, int64_t centre_y);

inline size_t mix_partner(size_t index, size_t batch) { return batch - 1 - index; }

/// images: batch × channels × height × width, in place. The batch must be even.
void mix_images(std::span<float> images, size_t batch, ImageSize size, const Mix& mix);

/// batch × classes: 1 − smoothing + smoothing / classes on the label, smoothing / classes elsewhere, then mixed.
std::vector<float> mixed_targets(std::span<const int64_t> labels, int64_t classes, double smoothing, const Mix& mix);

}  // namespace fib
