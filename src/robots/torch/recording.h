// SPDX-License-Identifier: Apache-2.0
// Recorded demonstrations of PushT as tensors that a policy learns from.
//
// Letters: R rows of the recording, B windows, S the side of the policy's images.
#pragma once

#include <torch/torch.h>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "robots/limits.h"
#include "robots/torch/diffusion_policy.h"
#include "robots/windows.h"

namespace fib::robots {

/// How places on the field become a policy's numbers and back. Goes with the weights.
struct PushTLimits {
  Limits agent, action;

  static PushTLimits of(const Demonstrations& demonstrations);
  std::string to_json() const;
  /// Throws std::runtime_error with one line for text that to_json() did not write.
  static PushTLimits from_json(const std::string& text);
};

/// [N,96,96,3] bytes to [N,3,S,S] bytes: the mean of each square of pixels. S divides 96.
at::Tensor reduced_images(std::span<const uint8_t> rgb, int64_t side);
/// Bytes to [−1, 1].
at::Tensor normalized_images(const at::Tensor& bytes);
/// Places [N,2] to [−1, 1], float32.
at::Tensor normalized_places(std::span<const Point> places, const Limits& limits);

/// Some episodes of a recording, in memory, and the windows into them.
class Recording {
 public:
  /// `chosen` are indices of episodes; only their images are read.
  Recording(const std::filesystem::path& folder, const Demonstrations& demonstrations, std::span<const int64_t> chosen,
            const Policy& policy, const PushTLimits& limits);

  int64_t windows() const { return static_cast<int64_t>(windows_.size()); }
  /// Observations and actions of these windows.
  Demonstrated batch(std::span<const size_t> windows) const;

 private:
  std::vector<Window> windows_;
  int64_t observed_, horizon_;
  at::Tensor agents_;   ///< [R,2]
  at::Tensor images_;   ///< [R,3,S,S] bytes
  at::Tensor actions_;  ///< [R,2]
};

}  // namespace fib::robots
