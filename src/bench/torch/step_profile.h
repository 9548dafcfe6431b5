// SPDX-License-Identifier: Apache-2.0
// Where the time of a training step goes: by kind of layer, forward and backward.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace fib::bench {

struct KindTime {
  std::string kind;
  double forward_ms = 0.0, backward_ms = 0.0;
};

struct StepProfile {
  std::vector<KindTime> kinds;  ///< those that took time, the loss among them
  double between_ms = 0.0;      ///< of the step's gradients, outside all operators
  double optimizer_ms = 0.0;    ///< clipping, update and average
  double total_ms() const;
};

/// What `linear`, `addmm` or `LayerNormBackward0` belong to; "other" where nobody says.
std::string kind_of_operator(const std::string& name);

/// Means over `steps` steps, each the two functions one after the other. One profile at a time in a process.
StepProfile profile_steps(int steps, const std::function<void()>& gradients, const std::function<void()>& update);

}  // namespace fib::bench
