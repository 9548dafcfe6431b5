// SPDX-License-Identifier: Apache-2.0
#include "training/recipe/model_options.h"

#include "data/registry/datasets.h"

namespace fib::training {
namespace {

std::optional<int64_t> unless_zero(int64_t value) { return value == 0 ? std::nullopt : std::optional(value); }

}  // namespace

models::Options model_options(const Recipe& recipe, const DataShape& data) {
  return {.attention = AttentionSpec::parse(recipe.model.attention),
          .resolution = unless_zero(recipe.model.resolution),
          .width = std::nullopt,
          .patch = unless_zero(recipe.model.patch),
          .classes = unless_zero(data.classes),
          .channels = data.channels,
          .frames = unless_zero(recipe.model.frames),
          .attention_in = models::attention_in_of(recipe.model.attention_in),
          .attention_layers = models::parse_layers(recipe.model.attention_layers),
          .tokens = models::TokenReduction::parse(recipe.model.tokens),
          .widths = {},
          .pool = recipe.model.pool == "mean" ? models::Pool::mean : models::Pool::token,
          .dropout = recipe.model.dropout,
          .attention_dropout = recipe.model.attention_dropout,
          .drop_path = recipe.model.drop_path};
}

models::ModelCard recipe_card(const Recipe& recipe) {
  const DatasetRow& data = *parse_data_source(recipe.data.source).row;
  models::ModelCard card;
  card.model = recipe.model.name;
  card.attention = AttentionSpec::parse(recipe.model.attention).to_string();
  card.attention_layers = models::layers_text(models::parse_layers(recipe.model.attention_layers));
  card.tokens = models::TokenReduction::parse(recipe.model.tokens).to_string();
  card.resolution = recipe.model.resolution;
  card.patch = recipe.model.patch;
  card.pool = recipe.model.pool;
  card.channels = data.channels;
  card.mean.assign(data.mean.begin(), data.mean.begin() + data.channels);
  card.std.assign(data.std.begin(), data.std.begin() + data.channels);
  card.crop_ratio = recipe.augment.eval_crop;
  if (data.clips || recipe.augment.eval_crops > 1) card.crops = recipe.augment.eval_crops;
  if (data.clips) {
    card.frames = recipe.model.frames;
    card.sampling_rate = recipe.data.sampling_rate;
    card.attention_in = recipe.model.attention_in;
  }
  card.class_names.assign(data.class_names.begin(), data.class_names.end());
  return card;
}

}  // namespace fib::training
