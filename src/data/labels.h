// SPDX-License-Identifier: Apache-2.0
// Classes and their names, and the most probable ones of an image.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace fib {

/// Class names by index. JSON: ["tench", …], {"0": "tench", …} or ImageNet's {"0": ["n01440764", "tench"], …}; keys may
/// be padded, "000". A file .csv: lines index,name below a header or none. Other text: one name a line, in the order of
/// the classes. Throws std::runtime_error with one line unless the indices are 0 … n-1.
std::vector<std::string> read_labels(const std::filesystem::path& file);

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
