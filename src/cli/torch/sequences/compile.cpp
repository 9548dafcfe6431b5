// SPDX-License-Identifier: Apache-2.0
#include "cli/torch/sequences/compile.h"

#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>

#include "cli/output.h"
#include "cli/standard_streams.h"
#include "engine/limits.h"
#include "report/text.h"
#include "sequences/torch/compile_text.h"
#include "training/run/directory.h"

namespace fib::cli {
namespace {

/// What is of images has no meaning here, and a run says the rest.
void check_options(const CompileArguments& a) {
  const auto refuse = [](bool given, const char* option) {
    if (given) throw std::invalid_argument(fmt::format("{} says nothing about a run of the task text", option));
  };
  refuse(!a.resolutions.empty(), "--resolution");
  refuse(!a.labels.empty(), "--labels");
  refuse(!a.model.attention.attention.empty(), "--attention");
}

}  // namespace

bool compiles_text(const CompileArguments& a) {
  if (a.model.runs.size() != 1) return false;
  const training::RunFiles files{a.model.runs.front()};
  if (!std::filesystem::exists(files.config())) return false;
  const std::string task = files.recipe().run.task;
  if (task == "series")
    throw std::invalid_argument(fmt::format(
        "--run: the run in '{}' learned series, whose decoders have no compiled form", files.root.string()));
  return task == "text";
}

void say_compiled(const std::string& out, const engine::FibContent& content, bool quiet) {
  const engine::Program& first = content.programs.front();
  const engine::Requirements needs = engine::requirements(content.programs), one = engine::requirements(first);
  say_written(
      out, quiet,
      fmt::format("({} with {}, {}, {}, {} steps; needs {} of memory and {:.4g} G multiply-adds for a {})",
                  content.card.at("model"), content.card.at("attention"), name_of(content.precision),
                  report::bytes(static_cast<int64_t>(std::filesystem::file_size(out))), first.steps.size(),
                  report::bytes(needs.memory), static_cast<double>(first.tokens() > 0 ? one.work : needs.work) / 1e9,
                  first.tokens() > 0      ? "token"
                  : first.takes_numbers() ? "decision"
                                          : "sample"));
}

void compile_text(const CompileArguments& a, const Globals& globals) {
  check_options(a);
  StandardStreams streams;
  const std::string out = streams.output("--out", a.output, ".fib");
  check_ending("--out", out, ".fib");
  check_writable(out);
  const sequences::TrainedText text = sequences::open_text(a.model.runs.front());
  engine::TensorStore tensors;
  const engine::FibContent content = sequences::compiled_text(text, engine::precision_named(a.precision), tensors);
  engine::write_fib(out, content, tensors.views());
  say_compiled(out, content, globals.quiet || streams.output_used());
  streams.finish();
}

}  // namespace fib::cli
