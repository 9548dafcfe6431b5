// SPDX-License-Identifier: Apache-2.0
// A model that has learned, with the images it is tested on and the way they are shown to it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "data/loader.h"
#include "models/torch/model.h"

namespace fib::training {

struct TrainedModel {
  std::string name;  ///< what to call it beside others
  std::string model, attention, data;
  models::ModelPtr module = nullptr;  ///< in eval mode
  DatasetPtr dataset = nullptr;       ///< the test set
  PipelineConfig view{};
  int64_t batch = 16;

  /// Batches of these images, in their order.
  std::unique_ptr<Loader> loader(const DatasetPtr& images) const;
};

/// From a run directory, as the run itself was tested: its recipe says all. `checkpoint` is best, model or ema; a run
/// without a validation set has no best weights, and its last ones are taken. `data` replaces the recipe's unless
/// empty. Throws std::runtime_error where the directory holds no run or no weights.
TrainedModel open_run(const std::filesystem::path& directory, const std::string& checkpoint = "best",
                      const std::string& data = "");

/// `count` images spread evenly over a dataset, all of it if it has fewer. Class by class or shuffled, every class
/// gets its share.
DatasetPtr evenly_chosen(const DatasetPtr& dataset, size_t count);

/// Throws std::runtime_error where the data has a class that the model does not know.
void check_labels(const Dataset& dataset, const models::Model& model);

}  // namespace fib::training
