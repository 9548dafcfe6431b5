// SPDX-License-Identifier: Apache-2.0
// Options that several commands share.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "fibottention/pattern.h"

namespace fib::cli {

struct IntegerRange {
  int64_t least;
  int64_t most;
};

/// An option that takes an integer, and says what it accepts when it gets something else.
CLI::Option* add_integer(CLI::App& app, const std::string& name, int64_t& target, IntegerRange range,
                         const std::string& help);

/// --attention and its shorthands.
struct AttentionArguments {
  std::string attention = "fibottention";
  std::string wmin, wmax;  ///< as written, empty when not given
  bool modified = false;
};

void add_attention_options(CLI::App& app, AttentionArguments& arguments);

/// The shorthands merged into --attention; throws std::invalid_argument for a key given both ways.
AttentionSpec attention_spec(const AttentionArguments& arguments);

}  // namespace fib::cli
