// SPDX-License-Identifier: Apache-2.0
// What a layer's support depends on besides mechanism and size, for every command that makes one.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

#include "fibottention/pattern.h"

namespace fib::cli {

struct LayerArguments {
  static constexpr int64_t kNoLayer = -1;
  int64_t layer = kNoLayer;
  int64_t cls = 1;
  bool causal = false;
};

/// --layer, --cls and --causal.
void add_layer_options(CLI::App& app, LayerArguments& arguments);

PatternGeometry geometry_of(const LayerArguments& arguments, int64_t patches, int64_t heads);

}  // namespace fib::cli
