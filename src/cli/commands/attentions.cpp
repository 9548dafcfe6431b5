// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "attention/catalogue.h"
#include "cli/command.h"
#include "cli/table.h"

namespace fib::cli {
namespace {

using attention::Entry;
using attention::Family;

nlohmann::ordered_json attentions_json() {
  auto list = nlohmann::ordered_json::array();
  for (const Entry& entry : attention::catalogue()) {
    auto options = nlohmann::ordered_json::array();
    for (const PatternOption& o : entry.info.options) {
      options.push_back({{"key", o.key}, {"default", o.default_text}, {"help", o.help}});
    }
    list.push_back({{"name", entry.info.name},
                    {"summary", entry.info.summary},
                    {"support_set", entry.family == Family::support},
                    {"options", options}});
  }
  return list;
}

/// What every support set has is said once, below the table.
bool is_said_below(const Entry& entry, const PatternOption& option) {
  return entry.family == Family::support && option.key == attention::masking_option().key;
}

std::string attentions_text() {
  Table table({{"attention"}, {"option"}, {"default"}, {"what it is"}});
  for (const Entry& entry : attention::catalogue()) {
    table.add_row({entry.info.name, "", "", entry.info.summary});
    for (const PatternOption& o : entry.info.options) {
      if (!is_said_below(entry, o)) table.add_row({"", o.key, o.default_text, o.help});
    }
  }
  const PatternOption masking = attention::masking_option();
  return table.to_string() + fmt::format(
                                 "\nWritten NAME:key=value,key=value, e.g. fibottention:wmin=5,wmax=65,permute=none.\n"
                                 "N is the number of patch tokens; integers may be written N or N/k.\n"
                                 "All but full, topk, linformer and efficient are support sets: fib pattern draws "
                                 "them, and in models they\n"
                                 "take {} too (default {}). {}.\n",
                                 masking.key, masking.default_text, masking.help);
}

struct AttentionsArguments {
  bool json = false;
};

void declare(CLI::App& command, AttentionsArguments& a) {
  command.add_flag("--json", a.json, "for machines");
  command.footer("Example: fib attentions --json");
}

void run(const AttentionsArguments& a, const Globals& globals) {
  if (a.json) {
    fmt::print("{}\n", attentions_json().dump());
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
