// SPDX-License-Identifier: Apache-2.0
// The commands for decoders of texts and time series: their options here, what they do in cli/torch/sequences.
#pragma once

#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/text.h"
#include "bench/measure.h"
#include "cli/command.h"
#include "cli/model_options.h"
#include "cli/options.h"
#include "sequences/compiled_text.h"
#include "sequences/decoder.h"

namespace fib::cli {

// ---- fib generate

struct GenerateArguments {
  std::string run, engine, prompt = "\n";
  EngineLimitArguments limits;
  int64_t tokens = 500, top_k = 0, seed = 0;
  double temperature = 0.8;
  bool json = false;
};

inline void declare(CLI::App& command, GenerateArguments& a) {
  command.add_option("--run", a.run, "directory of a run of the task text")->type_name("DIR");
  add_engine_option(command, a.engine, {"--run"});
  add_engine_limits(command, a.limits);
  command.add_option("--prompt", a.prompt, "what the text begins with, - is standard input; a new line unless given")
      ->type_name("TEXT");
  add_integer(command, "--tokens", a.tokens, {1, 1'000'000'000}, "number of tokens to write")->capture_default_str();
  add_number(command, "--temperature", a.temperature, {0, 100}, "divides the logits; 0: always the most probable")
      ->capture_default_str();
  add_integer(command, "--top-k", a.top_k, {0, 1'000'000}, "draw from so many most probable tokens; 0: from all")
      ->capture_default_str();
  add_integer(command, "--seed", a.seed, {0, std::numeric_limits<int64_t>::max()}, "seed of the draws")
      ->capture_default_str();
  command.add_flag("--json", a.json, "print JSON once all is written: text and time");
  command.footer(
      "The text is shown as it is written; Ctrl-C ends it, with exit code 130.\n"
      "Example: fib generate --run runs/shakespeare --prompt 'ROMEO:' --tokens 300\n"
      "Example: fib generate --engine shakespeare.fib --prompt - < begin.txt");
}

void run(const GenerateArguments& arguments, const Globals& globals);
void run_engine(const GenerateArguments& arguments, const Globals& globals);
/// What both do with their decoder.
void generate(sequences::TokenModel& model, const sequences::TextCard& text, const GenerateArguments& arguments,
              const Globals& globals);

template <class Torch>
void generate_with(const GenerateArguments& arguments, const Globals& globals) {
  if (!arguments.engine.empty()) return run_engine(arguments, globals);
  if (arguments.run.empty()) throw std::invalid_argument("which decoder? Give --run DIR or --engine F.fib");
  Torch::run(arguments, globals);
}

// ---- fib forecast

struct ForecastArguments {
  std::string run, input, plot;
  bool held_out = false, json = false;
};

inline void declare(CLI::App& command, ForecastArguments& a) {
  command.add_option("--run", a.run, "directory of a run of the task series")->required()->type_name("DIR");
  command
      .add_option("--input", a.input, "what came before, with the columns that the run learned; - is standard input")
      ->required()
      ->type_name("F.csv");
  command.add_flag("--held-out", a.held_out, "forecast the last rows of the input from those before, and compare");
  command.add_option("--plot", a.plot, "the end of the input and the forecast, as .svg or .png")->type_name("FILE");
  command.add_flag("--json", a.json, "print JSON: every step of every column");
  command.footer("Example: fib forecast --run runs/etth1 --input ETTh1.csv --held-out --plot forecast.svg");
}

void run(const ForecastArguments& arguments, const Globals& globals);

// ---- fib bench decode

struct BenchDecodeArguments {
  std::string model = "nanogpt_cpu";
  std::vector<std::string> attentions = {"fibottention", "full"};
  std::vector<int64_t> contexts = {1024, 262144};
  bench::TimingOptions timing{};
  bool json = false;
};

inline void declare(CLI::App& command, BenchDecodeArguments& a) {
  std::vector<std::string> names;
  for (const sequences::DecoderRow& row : sequences::decoders())
    if (row.positions == sequences::Positions::learned) names.push_back(row.name);
  command.add_option("--model", a.model, "a decoder, with rotary positions: " + joined(names))->capture_default_str();
  command
      .add_option("--attention", a.attentions,
                  "NAME or NAME:key=value,… as fib attentions lists them; repeat to compare")
      ->type_name("SPEC")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->capture_default_str();
  add_integers(command, "--context", a.contexts, {2, 16777216}, "tokens before the one that is timed")
      ->default_str("1024,262144");
  add_number(command, "--seconds", a.timing.seconds, {0.01, 3600}, "time to spend per context, about")
      ->capture_default_str();
  command.add_flag("--json", a.json, "print JSON");
  command.footer(
      "Keys and values are random and as many as the context needs; all attentions take turns, and the shortest time "
      "of "
      "each counts.\n"
      "Example: fib bench decode --attention fibottention --attention full --context 1024,16384,262144");
}

void run(const BenchDecodeArguments& arguments, const Globals& globals);

template <class Torch>
std::vector<Command> sequence_commands() {
  return {make_command<GenerateArguments>({"generate", "a trained decoder writes on, token by token", Topic::trained},
                                          declare, generate_with<Torch>),
          torch_command<ForecastArguments, Torch>(
              {"forecast", "the next steps of a time series, by a trained decoder", Topic::trained}),
          torch_command<BenchDecodeArguments, Torch>(
              {"bench decode", "what the next token costs after a long context", Topic::measures})};
}

}  // namespace fib::cli
