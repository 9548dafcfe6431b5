// SPDX-License-Identifier: Apache-2.0
// A model and pictures for tests that need some, whatever they are.
#pragma once

#include "data/dataset.h"
#include "training/torch/trained_model.h"

namespace fib::analysis {

inline DatasetPtr noise_images(size_t count) {
  MemoryImages images;
  images.height = images.width = 64;
  images.channels = 3;
  images.files = {"noise"};
  images.first_of_file = {0};
  CounterRng rng(5);
  for (size_t i = 0; i < count * 64 * 64 * 3; ++i) images.pixels.push_back(static_cast<uint8_t>(rng.below(256)));
  images.labels.assign(count, 0);
  DatasetInfo info;
  info.name = "noise";
  info.classes = 10;
  info.image_size = 64;
  info.mean = info.std = {.5F, .5F, .5F};
  return std::make_shared<MemoryDataset>(std::move(info), std::move(images));
}

/// A mini ViT that was never trained.
inline training::TrainedModel untrained_model(const std::string& attention, const DatasetPtr& images) {
  torch::manual_seed(1);
  models::Options options;
  options.attention = AttentionSpec::parse(attention);
  training::TrainedModel result;
  result.name = result.attention = attention;
  result.model = "mini_vit";
  result.dataset = images;
  result.module = models::make("mini_vit", options);
  result.module->eval();
  result.view = evaluation_config(images->info(), 64, 1);
  result.batch = 2;
  return result;
}

}  // namespace fib::analysis
