// SPDX-License-Identifier: Apache-2.0
// From an image's file to its most probable classes, and how they are shown.
#pragma once

#include <torch/torch.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "data/preprocess.h"

namespace fib::cli {

/// [3,crop,crop]. Throws std::runtime_error naming the file.
at::Tensor preprocessed(const std::string& file, const Preprocess& options);

struct RankedClass {
  int64_t index = 0;
  std::string label;  ///< empty where classes have no names
  double probability = 0;
  double logit = 0;
};

/// The `count` largest logits of [classes], or all if there are fewer; the lower index first among equals.
std::vector<RankedClass> best_classes(const at::Tensor& logits, int64_t count, const std::vector<std::string>& names);

struct ClassifiedImage {
  std::string file;
  std::vector<RankedClass> top;
};

nlohmann::ordered_json classified_json(const ClassifiedImage& image);
std::string classified_text(const ClassifiedImage& image);

}  // namespace fib::cli
