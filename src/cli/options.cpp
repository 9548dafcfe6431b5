// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include <fmt/format.h>

#include <charconv>
#include <stdexcept>

namespace fib::cli {
namespace {

void merge(AttentionSpec& spec, const std::string& key, const std::string& value) {
  if (value.empty()) return;
  for (const auto& [k, v] : spec.options) {
    if (k == key)
      throw std::invalid_argument(fmt::format("{} is given twice: {} in --attention, {} as --{}", k, v, value, k));
  }
  spec.options.emplace_back(key, value);
}

}  // namespace

CLI::Option* add_integer(CLI::App& app, const std::string& name, int64_t& target, IntegerRange range,
                         const std::string& help) {
  const auto refuse_others = [range](const std::string& text) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    if (whole && value >= range.least && value <= range.most) return std::string();
    return fmt::format("must be an integer from {} to {}, got '{}'", range.least, range.most, text);
  };
  return app.add_option(name, target, help)->check(CLI::Validator(refuse_others, ""))->type_name("N");
}

void add_attention_options(CLI::App& app, AttentionArguments& a) {
  app.add_option("--attention", a.attention, "NAME or NAME:key=value,key=value; fib attentions lists them")
      ->type_name("SPEC")
      ->capture_default_str();
  app.add_option("--wmin", a.wmin, "short for wmin in --attention: window of the first head")->type_name("N");
  app.add_option("--wmax", a.wmax, "short for wmax in --attention: window of the last head")->type_name("N");
  app.add_flag("--modified", a.modified, "short for --attention fibottention-modified");
}

AttentionSpec attention_spec(const AttentionArguments& a) {
  AttentionSpec spec = AttentionSpec::parse(a.attention);
  if (a.modified && spec.name != "fibottention") {
    throw std::invalid_argument("--modified goes with --attention fibottention, got '" + spec.name + "'");
  }
  if (a.modified) spec.name = "fibottention-modified";
  merge(spec, "wmin", a.wmin);
  merge(spec, "wmax", a.wmax);
  return spec;
}

}  // namespace fib::cli
