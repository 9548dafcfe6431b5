// SPDX-License-Identifier: Apache-2.0
// The options that say which model is meant and where its weights are, shared by all commands that run one.
#pragma once

#include <string>

#include "cli/options.h"
#include "models/table.h"

namespace fib::cli {

struct ModelArguments {
  std::string model;
  std::string weights;
  AttentionArguments attention{.attention = "full"};
};

/// --model, --weights, --attention and its shorthands.
void add_model_options(CLI::App& app, ModelArguments& arguments);

/// The row and the attention, both found and checked: before a minute is spent on reading images or weights.
models::Options model_options(const ModelArguments& arguments);

}  // namespace fib::cli
