// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "report/listings.h"

namespace fib::cli {
namespace {

struct FlopsArguments {
  std::vector<std::string> models{"vit_base_patch16_224"};
  std::vector<int64_t> resolutions;
  AttentionListArguments attention{.attentions = {"full", "fibottention"}};
  PlaceArguments place;
  std::string plot;
  bool json = false;
};

void declare(CLI::App& command, FlopsArguments& a) {
  command.add_option("--model", a.models, "a name of fib models; repeat it to compare")
      ->type_name("MODEL")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->capture_default_str();
  add_integers(command, "--resolution", a.resolutions, kResolutions, "sides of square images; the model's own");
  add_attention_list_options(command, a.attention);
  add_place_options(command, a.place);
  command.add_flag("--json", a.json, "print JSON");
  command.add_option("--plot", a.plot, "draw the cost against the resolution, as .svg or .png")->type_name("FILE");
  command.footer(
      "Example: fib flops --model vit_base_patch16_224 --model vit_tiny_patch16_224 --resolution 224,384,512,768,1024 "
      "--plot cost.svg");
}

void run(const FlopsArguments& a, const Globals& globals) {
  if (!a.plot.empty()) report::check_drawing_output(a.plot);
  const std::vector<report::FlopsRow> rows =
      report::flops_rows(a.models, a.resolutions, attention_specs(a.attention), place_choice(a.place));
  show(
      globals, a.json, [&] { return flops_json(rows); }, [&] { return flops_text(rows); });
  if (!a.plot.empty()) write_plot(draw(flops_plot(rows)), a.plot, a.json || globals.quiet);
}

}  // namespace

Command flops_command() {
  return make_command<FlopsArguments>(
      {"flops", "what a model costs, part by part, with one attention and another", Topic::models}, declare, run);
}

}  // namespace fib::cli
