// SPDX-License-Identifier: Apache-2.0
// The options that say which trained models a command looks at, on which images, and how these become a model's input.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "engine/limits.h"

namespace fib::cli {

/// What is not given is told by the weights or the run, and else follows the model.
struct ModelArguments {
  std::vector<std::string> runs;  ///< run directories; empty: --weights says what
  std::string checkpoint = "best";
  std::string weights, model;
  AttentionArguments attention{.attention = ""};
  PlaceArguments place;
  int64_t resize = 0, crop = 0;  ///< 0: not given
  std::vector<float> mean, std;  ///< empty: not given
  std::string data;
  int64_t batch = 16;
};

enum class HowMany { one, many };

/// --run, --checkpoint, --model, --weights, --attention and its shorthands.
void add_weights_options(CLI::App& app, ModelArguments& arguments, HowMany models);

/// --resize, --crop, --mean, --std.
void add_preprocess_options(CLI::App& app, ModelArguments& arguments);

/// All of them, --data and --batch.
void add_evaluated_model_options(CLI::App& app, ModelArguments& arguments, HowMany models);

/// What a compiled model may take before it is refused.
struct EngineLimitArguments {
  double memory = static_cast<double>(engine::Limits().memory) / (1 << 30);  ///< GiB
  double work = static_cast<double>(engine::Limits().work) / 1e12;           ///< 10¹² multiply-adds

  engine::Limits limits() const {
    return {static_cast<int64_t>(memory * (1 << 30)), static_cast<int64_t>(work * 1e12)};
  }
};

/// --max-memory and --max-work, which need --engine.
void add_engine_limits(CLI::App& app, EngineLimitArguments& limits);

/// --engine, which leaves nothing to say about what `excluded` names.
CLI::Option* add_engine_option(CLI::App& app, std::string& target, const std::vector<const char*>& excluded);
CLI::Option* add_engine_option(CLI::App& app, std::vector<std::string>& target,
                               const std::vector<const char*>& excluded);

inline const std::vector<const char*> kWeightsOptions{
    "--weights", "--model",    "--run",          "--attention",        "--wmin",
    "--wmax",    "--modified", "--attention-in", "--attention-layers", "--tokens"};

// ---- Several models over many images

struct AnalyzeArguments {
  ModelArguments models;
  int64_t images = 0;
  int64_t layer = 0;  ///< from 1; 0: the last
  std::vector<std::string> plots;
  bool json = false;
};

/// The models' options, --images and --json; `images` is how many by default.
void add_analyze_options(CLI::App& app, AnalyzeArguments& arguments, int64_t images);
void add_layer_option(CLI::App& app, AnalyzeArguments& arguments);
/// --plot, where there is something to draw.
void add_plot_option(CLI::App& app, AnalyzeArguments& arguments, const std::string& help);

}  // namespace fib::cli
