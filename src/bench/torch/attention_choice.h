// SPDX-License-Identifier: Apache-2.0
// Which attention each layer of a trained dense model shall have: what every candidate costs in each layer, measured on
// images with the dense weights, what it saves in the compiled model, and the curve between the two.
//
// Letters: L layers, K candidates.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "bench/measure.h"
#include "training/torch/trained_model.h"

namespace fib::bench {

/// A candidate for each layer, by number.
using Assignment = std::vector<size_t>;

/// Of all assignments those on the lower convex hull of summed time and summed loss, from the least loss on, each
/// faster than the one before. `loss` and `ms` are [L][K].
std::vector<Assignment> tradeoff(const std::vector<std::vector<double>>& loss,
                                 const std::vector<std::vector<double>>& ms);

struct ChoiceOptions {
  std::vector<AttentionSpec> candidates;  ///< the first one dense
  std::filesystem::path offsets;          ///< a file of the one chosen, for offsets:FILE, and of all tried before it
  size_t points = 10;                     ///< of the curve, at most, that are measured
  TimingOptions timing{.seconds = 1};     ///< of the candidates together, and of the points together
  CancelToken cancel = {};
  std::function<void(const std::string&, double)> progress = [](const std::string&, double) {};
};

/// A mixture of candidates that was measured.
struct ChoicePoint {
  Assignment assignment;
  double loss = 0;  ///< Kullback-Leibler divergence from the dense model, mean over images
  double kept =
      0;          ///< the dense model's probabilities of the classes that this one chooses, of those it chooses itself
  double ms = 0;  ///< of the compiled model, one image, float32
  double pairs = 0;  ///< share of all pairs of patches
};

struct AttentionChoice {
  std::vector<AttentionSpec> candidates;
  int64_t images = 0;
  std::vector<std::vector<double>> loss;  ///< [L][K], of that candidate in that layer alone
  std::vector<double> candidate_ms;       ///< [K], of the model with it in all layers
  std::vector<ChoicePoint> curve;         ///< the first one has the least loss

  double speedup(const ChoicePoint& point) const { return candidate_ms.front() / point.ms; }
  /// The fastest that keeps so much; throws std::invalid_argument where only the dense model does.
  const ChoicePoint& keeping(double accuracy) const;
  /// The one that keeps most and is so many times faster; throws std::invalid_argument with the most there is.
  const ChoicePoint& faster(double times) const;
  /// "0-3 full; 4-11 fibottention:grid=3"
  std::string text_of(const ChoicePoint& point) const;
};

/// Nothing is trained. Throws std::invalid_argument for models whose layers cannot be replaced one by one.
AttentionChoice measure_choice(const training::TrainedModel& dense, const DatasetPtr& images,
                               const ChoiceOptions& options);

/// For --attention offsets:FILE.
void write_assignment(const std::filesystem::path& file, const AttentionChoice& choice, const Assignment& assignment,
                      const models::Dimensions& dims);

nlohmann::ordered_json to_json(const AttentionChoice& choice, const ChoicePoint& chosen);

}  // namespace fib::bench
