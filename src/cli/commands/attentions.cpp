// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "attention/registry.h"
#include "cli/command.h"
#include "cli/output.h"
#include "report/table.h"

namespace fib::cli {
namespace {

using attention::MechanismInfo;
using report::Table;

nlohmann::ordered_json attentions_json() {
  auto list = nlohmann::ordered_json::array();
  for (const MechanismInfo& m : attention::mechanisms()) {
    auto options = nlohmann::ordered_json::array();
    for (const PatternOption& o : m.options) {
      options.push_back({{"key", o.key}, {"default", o.default_text}, {"help", o.help}});
    }
    list.push_back({{"name", m.name}, {"summary", m.summary}, {"support_set", m.support_set}, {"options", options}});
  }
  return list;
}

/// What every support set has is said once, below the table.
bool is_said_below(const MechanismInfo& m, const PatternOption& option) {
  return m.support_set && option.key == attention::masking_option().key;
}

std::string attentions_text() {
  Table table({{"attention"}, {"option"}, {"default"}, {"what it is"}});
  for (const MechanismInfo& m : attention::mechanisms()) {
    table.add_row({m.name, "", "", m.summary});
    for (const PatternOption& o : m.options) {
      if (!is_said_below(m, o)) table.add_row({"", o.key, o.default_text, o.help});
    }
  }
  std::vector<std::string> others;
  for (const MechanismInfo& m : attention::mechanisms()) {
    if (!m.support_set) others.push_back(m.name);
  }
  const PatternOption masking = attention::masking_option();
  return table.to_string() + fmt::format(
                                 "\nWritten NAME:key=value,key=value, e.g. fibottention:wmin=5,wmax=65,permute=none.\n"
                                 "N is the number of patch tokens; integers may be written N or N/k.\n"
                                 "All but {} are support sets: fib pattern draws them, and in models they\n"
                                 "take {} too (default {}). {}.\n",
                                 fmt::join(others, ", "), masking.key, masking.default_text, masking.help);
}

struct AttentionsArguments {
  bool json = false;
};

void declare(CLI::App& command, AttentionsArguments& a) {
  command.add_flag("--json", a.json, "print JSON");
  command.footer("Example: fib attentions --json");
}

void run(const AttentionsArguments& a, const Globals& globals) {
  if (a.json) {
    print_json(attentions_json());
  } else if (!globals.quiet) {
    fmt::print("{}", attentions_text());
  }
}

}  // namespace

Command attentions_command() {
  return make_command<AttentionsArguments>(
      {"attentions", "the attention mechanisms and their options", Topic::patterns}, declare, run);
}

}  // namespace fib::cli
