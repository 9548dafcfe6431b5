// SPDX-License-Identifier: Apache-2.0
// A decoder forecasts time series as PatchTST does: each column by itself, in patches that are tokens, normalized by
// what it sees; the last token tells the steps that come.
//
// Letters: B windows, C columns, L steps of the look-back, P of a patch, h of the horizon, D the width.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "sequences/series.h"
#include "sequences/torch/decoder.h"
#include "training/torch/task.h"

namespace fib::sequences {

class SeriesDecoder : public torch::nn::Module {
 public:
  SeriesDecoder(const DecoderDimensions& dims, const Patching& patching, int64_t horizon);

  /// [B,C,L] -> [B,C,h].
  at::Tensor forward(const at::Tensor& x);
  DecoderTrunk& trunk() { return *trunk_; }

 private:
  Patching patching_;
  std::shared_ptr<models::Linear> embed_, head_;
  std::shared_ptr<DecoderTrunk> trunk_;
};

/// The model that a recipe describes; where weights are given, they must have as many parameters. Throws
/// std::runtime_error.
std::shared_ptr<SeriesDecoder> make_series_decoder(const training::Recipe& recipe,
                                                   const SafetensorsFile* weights = nullptr);

/// Its parts and windows.
SeriesOptions series_options(const training::Recipe& recipe);

/// Forecast minus truth in units of the columns' deviations: mean square, mean absolute value.
struct ForecastErrors {
  double square = 0, absolute = 0;
};

class SeriesTask final : public training::Task {
 public:
  SeriesTask(const training::Recipe& recipe, const training::RankInfo& rank, const Series& series);

  torch::nn::Module& network() override { return *model_; }
  /// One rate for all parameters.
  std::vector<int64_t> stages() const override { return {}; }
  training::TaskFacts facts() const override;
  int64_t steps_per_epoch() const override;
  std::unique_ptr<training::TaskStream> epoch(int64_t epoch, int64_t first_step) override;
  at::Tensor loss(const training::TaskBatch& batch) override;
  training::Evaluation evaluate(training::Split split, training::ProcessGroup& group,
                                const training::EvaluationHooks& hooks) override;
  TensorMetadata metadata() const override;
  std::optional<training::AttentionFacts> attention(int64_t samples) override;

 private:
  int64_t evaluated(const SeriesPart& part) const;

  training::Recipe recipe_;
  training::RankInfo rank_;
  SeriesOptions options_;
  SeriesParts parts_;
  std::vector<std::string> columns_;
  Scale scale_;
  at::Tensor values_;  ///< [C,R], scaled
  std::shared_ptr<SeriesDecoder> model_;
};

// ---- What has been learned ------------------------------------------------------------------------------------------

struct TrainedSeries {
  training::Recipe recipe;
  std::string weights;  ///< the file's name
  std::vector<std::string> columns;
  Scale scale;
  std::shared_ptr<SeriesDecoder> model;
};

/// Throws std::invalid_argument for a run of another task, std::runtime_error for one without weights.
TrainedSeries open_series(const std::filesystem::path& run);

struct Forecast {
  int64_t begin = 0;                          ///< the first row that is forecast
  std::vector<float> values;                  ///< [h,C], in the columns' own units
  std::optional<ForecastErrors> errors = {};  ///< where the series goes on so far
};

/// Of the rows from `begin` on, by those before it. Throws std::invalid_argument where the columns are others or too
/// few rows come before.
Forecast forecast(const TrainedSeries& trained, const Series& series, int64_t begin);

}  // namespace fib::sequences
