// SPDX-License-Identifier: Apache-2.0
// Options that several commands share.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fibottention/pattern.h"
#include "models/table.h"

namespace fib::cli {

struct IntegerRange {
  int64_t least;
  int64_t most;
};

/// Sides of images. 16,384 pixels in patches of 2 are 67 million tokens, far beyond what anyone computes.
inline constexpr IntegerRange kResolutions{1, 16384};

/// An option that takes an integer, and says what it accepts when it gets something else.
CLI::Option* add_integer(CLI::App& app, const std::string& name, int64_t& target, IntegerRange range,
                         const std::string& help);

/// The same for a list, N,N,N.
CLI::Option* add_integers(CLI::App& app, const std::string& name, std::vector<int64_t>& target, IntegerRange range,
                          const std::string& help);

struct NumberRange {
  double least;
  double most;
};

/// An option that takes a number; neither nan nor inf is one.
CLI::Option* add_number(CLI::App& app, const std::string& name, double& target, NumberRange range,
                        const std::string& help);

/// The numbers of a list R,G,B, or one for all. Throws CLI::ValidationError.
CLI::Validator number_within(NumberRange range);

/// An option that takes one of these words: help shows them, and shells complete them.
CLI::Option* add_choice(CLI::App& app, const std::string& name, std::string& target,
                        const std::vector<std::string>& words, const std::string& help);
/// The same for several, divided by commas.
CLI::Option* add_choices(CLI::App& app, const std::string& name, std::vector<std::string>& target,
                         const std::vector<std::string>& words, const std::string& help);

/// Throws std::invalid_argument, naming the option, unless the file's name ends so; an empty one never does.
void check_ending(const std::string& option, const std::string& file, const std::string& ending);
/// The same for a file that may be asked for, empty where it is not, and that it can be written: known before the work.
void check_output(const std::string& option, const std::string& file, const std::string& ending);

/// --attention and its shorthands.
struct AttentionArguments {
  std::string attention = "fibottention";
  std::string wmin = {}, wmax = {};  ///< as written, empty when not given
  bool modified = false;
};

void add_attention_options(CLI::App& app, AttentionArguments& arguments);

/// The shorthands merged into --attention; throws std::invalid_argument for a key given both ways.
AttentionSpec attention_spec(const AttentionArguments& arguments);

/// --match-pairs, which sets an attention's pairs to those of another.
CLI::Option* add_match_pairs(CLI::App& app, std::string& target);
/// Empty text is none; throws std::invalid_argument for a mechanism that does not exist.
std::optional<AttentionSpec> target_of(const std::string& match_pairs);

/// Where in a model the attention stands; what is not given is told by the weights, or is the model's own.
struct PlaceArguments {
  std::string attention_in = {}, attention_layers = {}, tokens = {};
  int64_t frames = 0;
};

/// --attention-in, --attention-layers and --tokens.
void add_attention_place_options(CLI::App& app, PlaceArguments& arguments);
/// Those and --frames.
void add_place_options(CLI::App& app, PlaceArguments& arguments);
models::Options place_choice(const PlaceArguments& arguments);

/// --attention where several are compared: it is repeated, and the shorthands go to all that have the option.
struct AttentionListArguments {
  std::vector<std::string> attentions;
  std::string wmin = {}, wmax = {};
  bool modified = false;
};

/// What `arguments` holds before is the default.
void add_attention_list_options(CLI::App& app, AttentionListArguments& arguments);

/// Without repeats; throws std::invalid_argument for an unknown name or option, and for a shorthand that none takes.
std::vector<AttentionSpec> attention_specs(const AttentionListArguments& arguments);

/// What a layer's support depends on besides mechanism and size.
struct LayerArguments {
  static constexpr int64_t kNoLayer = -1;
  int64_t layer = kNoLayer;
  int64_t cls = 1;
  bool causal = false;
  std::string grid_shape;  ///< as written; empty: a square where one is needed
};

/// --layer, --cls, --causal and --grid-shape.
void add_layer_options(CLI::App& app, LayerArguments& arguments);

PatternGeometry geometry_of(const LayerArguments& arguments, int64_t patches, int64_t heads);

}  // namespace fib::cli
