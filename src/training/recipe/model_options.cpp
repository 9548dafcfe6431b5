// SPDX-License-Identifier: Apache-2.0
#include "training/recipe/model_options.h"

#include "data/registry/datasets.h"

namespace fib::training {
namespace {

std::optional<int64_t> unless_zero(int64_t value) { return value == 0 ? std::nullopt : std::optional(value); }

}  // namespace

models::Options model_options(const Recipe& recipe, const DataShape& data) {
  return {.attention = AttentionSpec::parse(recipe.attention),
          .resolution = unless_zero(recipe.resolution),
          .width = std::nullopt,
          .patch = unless_zero(recipe.patch),
          .classes = unless_zero(data.classes),
          .channels = data.channels,
          .frames = unless_zero(recipe.frames),
          .attention_in = models::attention_in_of(recipe.attention_in),
          .attention_layers = models::parse_layers(recipe.attention_layers),
          .widths = {},
          .pool = recipe.pool == "mean" ? models::Pool::mean : models::Pool::token,
          .dropout = recipe.dropout,
          .attention_dropout = recipe.attention_dropout,
          .drop_path = recipe.drop_path};
}

models::ModelCard recipe_card(const Recipe& recipe) {
  const DatasetRow& data = *parse_data_source(recipe.data).row;
  models::ModelCard card;
  card.model = recipe.model;
  card.attention = AttentionSpec::parse(recipe.attention).to_string();
  card.attention_layers = models::layers_text(models::parse_layers(recipe.attention_layers));
  card.resolution = recipe.resolution;
  card.patch = recipe.patch;
  card.pool = recipe.pool;
  card.channels = data.channels;
  card.mean.assign(data.mean.begin(), data.mean.begin() + data.channels);
  card.std.assign(data.std.begin(), data.std.begin() + data.channels);
  card.crop_ratio = recipe.eval_crop;
  if (data.clips || recipe.eval_crops > 1) card.crops = recipe.eval_crops;
  if (data.clips) {
    card.frames = recipe.frames;
    card.sampling_rate = recipe.sampling_rate;
    card.attention_in = recipe.attention_in;
  }
  card.class_names.assign(data.class_names.begin(), data.class_names.end());
  return card;
}

}  // namespace fib::training
