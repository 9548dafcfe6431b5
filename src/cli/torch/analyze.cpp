// SPDX-License-Identifier: Apache-2.0
#include "cli/torch/commands.h"

namespace fib::cli {
namespace {

struct Analysis {
  const char* name;
  const char* summary;
  void (*add)(CLI::App&, const Globals&);
};

constexpr Analysis kAnalyses[] = {
    {"diversity", "how different the heads of a layer are", add_analyze_diversity},
    {"inductive-bias", "how evenly the patches of an object attend to each other", add_analyze_inductive_bias},
    {"attention-maps", "where each head looks, drawn over a picture", add_analyze_attention_maps},
    {"corruption", "accuracy on noisy, blurred, snowed-in pictures", add_analyze_corruption},
};

}  // namespace

void add_analyze(CLI::App& command, const Globals& globals) {
  command.require_subcommand(1);
  command.footer("Example: fib analyze diversity --run runs/full --run runs/fibottention --plot diversity.svg");
  for (const Analysis& analysis : kAnalyses) {
    CLI::App* sub = command.add_subcommand(analysis.name, analysis.summary);
    sub->fallthrough();
    analysis.add(*sub, globals);
  }
}

}  // namespace fib::cli
