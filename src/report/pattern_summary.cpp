// SPDX-License-Identifier: Apache-2.0
#include "report/pattern_summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/table.h"
#include "report/words.h"

namespace fib::report {
namespace {

int64_t count_empty_rows(const SupportSet& s) {
  int64_t count = 0;
  for (int64_t h = 0; h < s.num_heads(); ++h) count += static_cast<int64_t>(s.empty_rows(h).size());
  return count;
}

std::string share_of(int64_t pairs, int64_t tokens) {
  const double n = static_cast<double>(tokens);
  return fmt::format("{:.2f} %", 100.0 * static_cast<double>(pairs) / (n * n));
}

std::string heads_table(const SupportSet& s) {
  using enum Table::Align;
  Table table({{"head", right}, {"window", right}, {"offsets", left}, {"pairs", right}, {"share", right}});
  for (int64_t h = 0; h < s.num_heads(); ++h) {
    table.add_row({std::to_string(h + 1), grouped(s.head(h).window), describe_keys(s.head(h), 44, "…"),
                   grouped(s.patch_pairs(h)), share_of(s.patch_pairs(h), s.patches())});
  }
  return table.to_string();
}

std::string totals_table(const AttentionSpec& spec, const SupportSet& s) {
  Table table({{}, {}});
  table.add_row({"pairs", grouped(s.patch_pairs()) + " of patch tokens, " + grouped(s.pairs()) + " in all"});
  table.add_row({"pruned", fmt::format("{:.3f} % of patch pairs, {:.3f} % of all pairs", 100.0 * s.pruning_ratio(),
                                       100.0 * s.pruning_ratio_with_cls())});
  if (const auto bound = pattern_bound(spec, s)) {
    const double any_window = theorem1_bound_for_any_window(s.patches(), s.num_heads());
    table.add_row(
        {"bound", fmt::format("{} pairs (Theorem 1), {} whatever the windows", grouped(static_cast<int64_t>(*bound)),
                              grouped(static_cast<int64_t>(any_window)))});
  }
  if (const int64_t empty = count_empty_rows(s)) {
    table.add_row({"empty", grouped(empty) + " rows see nothing: their output is zero"});
  }
  table.add_row({"memory", bytes(s.memory_bytes())});
  return table.to_string();
}

}  // namespace

std::optional<double> pattern_bound(const AttentionSpec& spec, const SupportSet& s) {
  if (spec.name != "fibottention") return std::nullopt;
  // Windows grow with the row, so sorting undoes a permutation of the heads.
  std::vector<int64_t> windows;
  for (int64_t h = 0; h < s.num_heads(); ++h) windows.push_back(s.head(h).window);
  std::sort(windows.begin(), windows.end());
  if (windows.back() > s.patches()) return std::nullopt;
  for (size_t i = 0; i < windows.size(); ++i) {
    if (wythoff_row(static_cast<int64_t>(i) + 1).b > windows[i]) return std::nullopt;
  }
  return theorem1_bound(s.patches(), s.num_heads(), windows.back());
}

nlohmann::ordered_json pattern_json(const AttentionSpec& spec, const SupportSet& s) {
  using Json = nlohmann::ordered_json;
  Json heads = Json::array();
  for (int64_t h = 0; h < s.num_heads(); ++h) {
    const SupportSet::Head& head = s.head(h);
    heads.push_back({{"head", h + 1},
                     {"window", head.window},
                     {"offsets", head.offsets},
                     {"diagonal", head.diagonal},
                     {"random_pairs", head.pairs.size()},
                     {"pairs", s.patch_pairs(h)}});
  }
  const auto bound = pattern_bound(spec, s);
  return {
      {"attention", spec.to_string()},
      {"tokens", s.patches()},
      {"cls", s.cls()},
      {"causal", s.causal()},
      {"heads", heads},
      {"pairs", s.patch_pairs()},
      {"pairs_with_cls", s.pairs()},
      {"pruning_ratio", s.pruning_ratio()},
      {"pruning_ratio_with_cls", s.pruning_ratio_with_cls()},
      {"bound", bound ? Json(*bound) : Json(nullptr)},
      {"bound_for_any_window", bound ? Json(theorem1_bound_for_any_window(s.patches(), s.num_heads())) : Json(nullptr)},
      {"empty_rows", count_empty_rows(s)},
      {"memory_bytes", s.memory_bytes()}};
}

std::string pattern_text(const AttentionSpec& spec, const SupportSet& s) {
  return heads_table(s) + "\n" + totals_table(spec, s);
}

}  // namespace fib::report
