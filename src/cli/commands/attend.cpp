// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "attention/arrays.h"
#include "attention/registry.h"
#include "base/checked.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/standard_streams.h"
#include "fibottention/attention.h"

namespace fib::cli {
namespace {

/// Larger scores than a billion times the products of queries and keys are no softmax any more.
constexpr double kLargestScale = 1e9;

struct AttendArguments {
  AttentionArguments attention;
  LayerArguments layer;
  attention::AttendFiles files;
  std::string masking;                                      ///< as written, empty when not given
  double scale = std::numeric_limits<double>::quiet_NaN();  ///< not given
  bool json = false;
};

/// The mechanism without its masking, which models write among its options: masking=zero there is --masking zero here.
AttentionSpec take_masking(AttentionSpec spec, std::string& masking) {
  const auto given = std::ranges::find(spec.options, "masking", &std::pair<std::string, std::string>::first);
  if (given == spec.options.end()) return spec;
  if (!masking.empty())
    throw std::invalid_argument(
        fmt::format("masking is given twice: {} in --attention, {} as --masking", given->second, masking));
  masking = given->second;
  spec.options.erase(given);
  return spec;
}

Masking masking_of(const std::string& text) {
  if (text == "zero") return Masking::zero;
  if (text.empty() || text == "exclude") return Masking::exclude;
  throw std::invalid_argument(fmt::format("masking must be exclude or zero, got '{}'", text));
}

void declare(CLI::App& command, AttendArguments& a) {
  const auto file = [&command](const char* name, std::string& target, const char* help) {
    return command.add_option(name, target, help)->type_name("FILE");
  };
  file("--q", a.files.q, "queries [B,H,T,d], .npy of float32 or float64")->required();
  file("--k", a.files.k, "keys [B,H,T,d]")->required();
  file("--v", a.files.v, "values [B,H,T,e]")->required();
  file("--out", a.files.out, "where the result [B,H,T,e] goes")->required();
  add_attention_options(command, a.attention);
  add_layer_options(command, a.layer);
  command.add_option("--masking", a.masking, "exclude: other pairs weigh nothing; zero: they have score 0")
      ->type_name("exclude|zero")
      ->default_str("exclude");
  add_number(command, "--scale", a.scale, {-kLargestScale, kLargestScale},
             "factor of the scores; 1/sqrt(d) by default");
  file("--grad-out", a.files.grad_out, "gradient of the result, [B,H,T,e]");
  file("--dq", a.files.dq, "where the gradient of the queries goes");
  file("--dk", a.files.dk, "where the gradient of the keys goes");
  file("--dv", a.files.dv, "where the gradient of the values goes");
  command.add_flag("--json", a.json, "print JSON: what was computed and written");
  command.footer(
      "One of the arrays that are read may be -, standard input, and one of those that are written, standard output.\n"
      "Example: fib attend --q q.npy --k k.npy --v v.npy --out out.npy --wmin 5 --wmax 65");
}

int64_t patches_of(const AttendArguments& a, const AttentionShape& shape) {
  const int64_t patches = shape.query_tokens - a.layer.cls;
  if (patches > 0) return patches;
  throw std::runtime_error(
      fmt::format("'{}' has {} tokens, --cls {} leaves no patches", a.files.q, shape.query_tokens, a.layer.cls));
}

/// Names of files for "-".
void use_streams(attention::AttendFiles& f, StandardStreams& streams) {
  for (const auto& [option, file] : {std::pair{"--q", &f.q}, {"--k", &f.k}, {"--v", &f.v}, {"--grad-out", &f.grad_out}})
    *file = streams.input(option, *file);
  for (const auto& [option, file] : {std::pair{"--out", &f.out}, {"--dq", &f.dq}, {"--dk", &f.dk}, {"--dv", &f.dv}})
    *file = streams.output(option, *file, ".npy");
}

nlohmann::ordered_json attend_json(const AttentionSpec& spec, const SupportSet& support, const AttentionShape& shape,
                                   const std::vector<attention::WrittenArray>& written, NpyType type) {
  auto files = nlohmann::ordered_json::array();
  for (const auto& [file, sides] : written)
    files.push_back({{"file", file}, {"shape", sides}, {"dtype", npy_type_name(type)}});
  return {{"attention", spec.to_string()},
          {"batch", shape.batch},
          {"heads", shape.heads},
          {"tokens", shape.query_tokens},
          {"dim", shape.dim},
          {"cls", support.cls()},
          {"pairs", support.pairs()},
          {"patch_pairs", support.patch_pairs()},
          {"written", files}};
}

void run(const AttendArguments& given, const Globals& globals) {
  AttendArguments a = given;
  StandardStreams streams(a.json ? "--json" : "");
  use_streams(a.files, streams);
  attention::check_files(a.files);
  use_threads(globals);
  const attention::AttendInputs in = attention::read_inputs(a.files);
  std::string masking = a.masking;
  const AttentionSpec spec = take_masking(attention_spec(a.attention), masking);
  attention::require_pattern(spec);
  const SupportSet support = make_support(spec, geometry_of(a.layer, patches_of(a, in.shape), in.shape.heads));
  const auto written = attention::attend(
      a.files, in, support,
      {.scale = std::isnan(a.scale) ? std::nullopt : std::optional(a.scale), .masking = masking_of(masking)});
  if (a.json) return print_json(attend_json(spec, support, in.shape, written, in.q.type()));
  for (const auto& [file, shape] : written)
    say_written(file, globals.quiet || streams.output_used(),
                fmt::format("{} {}", shape_text(shape), npy_type_name(in.q.type())));
  streams.finish();
}

}  // namespace

Command attend_command() {
  return make_command<AttendArguments>(
      {"attend", "attention on arrays in .npy files, and its gradients", Topic::patterns}, declare, run);
}

}  // namespace fib::cli
