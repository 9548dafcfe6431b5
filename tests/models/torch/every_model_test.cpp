// SPDX-License-Identifier: Apache-2.0
// Facts about every row of the table and every mechanism in it, so that a new one is tested by existing.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "helpers.h"
#include "models/torch/model.h"

namespace fib::models {
namespace {

/// Milliseconds a step.
bool is_small(const ModelRow& row) { return cost(dimensions(row.name)).total() < 5e7; }

/// Losses of a few steps of AdamW on the same random pictures.
std::vector<double> train(Model& model, int steps) {
  const at::Tensor x = images(model, 6);
  const at::Tensor labels = at::arange(6);
  torch::optim::AdamW optimiser(model.parameters(), torch::optim::AdamWOptions(5e-4));
  std::vector<double> losses;
  for (int step = 0; step < steps; ++step) {
    optimiser.zero_grad();
    const at::Tensor loss = at::cross_entropy_loss(model.forward(x), labels);
    loss.backward();
    optimiser.step();
    losses.push_back(loss.item<double>());
  }
  return losses;
}

/// Why a mechanism cannot stand in a model; empty if it can.
std::string misfit(const ModelRow& row, const std::string& spec) {
  try {
    dimensions(row.name, with_attention(spec));
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "";
}

TEST(EveryModel, learns_with_every_mechanism_that_fits) {
  for (const ModelRow& row : table()) {
    if (!is_small(row)) continue;
    for (const attention::MechanismInfo& m : attention::mechanisms()) {
      SCOPED_TRACE(row.name + " " + m.name);
      if (!misfit(row, m.name).empty()) continue;
      torch::manual_seed(3);
      const ModelPtr model = make(row.name, with_attention(m.name));
      const std::vector<double> losses = train(*model, 4);
      for (double loss : losses) EXPECT_TRUE(std::isfinite(loss));
      // The statistics of six pictures are noisy, where batches are normed: not every step is lower.
      EXPECT_LT(*std::min_element(losses.begin() + 1, losses.end()), losses.front());
      for (const auto& item : model->named_parameters()) {
        EXPECT_TRUE(item.value().isfinite().all().item<bool>()) << item.key();
      }
    }
  }
}

TEST(EveryModel, says_why_a_mechanism_does_not_fit) {
  for (const ModelRow& row : table()) {
    const auto layers = attention_layers(dimensions(row.name));
    const bool positions_in_scores =
        std::any_of(layers.begin(), layers.end(), [](const AttentionLayer& layer) { return layer.geometry.bias; });
    for (const attention::MechanismInfo& m : attention::mechanisms()) {
      SCOPED_TRACE(row.name + " " + m.name);
      const bool without_scores = m.name == "linformer" || m.name == "efficient";
      const std::string reason = misfit(row, m.name);
      EXPECT_EQ(!reason.empty(), positions_in_scores && without_scores) << reason;
      if (reason.empty()) continue;
      EXPECT_NE(reason.find(m.name + " does not fit layers whose scores have a bias"), std::string::npos);
      EXPECT_THROW(make(row.name, with_attention(m.name)), std::invalid_argument);
    }
  }
  EXPECT_NE(misfit(find_row("mini_swin"), "fibottention:masking=zero").find("excluded pairs"), std::string::npos);
}

/// Smallest sides beyond its own that a model takes, and that are not equal where it allows it.
std::pair<int64_t, int64_t> other_size(const ModelRow& row) {
  if (row.window > 0) return {2 * row.resolution, row.resolution};
  return {row.resolution + 2 * row.patch, row.resolution + row.patch};
}

TEST(EveryModel, takes_pictures_of_another_size) {
  const at::NoGradGuard no_grad;
  for (const ModelRow& row : table()) {
    if (!is_small(row)) continue;
    SCOPED_TRACE(row.name);
    const auto [height, width] = other_size(row);
    const ModelPtr model = make(row.name, with_attention("fibottention"));
    model->eval();
    model->set_resolution(height, width);
    const at::Tensor logits = model->forward(images(*model, 2));
    EXPECT_EQ(logits.sizes(), (at::IntArrayRef{2, row.classes}));
    EXPECT_TRUE(logits.isfinite().all().item<bool>());
    Options options = with_attention("fibottention");
    options.resolution = height;
    options.width = width;
    const std::vector<AttentionLayer> layers = attention_layers(dimensions(row.name, options));
    for (size_t i = 0; i < layers.size(); ++i) {
      EXPECT_EQ(model->attentions()[i]->geometry().key_grid, layers[i].geometry.key_grid);
    }
  }
}

TEST(EveryModel, shows_what_each_layer_does) {
  const at::NoGradGuard no_grad;
  for (const ModelRow& row : table()) {
    if (!is_small(row)) continue;
    const ModelPtr model = make(row.name, with_attention("fibottention"));
    model->eval();
    const at::Tensor x = images(*model, 2);
    const std::vector<AttentionLayer> layers = attention_layers(model->dimensions());
    ASSERT_EQ(model->attentions().size(), layers.size());
    for (size_t i = 0; i < layers.size(); ++i) {
      SCOPED_TRACE(row.name + " layer " + std::to_string(i));
      const attention::Geometry& g = layers[i].geometry;
      const LayerView view = model->inspect(x, static_cast<int64_t>(i));
      const int64_t samples = 2 * layers[i].samples;
      EXPECT_EQ(view.probabilities.sizes(), (at::IntArrayRef{samples, g.heads, g.query_tokens(), g.key_tokens()}));
      EXPECT_EQ(view.head_outputs.sizes(), (at::IntArrayRef{samples, g.heads, g.query_tokens(), g.value_dim}));
      EXPECT_TRUE(model->head_outputs(x, static_cast<int64_t>(i)).equal(view.head_outputs));
    }
  }
}

TEST(EveryModel, has_the_parameters_that_are_counted_without_it) {
  for (const ModelRow& row : table()) {
    for (const char* spec : {"full", "linformer", "efficient"}) {
      if (!misfit(row, spec).empty()) continue;
      Options options = with_attention(spec);
      options.initialize = false;
      const ModelPtr model = make(row.name, options);
      int64_t count = 0;
      for (const at::Tensor& parameter : model->parameters()) count += parameter.numel();
      EXPECT_EQ(count, model->cost().parameters) << row.name << " " << spec;
    }
  }
}

}  // namespace
}  // namespace fib::models
