// SPDX-License-Identifier: Apache-2.0
// What a model says of an image, from its logits, whatever computed them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace fib {

struct RankedClass {
  int64_t index = 0;
  std::string label;  ///< empty where classes have no names
  double probability = 0, logit = 0;
};

/// The `count` largest logits, or all if there are fewer; the lower index first among equals.
std::vector<RankedClass> best_classes(std::span<const float> logits, int64_t count,
                                      const std::vector<std::string>& names);

/// log Σ e^logit.
double log_sum_exp(std::span<const float> logits);

struct ClassifiedImage {
  std::string file;
  std::vector<RankedClass> top = {};  ///< empty where the file cannot be read
  std::string error = "";             ///< why not
};

}  // namespace fib
