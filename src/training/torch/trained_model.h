// SPDX-License-Identifier: Apache-2.0
// A model that has learned, with the images it is tested on and the way they are shown to it.
//
// How an image becomes the model's input is told, in this order, by the person who asks, by the weights, by the run's
// recipe or the dataset, and by the model's row. All commands come here, so that all of them see the same input.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/loader.h"
#include "models/card.h"
#include "models/torch/model.h"
#include "prediction/predictor.h"

namespace fib::training {

/// The input itself, where it is given and not made from images.
struct InputShape {
  int64_t channels = 3, height = 224, width = 224;
  std::optional<int64_t> frames = std::nullopt;  ///< of clips
};

/// Which weights, and what a person says of them; empty or zero is what is not said.
struct ModelRequest {
  std::filesystem::path run = {};      ///< a run directory, or
  std::string checkpoint = "best";     ///< (of the run: best, model or ema)
  std::filesystem::path weights = {};  ///< a file
  std::string model = {}, attention = {}, attention_in = {}, attention_layers = {}, tokens = {};
  std::string data = {};                   ///< the test set; a run has its own, otherwise there is none
  int64_t resize = 0, crop = 0;            ///< the shorter side before the crop, and the crop
  std::vector<float> mean = {}, std = {};  ///< one number for all channels, or one for each
  std::optional<InputShape> input = std::nullopt;
  bool without_images = false;  ///< a run's own test set is not opened
  bool double_precision = false;
};

struct TrainedModel {
  std::string name;  ///< what to call it beside others
  std::string model, attention, data;
  models::ModelPtr module = nullptr;  ///< in eval mode
  DatasetPtr dataset = nullptr;       ///< the test set; null where none was asked for
  PipelineConfig view{};
  int64_t batch = 16;
  std::vector<std::string> class_names{};     ///< empty: unset
  std::string view_source{};                  ///< who told how images are shown: "the weights", …
  std::vector<std::string> contradictions{};  ///< one line for each option that conflicts with the weights' metadata

  /// Batches of these images, in their order.
  std::unique_ptr<Loader> loader(const DatasetPtr& images) const;
  prediction::ModelInfo info() const;
  std::string input_text() const { return info().input_text(); }
};

/// Throws std::invalid_argument where the model is unset or an option conflicts with the weights, std::runtime_error
/// where a file cannot be read or a directory holds no run or not these weights. The best weights of a run without a
/// validation set are its last ones, those of a search for channels to prune what it left.
TrainedModel open_model(const ModelRequest& request);

/// `count` images spread evenly over a dataset, all of it if it has fewer. Class by class or shuffled, every class
/// gets its share.
DatasetPtr evenly_chosen(const DatasetPtr& dataset, size_t count);

/// A LibTorch model as a classifier.
class TorchPredictor final : public prediction::Predictor {
 public:
  /// Both must outlive it.
  TorchPredictor(models::Model& model, const PipelineConfig& view);
  explicit TorchPredictor(const TrainedModel& trained);

  prediction::Logits infer(const NpyArray& input, int64_t batch) override;

 private:
  std::vector<float> forward(std::span<const float> inputs) override;

  models::Model& model_;
};

}  // namespace fib::training
