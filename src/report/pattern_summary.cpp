// SPDX-License-Identifier: Apache-2.0
#include "report/pattern_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "fibottention/pattern.h"
#include "report/text.h"

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

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

/// "23.9 % after 1 layer, 98.1 % after 2, 100.0 % after 3": until nothing more is gained, four layers at most.
std::string reach_text(const std::vector<double>& shares) {
  std::string text;
  for (size_t l = 0; l < std::min<size_t>(shares.size(), 4); ++l) {
    if (l > 0 && shares[l] == shares[l - 1]) break;
    text += fmt::format("{}{} after {}{}", l == 0 ? "" : ", ", percent(shares[l]), l + 1, l == 0 ? " layer" : "");
  }
  return text;
}

void add_desiderata(Table& table, const PatternSummary& summary) {
  if (const auto& d = summary.desiderata) {
    table.add_row({"overlap", fmt::format("{} of the pairs of two heads on average, {} at most; a pair is in {} head{} "
                                          "at most",
                                          percent(d->mean_overlap), percent(d->greatest_overlap),
                                          d->most_heads_of_a_pair, d->most_heads_of_a_pair == 1 ? "" : "s")});
    table.add_row({"union", fmt::format("{} pairs, {} of all", grouped(d->union_pairs), percent(d->union_share))});
  }
  if (const auto& r = summary.reach) {
    table.add_row({"reach", reach_text(r->all_heads) + ", class tokens left out"});
    table.add_row({"", reach_text(r->one_head) + " within one head"});
  }
}

int64_t neighbor_pairs(const SupportSet& s) {
  int64_t count = 0;
  for (int64_t h = 0; h < s.num_heads(); ++h) count += s.neighbor_pairs(h);
  return count;
}

/// What neighbors and summaries add, which is not the paper's.
std::string beside_the_mechanism(const SupportSet& s) {
  std::string text;
  if (const int64_t pairs = neighbor_pairs(s)) text = grouped(pairs) + " of them with neighbors on the grid alone";
  if (s.summaries())
    text += fmt::format("{}{} with {} summaries", text.empty() ? "" : ", ", grouped(s.num_heads() * s.summary_pairs()),
                        s.summaries()->count());
  return text;
}

std::string totals_table(const PatternSummary& summary) {
  const SupportSet& s = summary.support;
  Table table({{}, {}});
  table.add_row({"pairs", grouped(s.patch_pairs()) + " of patch tokens, " + grouped(s.pairs()) + " in all"});
  if (const std::string extra = beside_the_mechanism(s); !extra.empty()) table.add_row({"", extra});
  if (summary.matched)
    table.add_row(
        {"matched", fmt::format("{} to {} pairs", summary.spec.to_string(), grouped(summary.matched->wanted))});
  table.add_row({"pruned", fmt::format("{:.3f} % of patch pairs, {:.3f} % of all pairs", 100.0 * s.pruning_ratio(),
                                       100.0 * s.pruning_ratio_with_cls())});
  if (const auto bounds = pattern_bounds(summary.spec, s)) {
    const auto pairs = [](double bound) { return grouped(static_cast<int64_t>(bound)); };
    table.add_row({"bound", fmt::format("{} pairs (Theorem 1), {} whatever the windows, {} head by head (Lemma 2)",
                                        pairs(bounds->theorem), pairs(bounds->any_window), pairs(bounds->lemma))});
  }
  add_desiderata(table, summary);
  if (const int64_t empty = count_empty_rows(s)) {
    table.add_row({"empty", grouped(empty) + " rows see nothing: their output is zero"});
  }
  table.add_row({"memory", bytes(s.memory_bytes())});
  return table.to_string();
}

/// The rows whose array a mechanism takes, in order; null for others, and where an option makes other masks of them.
SequenceStart (*array_of(const AttentionSpec& spec))(int64_t) {
  for (const auto& [key, value] : spec.options)
    if ((key == "heads" && value == "same") || (key == "bands" && value == "cross")) return nullptr;
  if (spec.name == "fibottention") return wythoff_row;
  return spec.name == "fibottention-modified" ? modified_wythoff_row : nullptr;
}

using Json = nlohmann::ordered_json;

Json bounds_json(const std::optional<PatternBounds>& bounds) {
  if (!bounds) return {{"bound", nullptr}, {"bound_for_any_window", nullptr}, {"bound_of_heads", nullptr}};
  return {{"bound", bounds->theorem}, {"bound_for_any_window", bounds->any_window}, {"bound_of_heads", bounds->lemma}};
}

/// Null where they were not computed.
Json desiderata_json(const PatternSummary& summary) {
  Json json = {{"mean_overlap", nullptr}, {"greatest_overlap", nullptr}, {"most_heads_of_a_pair", nullptr},
               {"union_pairs", nullptr},  {"union_share", nullptr},      {"rows_without_key", nullptr},
               {"reach", nullptr},        {"reach_of_one_head", nullptr}};
  if (const auto& d = summary.desiderata)
    json.update({{"mean_overlap", d->mean_overlap},
                 {"greatest_overlap", d->greatest_overlap},
                 {"most_heads_of_a_pair", d->most_heads_of_a_pair},
                 {"union_pairs", d->union_pairs},
                 {"union_share", d->union_share},
                 {"rows_without_key", d->rows_without_key}});
  if (const auto& r = summary.reach) json.update({{"reach", r->all_heads}, {"reach_of_one_head", r->one_head}});
  return json;
}

}  // namespace

std::string equal_pairs_text(const attention::EqualPairs& matched, const std::string& target) {
  return fmt::format("{} has {} pairs, {} {}", matched.attention.to_string(), grouped(matched.pairs), target,
                     grouped(matched.wanted));
}

