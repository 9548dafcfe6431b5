// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/table.h"
#include "fibottention/pattern.h"

namespace fib::cli {
namespace {

nlohmann::ordered_json attentions_json() {
  auto list = nlohmann::ordered_json::array();
  for (const PatternInfo& info : pattern_registry()) {
    auto options = nlohmann::ordered_json::array();
    for (const PatternOption& o : info.options) {
      options.push_back({{"key", o.key}, {"default", o.default_text}, {"help", o.help}});
    }
    list.push_back({{"name", info.name}, {"summary", info.summary}, {"options", options}});
  }
  return list;
}

std::string attentions_text() {
  Table table({{"attention"}, {"option"}, {"default"}, {"what it is"}});
  for (const PatternInfo& info : pattern_registry()) {
    table.add_row({info.name, "", "", info.summary});
    for (const PatternOption& o : info.options) table.add_row({"", o.key, o.default_text, o.help});
  }
  return table.to_string() +
         "\nWritten NAME:key=value,key=value, e.g. fibottention:wmin=5,wmax=65,permute=none.\n"
         "N is the number of patch tokens; integers may be written N or N/k.\n";
}

}  // namespace

void add_attentions(CLI::App& command, const Globals& globals) {
  const auto json = std::make_shared<bool>(false);
  command.add_flag("--json", *json, "for machines");
  command.footer("Example: fib attentions --json");
  command.callback([json, &globals] {
    if (*json) {
      fmt::print("{}\n", attentions_json().dump());
    } else if (!globals.quiet) {
      fmt::print("{}", attentions_text());
    }
  });
}

}  // namespace fib::cli
