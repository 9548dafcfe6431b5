// SPDX-License-Identifier: Apache-2.0
#include "training/recipe/model_options.h"

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
          .widths = {},
          .pool = recipe.pool == "mean" ? models::Pool::mean : models::Pool::token,
          .dropout = recipe.dropout,
          .attention_dropout = recipe.attention_dropout,
          .drop_path = recipe.drop_path};
}

}  // namespace fib::training
