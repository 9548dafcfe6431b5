// SPDX-License-Identifier: Apache-2.0
// Recorded demonstrations as tensors that a policy learns from.
//
// Letters: R rows of the recording, B windows, S the side of the policy's images.
#pragma once

#include <torch/torch.h>

#include <map>
#include <span>
#include <string>
#include <vector>

#include "robots/normalizer.h"
#include "robots/robot.h"
#include "robots/torch/diffusion_policy.h"
#include "robots/windows.h"

namespace fib::robots {

/// How a robot's numbers become a policy's and back. Goes with the weights.
struct RobotNormalizer {
  std::map<std::string, Normalizer> observed;  ///< by name; images have none
  Normalizer action;

  static RobotNormalizer of(const RobotRecording& recording, const RobotTask& task);
  std::string to_json() const;
  /// Throws std::runtime_error with one line for text that to_json() did not write for this task.
  static RobotNormalizer from_json(const std::string& text, const RobotTask& task);
};

/// Square images of red, green, blue, [N,s,s,3] bytes, to [N,3,S,S] bytes: the mean of each square of pixels. S divides
/// s.
at::Tensor reduced_images(std::span<const uint8_t> rgb, int64_t count, int64_t side);
/// Bytes to [−1, 1].
at::Tensor normalized_images(const at::Tensor& bytes);
/// Rows of numbers to [−1, 1], float32 [N,columns].
at::Tensor normalized_numbers(std::vector<double> values, const Normalizer& normalizer);

/// Some episodes of a recording, in memory, and the windows into them.
class Recording {
 public:
  /// `chosen` are indices of episodes; only their images are read.
  Recording(const RobotRecording& recording, std::span<const int64_t> chosen, const Policy& policy,
            const RobotNormalizer& normalizer);

  int64_t windows() const { return static_cast<int64_t>(windows_.size()); }
  /// Observations and actions of these windows.
  Demonstrated batch(std::span<const size_t> windows) const;

 private:
  at::Tensor read_images(const RobotRecording& recording, const Observation& camera) const;

  std::vector<Episode> recorded_, episodes_;  ///< in the recording, and here
  std::vector<Window> windows_;
  int64_t observed_, horizon_;
  std::vector<at::Tensor> observations_;  ///< in the task's order: [R,numbers], or [R,3,S,S] bytes
  at::Tensor actions_;                    ///< [R,A]
};

}  // namespace fib::robots