std::optional<PatternBounds> pattern_bounds(const AttentionSpec& spec, const SupportSet& s) {
  const auto row_of = array_of(spec);
  if (row_of == nullptr) return std::nullopt;
  // Windows grow with the row, so sorting undoes a permutation of the heads.
  std::vector<int64_t> windows;
  for (int64_t h = 0; h < s.num_heads(); ++h) windows.push_back(s.head(h).window);
  std::sort(windows.begin(), windows.end());
  if (windows.back() > s.patches()) return std::nullopt;
  PatternBounds bounds;
  for (size_t i = 0; i < windows.size(); ++i) {
    const SequenceStart row = row_of(static_cast<int64_t>(i) + 1);
    if (row.b > windows[i]) return std::nullopt;
    bounds.lemma += lemma2_bound(row, windows[i], s.patches());
  }
  const int64_t n = s.patches(), heads = s.num_heads();
  const bool modified = row_of == modified_wythoff_row;
  bounds.theorem =
      modified ? modified_theorem1_bound(n, heads, windows.back()) : theorem1_bound(n, heads, windows.back());
  bounds.any_window = modified ? modified_theorem1_bound(n, heads, n) : theorem1_bound_for_any_window(n, heads);
  return bounds;
}

PatternSummary summarize_pattern(const AttentionSpec& spec, const SupportSet& support,
                                 const std::function<SupportSet(int64_t)>& support_of, int64_t layers) {
  // A support of more tokens may take a gibibyte: none is made to learn that it is too large.
  const bool small = support.patches() <= kMostReachTokens;
  return {spec, support, desiderata(support), small ? reach(support_of, layers) : std::nullopt};
}

nlohmann::ordered_json pattern_json(const PatternSummary& summary) {
  const SupportSet& s = summary.support;
  Json heads = Json::array();
  for (int64_t h = 0; h < s.num_heads(); ++h) {
    const SupportSet::Head& head = s.head(h);
    heads.push_back({{"head", h + 1},
                     {"window", head.window},
                     {"offsets", head.offsets},
                     {"diagonal", head.diagonal},
                     {"neighbor_pairs", s.neighbor_pairs(h)},
                     {"summary_pairs", s.summary_pairs()},
                     {"listed_pairs", head.pairs.size()},
                     {"pairs", s.patch_pairs(h)}});
  }
  Json json = {{"attention", summary.spec.to_string()},
               {"tokens", s.patches()},
               {"cls", s.cls()},
               {"causal", s.causal()},
               {"heads", heads},
               {"pairs", s.patch_pairs()},
               {"pairs_with_cls", s.pairs()},
               {"pruning_ratio", s.pruning_ratio()},
               {"pruning_ratio_with_cls", s.pruning_ratio_with_cls()}};
  if (summary.matched) json["pairs_wanted"] = summary.matched->wanted;
  json.update(bounds_json(pattern_bounds(summary.spec, s)));
  json["desiderata"] = desiderata_json(summary);
  json["empty_rows"] = count_empty_rows(s);
  json["memory_bytes"] = s.memory_bytes();
  return json;
}

std::string pattern_text(const PatternSummary& summary) {
  return heads_table(summary.support) + "\n" + totals_table(summary);
}

// ---- fib pattern --array

namespace {

/// With these the largest element, of the last row and column, is below 2⁶³.
constexpr int64_t kMaxRows = 10000, kMaxColumns = 60;

struct Size {
  int64_t rows = 0;
  int64_t columns = 0;
};

Size parse_size(const std::string& text) {
  Size size;
  const char* end = text.data() + text.size();
  const auto rows = std::from_chars(text.data(), end, size.rows);
  const bool crossed = rows.ec == std::errc() && rows.ptr != end && *rows.ptr == 'x';
  const auto columns = crossed ? std::from_chars(rows.ptr + 1, end, size.columns) : rows;
  const bool whole = crossed && columns.ec == std::errc() && columns.ptr == end;
  if (whole && size.rows >= 1 && size.rows <= kMaxRows && size.columns >= 1 && size.columns <= kMaxColumns) return size;
  throw std::invalid_argument(
      fmt::format("--array must be ROWSxCOLS from 1x1 to {}x{}, got '{}'", kMaxRows, kMaxColumns, text));
}

std::vector<int64_t> row_elements(SequenceStart start, int64_t columns) {
  std::vector<int64_t> elements;
  for (int64_t x = start.a, y = start.b; static_cast<int64_t>(elements.size()) < columns;) {
    elements.push_back(x);
    const int64_t next = x + y;
    x = std::exchange(y, next);
  }
  return elements;
}

}  // namespace

WythoffTable wythoff_table(const std::string& text, bool modified) {
  const Size size = parse_size(text);
  WythoffTable table{modified, {}};
  for (int64_t i = 1; i <= size.rows; ++i) {
    table.rows.push_back(row_elements(modified ? modified_wythoff_row(i) : wythoff_row(i), size.columns));
  }
  return table;
}

nlohmann::ordered_json WythoffTable::to_json() const {
  return {{"rows", rows.size()}, {"columns", rows.front().size()}, {"modified", modified}, {"array", rows}};
}

std::string WythoffTable::to_string() const {
  std::vector<Table::Column> columns(rows.front().size() + 1, {"", Table::Align::right});
  Table table(columns);
  for (size_t i = 0; i < rows.size(); ++i) {
    std::vector<std::string> cells = {fmt::format("{}:", i + 1)};
    for (int64_t e : rows[i]) cells.push_back(std::to_string(e));
    table.add_row(std::move(cells));
  }
  return table.to_string();
}

}  // namespace fib::report
