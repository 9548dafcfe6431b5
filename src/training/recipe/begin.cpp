// SPDX-License-Identifier: Apache-2.0
#include "training/recipe/begin.h"

#include <fmt/format.h>

#include <stdexcept>

#include "base/text.h"
#include "data/registry/datasets.h"
#include "models/card.h"

namespace fib::training {
namespace {

constexpr double kWholeImage = 1;

template <class Value>
void fill(Value& open, const Value& value) {
  if (open == Value()) open = value;
}

std::string model_of(const SafetensorsFile& weights, const models::ModelCard& card, const std::string& file) {
  if (!card.model.empty()) return card.model;
  const std::vector<std::string> fitting = models::models_shaped_like(weights);
  throw std::invalid_argument(
      fmt::format("'{}' does not say which model it is of: give --model{}", file,
                  fitting.empty() ? "" : fmt::format(" (its tensors have the shapes of {})", joined(fitting, " or "))));
}

/// The recipe says its own attention, or has that of the weights in the same layers.
void follow_attention(ModelSettings& model, const models::ModelCard& card) {
  if (!model.attention.empty()) return;
  model.attention = card.attention.empty() ? "full" : card.attention;
  fill(model.attention_layers, card.attention_layers);
}

void follow_weights(Recipe& recipe) {
  const SafetensorsFile weights(recipe.model.weights);
  const models::ModelCard card = models::read_card(weights.metadata(), recipe.model.weights);
  if (recipe.model.name.empty()) recipe.model.name = model_of(weights, card, recipe.model.weights);
  follow_attention(recipe.model, card);
  if (card.model != recipe.model.name && !card.model.empty()) return;  // images' weights in a model for clips
  fill(recipe.model.resolution, card.resolution);
  fill(recipe.model.patch, card.patch);
  fill(recipe.model.tokens, card.tokens);
  fill(recipe.model.pool, card.pool);
  fill(recipe.augment.eval_crop,
       models::completed(card, models::published_card(models::find_row(recipe.model.name))).crop_ratio);
}

}  // namespace

Recipe open_recipe(Recipe recipe) {
  recipe.model.name.clear();
  recipe.model.attention.clear();
  recipe.model.pool.clear();
  recipe.augment.eval_crop = 0;
  return recipe;
}

Recipe closed_recipe(Recipe recipe) {
  const Recipe usual;
  fill(recipe.model.name, usual.model.name);
  fill(recipe.model.attention, usual.model.attention);
  fill(recipe.model.pool, usual.model.pool);
  fill(recipe.augment.eval_crop, kWholeImage);
  return recipe;
}

Recipe settled_recipe(Recipe recipe) {
  recipe.data.source = divided_source(recipe.data.source);
  if (!recipe.model.weights.empty()) follow_weights(recipe);
  return closed_recipe(std::move(recipe));
}

std::optional<int64_t> frozen_blocks(const std::string& freeze) {
  if (freeze.empty()) return std::nullopt;
  if (freeze == "all") return kAllFrozen;
  const auto blocks = parse_number<int64_t>(freeze);
  if (!blocks || *blocks < 1)
    throw std::invalid_argument(
        fmt::format("freeze: received {}, accepted a number of blocks from 1, or all", in_quotes(freeze)));
  return blocks;
}

}  // namespace fib::training
