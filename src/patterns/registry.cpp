// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>
#include <string>

#include "base/nearest.h"
#include "patterns/makers.h"

namespace fib {
namespace {

struct Row {
  PatternInfo info;
  HeadMaker make;
};

std::vector<Row> build_rows() {
  const PatternOption wmin{"wmin", "min(5, wmax)", "window of the first head"};
  const PatternOption wmax{"wmax", "N/3", "window of the last head"};
  const PatternOption permute{"permute", "published", "published: heads change places per layer; none: never"};
  const PatternOption seed{"seed", "0", "draws the random pairs, per layer and head"};
  const PatternOption third{"w", "N/3", "window of every head"};
  const PatternOption dilation{"c", "2", "distance between neighbouring offsets"};
  return {
      {{"full", "every token sees every token", {}}, make_full},
      {{"fibottention", "head i: row i of the Wythoff array, windows growing from wmin to wmax", {wmin, wmax, permute}},
       rows_of(wythoff_row)},
      {{"fibottention-modified", "the same rows begun two elements earlier, so more local", {wmin, wmax, permute}},
       rows_of(modified_wythoff_row)},
      {{"local",
        "sliding window: all keys at most w away",
        {{"w", "2", "half-width of the window"}, {"diagonal", "false", "true: a token also sees itself"}}},
       make_local},
      {{"longformer", "sliding window with diagonal, class token global", {{"w", "1", "half-width of the window"}}},
       make_longformer},
      {{"bigbird",
        "longformer and random pairs",
        {{"w", "1", "half-width of the window"}, {"random", "N", "random pairs per head"}, seed}},
       make_bigbird},
      {{"sparse-transformer",
        "strided: heads 1, 3, … neighbours, heads 2, 4, … every stride-th key; with diagonal",
        {{"stride", "N/3", "distance between the keys of a strided head"}}},
       make_sparse_transformer},
      {{"random", "random pairs alone", {{"ratio", "0.9852", "share of the N x N pairs that is pruned"}, seed}},
       make_random},
      {{"dilation", "multiples of c, the same for all heads", {dilation, third}}, make_dilation},
      {{"dilation-varying",
        "multiples of c, head i in the window step x i",
        {dilation, {"step", "5", "how much a head's window exceeds the one before"}}},
       make_dilation_varying},
      {{"powers-of-2", "offsets 1, 2, 4, 8, …", {third}}, all_heads(powers_of(2))},
      {{"powers-of-3", "offsets 1, 3, 9, 27, …", {third}}, all_heads(powers_of(3))},
      {{"squares", "offsets 1, 4, 9, 16, …", {third}}, all_heads(integers_to_the(2))},
      {{"cubes", "offsets 1, 8, 27, 64, …", {third}}, all_heads(integers_to_the(3))},
      {{"fib-1-1", "Fib(1, 1), the Fibonacci numbers, for all heads", {third}}, all_heads(fibonacci_sequence({1, 1}))},
      {{"fib-wmin",
        "Fib(wmin, 2 wmin) for all heads",
        {{"wmin", "min(5, wmax)", "first element"}, {"wmax", "N/3", "window of every head"}}},
       make_fib_wmin},
      {{"fib-shift",
        "head i: Fib(i + delta, i + delta), windows growing from wmin to wmax",
        {{"delta", "0", "added to the head's number"}, wmin, wmax, permute}},
       make_fib_shift},
  };
}

const std::vector<Row>& rows() {
  static const std::vector<Row> table = build_rows();
  return table;
}

const Row& find_row(const std::string& name) {
  std::vector<std::string> names;
  for (const Row& r : rows()) {
    if (r.info.name == name) return r;
    names.push_back(r.info.name);
  }
  throw std::invalid_argument(unknown_name("attention", name, names));
}

void check_range(const char* what, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return;
  throw std::invalid_argument(std::string(what) + " must be " + std::to_string(least) + " to " + std::to_string(most) +
                              ", got " + std::to_string(value));
}

void check_geometry(const PatternGeometry& g) {
  check_range("tokens", g.patches, 1, kMaxTokens);
  check_range("cls", g.cls, 0, kMaxClassTokens);
  check_range("heads", g.heads, 1, kMaxHeads);
  if (g.layer) check_range("layer", *g.layer, 0, kMaxTokens);
}

std::vector<HeadPattern> permuted(std::vector<HeadPattern> heads, int64_t layer) {
  std::vector<HeadPattern> result;
  for (int64_t row : published_permutation(static_cast<int64_t>(heads.size()), layer)) {
    result.push_back(std::move(heads[static_cast<size_t>(row)]));
  }
  return result;
}

}  // namespace

const std::vector<PatternInfo>& pattern_registry() {
  static const std::vector<PatternInfo> infos = [] {
    std::vector<PatternInfo> list;
    for (const Row& r : rows()) list.push_back(r.info);
    return list;
  }();
  return infos;
}

SupportSet make_support(const AttentionSpec& spec, const PatternGeometry& geometry) {
  const Row& row = find_row(spec.name);
  check_geometry(geometry);
  const OptionValues options(row.info, spec, geometry.patches);
  std::vector<HeadPattern> heads = row.make(options, geometry);
  const bool permute = options.has("permute") && options.choice("permute", {"published", "none"}) == "published";
  if (permute && geometry.layer) heads = permuted(std::move(heads), *geometry.layer);
  return SupportSet(geometry.patches, geometry.cls, std::move(heads), geometry.causal);
}

}  // namespace fib
