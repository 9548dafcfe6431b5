// SPDX-License-Identifier: Apache-2.0
// From a trained model and an image to what is drawn of its attention.
#pragma once

#include <optional>

#include "analysis/torch/attention_maps.h"
#include "report/attention_drawing.h"
#include "training/torch/trained_model.h"

namespace fib::report {

/// What is looked at, and how it came out.
struct LookedAt {
  std::string name;              ///< file, or "image 7"
  std::optional<int64_t> label;  ///< where it is known
  int64_t predicted = 0;
  double probability = 0;
  int64_t patch = 0;
  SquareImage image;  ///< small enough for many copies
  analysis::AttentionMaps maps;
};

/// An image, or the frames of a clip. `patch` counts in reading order; none is the middle one. Throws what
/// analysis::attention_maps throws.
LookedAt look_at(const training::TrainedModel& subject, const std::vector<Image>& frames, std::optional<int64_t> patch);

/// As the model sees them, from the middle, small enough to be shown often: an image, or frames side by side.
SquareImage small_view(const training::TrainedModel& subject, const std::vector<Image>& frames);

/// What the model is shown of an item: an image, or the frames of a clip.
std::vector<Image> shown(const training::TrainedModel& subject, const Dataset& data, size_t index);

/// The name of a class, or its number.
std::string class_name(const DatasetInfo& info, int64_t index);

/// [N] or [H,N] as numbers.
std::vector<double> numbers(const at::Tensor& map);
std::vector<std::vector<double>> number_rows(const at::Tensor& maps);

AttentionSheet attention_sheet(const training::TrainedModel& subject, const LookedAt& looked);

}  // namespace fib::report
