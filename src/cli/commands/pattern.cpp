// SPDX-License-Identifier: Apache-2.0
#include "fibottention/pattern.h"

#include <fmt/format.h>

#include <set>
#include <stdexcept>

#include "attention/equal_pairs.h"
#include "attention/registry.h"
#include "base/atomic_file.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/standard_streams.h"
#include "report/pattern_drawing.h"
#include "report/pattern_summary.h"
#include "report/text.h"

namespace fib::cli {
namespace {

struct PatternArguments {
  AttentionArguments attention;
  LayerArguments layer;
  int64_t tokens = 196, heads = 12, depth = 12;
  std::string array, png, svg, match_pairs;
  bool json = false;
  const CLI::App* command = nullptr;
};

void declare(CLI::App& command, PatternArguments& a) {
  a.command = &command;
  add_integer(command, "--tokens", a.tokens, {1, kMaxTokens}, "patch tokens N")->capture_default_str();
  add_integer(command, "--heads", a.heads, {1, kMaxHeads}, "heads")->capture_default_str();
  add_integer(command, "--depth", a.depth, {1, 1000}, "layers whose reach is counted")->capture_default_str();
  add_attention_options(command, a.attention);
  add_match_pairs(command, a.match_pairs);
  add_layer_options(command, a.layer);
  command.add_flag("--json", a.json, "print JSON");
  command.add_option("--png", a.png, "draw all heads' masks into this file; - is standard output")->type_name("FILE");
  command.add_option("--svg", a.svg, "the same as SVG")->type_name("FILE");
  command.add_option("--array", a.array, "print the Wythoff array instead; --modified and --json apply")
      ->type_name("ROWSxCOLS");
  command.footer("Example: fib pattern --tokens 196 --heads 12 --wmin 5 --wmax 65 --svg pattern.svg");
}

void refuse_beside_array(const CLI::App& command) {
  const std::set<std::string> accepted = {"--array", "--modified", "--json"};
  for (const CLI::Option* o : command.get_options()) {
    if (o->count() == 0 || accepted.count(o->get_name()) > 0) continue;
    throw std::invalid_argument("--array goes with --modified and --json only, got " + o->get_name());
  }
}

void print_array(const PatternArguments& a) {
  refuse_beside_array(*a.command);
  const report::WythoffTable table = report::wythoff_table(a.array, a.attention.modified);
  show(
      {}, a.json, [&] { return table.to_json(); }, [&] { return table.to_string(); });
}

void write_drawings(const PatternArguments& a, const std::string& title, const SupportSet& support) {
  if (a.png.empty() && a.svg.empty()) return;
  const report::Drawing drawing = report::draw_pattern(title, support);
  if (!a.svg.empty()) write_file_atomically(a.svg, report::to_svg(drawing));
  if (!a.png.empty()) write_file_atomically(a.png, report::to_png(drawing));
}

PatternGeometry at_layer(PatternGeometry geometry, int64_t layer) {
  geometry.layer = layer;
  return geometry;
}

std::optional<attention::EqualPairs> matched_pairs(const AttentionSpec& spec, const std::string& target,
                                                   const PatternGeometry& geometry) {
  if (target.empty()) return std::nullopt;
  return attention::with_equal_pairs(spec, *target_of(target), geometry.patches, [&](const AttentionSpec& attention) {
    return attention::patch_pairs(attention, geometry);
  });
}

/// With the names that are really written.
void check_outputs(PatternArguments& a, StandardStreams& streams) {
  for (const auto& [option, file] : {std::pair{"--svg", &a.svg}, {"--png", &a.png}}) {
    if (a.command->count(option) == 0) continue;
    const std::string ending = std::string(".") + (option + 2);
    *file = streams.output(option, *file, ending);
    check_ending(option, *file, ending);
    check_writable(*file);
  }
}

void run(const PatternArguments& given, const Globals& globals) {
  if (given.command->count("--array") > 0) return print_array(given);
  PatternArguments a = given;
  StandardStreams streams(a.json ? "--json" : "");
  check_outputs(a, streams);
  const PatternGeometry geometry = geometry_of(a.layer, a.tokens, a.heads);
  AttentionSpec spec = attention_spec(a.attention);
  attention::require_pattern(spec);
  const auto matched = matched_pairs(spec, a.match_pairs, geometry);
  if (matched) spec = matched->attention;
  const SupportSet support = make_support(spec, geometry);
  const std::string title = report::pattern_title(spec, geometry.layer);
  write_drawings(a, title, support);
  const auto summary = [&] {
    report::PatternSummary of_support = report::summarize_pattern(
        spec, support, [&](int64_t layer) { return make_support(spec, at_layer(geometry, layer)); }, a.depth);
    of_support.matched = matched;
    return of_support;
  };
  if (a.json) {
    print_json(report::pattern_json(summary()));
  } else if (!globals.quiet && !streams.output_used()) {
    fmt::print("{}\n\n{}", report::describe_support(title, support), report::pattern_text(summary()));
    for (const std::string& file : {a.svg, a.png})
      if (!file.empty()) say_written(file, false);
  }
  streams.finish();
}

}  // namespace

Command pattern_command() {
  return make_command<PatternArguments>(
      {"pattern", "which query meets which key: table, JSON or image", Topic::patterns}, declare, run);
}

}  // namespace fib::cli
