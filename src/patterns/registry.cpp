// SPDX-License-Identifier: Apache-2.0
// Every support set by name: how its heads are made, then the table that gives each its name, options and defaults.
#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/nearest.h"
#include "base/text.h"
#include "fibottention/pattern.h"
#include "patterns/grid.h"
#include "patterns/measured_offsets.h"
#include "patterns/options.h"
#include "patterns/random_pairs.h"
#include "patterns/sequences.h"
#include "patterns/support_size.h"

namespace fib {
namespace {

using HeadMaker = std::function<std::vector<HeadPattern>(const OptionValues&, const PatternGeometry&)>;

/// Offsets and pairs are listed in memory, eight bytes each: at most a gibibyte of them.
constexpr double kMaxListed = 134217728.0;

/// Keeps these draws apart from other uses of the same seed.
constexpr uint64_t kPairStream = 1;

void check_listed(double per_head, const PatternGeometry& g, const char* what) {
  const double total = per_head * static_cast<double>(g.heads);
  if (total <= kMaxListed) return;
  throw std::invalid_argument("this support would list " + std::to_string(static_cast<int64_t>(per_head)) + " " + what +
                              " in each of " + std::to_string(g.heads) + " heads over " + std::to_string(g.patches) +
                              " tokens; at most " + std::to_string(static_cast<int64_t>(kMaxListed)) + " in all");
}

std::vector<HeadPattern> same_heads(const PatternGeometry& g, const HeadPattern& head) {
  return std::vector<HeadPattern>(static_cast<size_t>(g.heads), head);
}

/// What either of two heads sees; neither has explicit pairs.
HeadPattern merged(const HeadPattern& x, const HeadPattern& y) {
  HeadPattern result{std::max(x.window, y.window), {}, x.diagonal || y.diagonal, {}};
  std::set_union(x.offsets.begin(), x.offsets.end(), y.offsets.begin(), y.offsets.end(),
                 std::back_inserter(result.offsets));
  return result;
}

/// Multiples of a step within a window; these are the sequences that can be long.
std::vector<int64_t> multiples_within(int64_t step, int64_t window, const PatternGeometry& g) {
  const int64_t reach = std::min(window, g.patches - 1);
  const int64_t count = reach / step;
  check_listed(static_cast<double>(count), g, "offsets");
  return windowed_offsets(multiples_of(step), window, g.patches);
}

HeadPattern window_head(int64_t window, bool diagonal, const PatternGeometry& g) {
  return {window, multiples_within(1, window, g), diagonal, {}};
}

/// Whether `heads=same`: one mask for all heads, which is what the paper says of its baselines.
bool shares_one_mask(const OptionValues& o) { return o.choice("heads") == "same"; }

std::vector<HeadPattern> with_random_pairs(const HeadPattern& head, int64_t count, const OptionValues& o,
                                           const PatternGeometry& g) {
  check_listed(static_cast<double>(count), g, "random pairs");
  const auto seed = static_cast<uint64_t>(o.integer("seed", 0)), layer = static_cast<uint64_t>(g.layer.value_or(0));
  const auto drawn = [&](uint64_t h) {
    CounterRng rng(seed, {kPairStream, layer, h});
    HeadPattern result = head;
    add_random_pairs(result, count, g, rng);
    return result;
  };
  if (shares_one_mask(o)) return same_heads(g, drawn(0));
  std::vector<HeadPattern> heads;
  for (uint64_t h = 0; h < static_cast<uint64_t>(g.heads); ++h) heads.push_back(drawn(h));
  return heads;
}

/// Head i uses the sequence that `start_of` gives it, in windows from wmin to wmax.
template <class StartOf>
std::vector<HeadPattern> spread_heads(const OptionValues& o, const PatternGeometry& g, StartOf start_of) {
  const int64_t wmin = o.integer("wmin"), wmax = o.integer("wmax");
  std::vector<HeadPattern> heads;
  for (int64_t i = 1; i <= g.heads; ++i) {
    const int64_t window = head_window(i, g.heads, wmin, wmax);
    heads.push_back({window, windowed_offsets(fibonacci_sequence(start_of(i)), window, g.patches), false, {}});
  }
  return heads;
}

std::vector<HeadPattern> make_full(const OptionValues&, const PatternGeometry& g) {
  return same_heads(g, window_head(g.patches, true, g));
}

std::vector<HeadPattern> make_local(const OptionValues& o, const PatternGeometry& g) {
  return same_heads(g, window_head(o.integer("w"), o.flag("diagonal"), g));
}

/// w keys to each side, `dilation` apart.
std::vector<HeadPattern> make_longformer(const OptionValues& o, const PatternGeometry& g) {
  const int64_t w = o.integer("w"), dilation = o.integer("dilation");
  const int64_t window = dilation > kMaxTokens / w ? kMaxTokens : w * dilation;
  return same_heads(g, {window, multiples_within(dilation, window, g), true, {}});
}

std::vector<HeadPattern> make_bigbird(const OptionValues& o, const PatternGeometry& g) {
  return with_random_pairs(window_head(o.integer("w"), true, g), o.integer("random", 0), o, g);
}

/// The two parts of the strided scheme in turn, head by head, or merged into one mask.
std::vector<HeadPattern> make_sparse_transformer(const OptionValues& o, const PatternGeometry& g) {
  const HeadPattern local = window_head(1, true, g);
  const HeadPattern strided{g.patches, multiples_within(o.integer("stride"), g.patches, g), true, {}};
  if (shares_one_mask(o)) return same_heads(g, merged(local, strided));
  std::vector<HeadPattern> heads = same_heads(g, local);
  for (size_t h = 1; h < heads.size(); h += 2) heads[h] = strided;
  return heads;
}

std::vector<HeadPattern> make_random(const OptionValues& o, const PatternGeometry& g) {
  const double n = static_cast<double>(g.patches);
  const double count = std::round((1.0 - o.ratio("ratio")) * n * n);
  check_listed(count, g, "random pairs");
  return with_random_pairs({g.patches, {}, false, {}}, static_cast<int64_t>(count), o, g);
}

std::vector<HeadPattern> make_dilation(const OptionValues& o, const PatternGeometry& g) {
  const int64_t window = o.integer("w");
  return same_heads(g, {window, multiples_within(o.integer("c"), window, g), false, {}});
}

// The paper's figure (a) gives c = 2 over 196 tokens and 12 heads: 72.8 % pruned when fixed, 85.5 % when varying. All
// heads with w = N/3, against head i with w_i = 5i, gives exactly these; shifting the offsets themselves does not.
std::vector<HeadPattern> make_dilation_varying(const OptionValues& o, const PatternGeometry& g) {
  const int64_t c = o.integer("c"), step = o.integer("step");
  std::vector<HeadPattern> heads;
  for (int64_t i = 1; i <= g.heads; ++i) {
    heads.push_back({i * step, multiples_within(c, i * step, g), false, {}});
  }
  return heads;
}

std::vector<HeadPattern> make_fib_wmin(const OptionValues& o, const PatternGeometry& g) {
  const int64_t wmin = o.integer("wmin"), wmax = o.integer("wmax");
  const int64_t window = head_window(g.heads, g.heads, wmin, wmax);
  return same_heads(g, {window, windowed_offsets(fibonacci_sequence({wmin, 2 * wmin}), window, g.patches), false, {}});
}

std::vector<HeadPattern> make_fib_shift(const OptionValues& o, const PatternGeometry& g) {
  const int64_t delta = o.integer("delta", 0);
  return spread_heads(o, g, [delta](int64_t i) { return SequenceStart{i + delta, i + delta}; });
}

/// The offsets of a head as distances from the secondary diagonal: query r meets the keys N - 1 - r ± offset.
void cross_diagonal(HeadPattern& head, const PatternGeometry& g) {
  check_listed(2.0 * static_cast<double>(head.offsets.size()) * static_cast<double>(g.patches), g, "pairs");
  for (int64_t offset : std::exchange(head.offsets, {})) {
    for (int64_t r = 0; r < g.patches; ++r) {
      for (int64_t key : {g.patches - 1 - r + offset, g.patches - 1 - r - offset}) {
        if (key < 0 || key >= g.patches) continue;
        head.pairs.push_back({static_cast<int32_t>(g.cls + r), static_cast<int32_t>(g.cls + key)});
      }
    }
  }
}

/// Head i uses row i of an array of Fibonacci sequences.
HeadMaker rows_of(SequenceStart (*row)(int64_t)) {
  return [row](const OptionValues& o, const PatternGeometry& g) {
    std::vector<HeadPattern> heads = spread_heads(o, g, row);
    if (o.choice("bands") == "cross")
      for (HeadPattern& head : heads) cross_diagonal(head, g);
    return heads;
  };
}

/// All heads use one sequence, in the window w.
HeadMaker all_heads(DilationSequence sequence) {
  return [sequence](const OptionValues& o, const PatternGeometry& g) {
    const int64_t window = o.integer("w");
    return same_heads(g, {window, windowed_offsets(sequence, window, g.patches), false, {}});
  };
}

/// What a head lists, at most.
struct Listed {
  double offsets = 0, pairs = 0;
};

/// Elements of a sequence that grows at least as fast as the squares.
double sparse_elements(const PatternGeometry& g) { return std::sqrt(static_cast<double>(g.patches)) + 1; }

Listed list_sparse(const OptionValues& /*o*/, const PatternGeometry& g) { return {sparse_elements(g), 0}; }

/// Elements of a window that lie `step` apart.
Listed list_window(int64_t window, int64_t step, const PatternGeometry& g) {
  return {static_cast<double>(std::min(window, g.patches)) / static_cast<double>(step), 0};
}

Listed list_all(const OptionValues& /*o*/, const PatternGeometry& g) { return list_window(g.patches, 1, g); }

Listed list_rows(const OptionValues& o, const PatternGeometry& g) {
  const double offsets = sparse_elements(g);
  if (o.choice("bands") != "cross") return {offsets, 0};
  return {0, 2 * offsets * static_cast<double>(g.patches)};
}

Listed list_bigbird(const OptionValues& o, const PatternGeometry& g) {
  return {list_window(o.integer("w"), 1, g).offsets, static_cast<double>(o.integer("random", 0))};
}

Listed list_random(const OptionValues& o, const PatternGeometry& g) {
  const double n = static_cast<double>(g.patches);
  return {0, std::round((1.0 - o.ratio("ratio")) * n * n)};
}

/// The layer of a file of fib fit, which must be of such a model.
MeasuredOffsets::Layer measured_layer(const std::string& file, const PatternGeometry& g) {
  MeasuredOffsets measured = read_measured_offsets(file);
  const auto require = [&](const char* what, int64_t has, int64_t wanted) {
    if (has == wanted) return;
    throw std::invalid_argument("'" + printable(file, kLongestQuote) + "' has offsets for " + std::to_string(has) +
                                " " + what + ", the model has " + std::to_string(wanted));
  };
  const auto layer = g.layer.value_or(0), layers = static_cast<int64_t>(measured.layers.size());
  require("layers", layers, std::max(layers, layer + 1));
  MeasuredOffsets::Layer found = std::move(measured.layers[static_cast<size_t>(layer)]);
  if (!found.attention.empty()) return found;
  require("patches", measured.patches, g.patches);
  require("heads", static_cast<int64_t>(measured.heads), g.heads);
  return found;
}

/// Each head's own, from a file of fib fit.
std::vector<HeadPattern> make_measured(const OptionValues& o, const PatternGeometry& g) {
  const std::string file = o.text("file");
  if (file == "none") return same_heads(g, {0, {}, true, {}});
  std::vector<HeadPattern> patterns;
  for (Distances distances : measured_layer(file, g).heads) {
    const bool itself = !distances.empty() && distances.front() == 0;
    if (itself) distances.erase(distances.begin());
    const int64_t window = distances.empty() ? 0 : distances.back();
    patterns.push_back({window, std::move(distances), itself, {}});
  }
  return patterns;
}

/// What a file of measured offsets says that a layer has instead; none: offsets.
std::optional<AttentionSpec> named_in_file(const OptionValues& o, const PatternGeometry& g) {
  if (!o.has("file") || o.text("file") == "none") return std::nullopt;
  const std::string attention = measured_layer(o.text("file"), g).attention;
  if (attention.empty()) return std::nullopt;
  return AttentionSpec::parse(attention);
}

struct Pattern {
  PatternInfo info;
  HeadMaker make;
  Listed (*listed)(const OptionValues& o, const PatternGeometry& g) = list_sparse;
};

std::vector<Pattern> build_patterns() {
  const PatternOption wmin{"wmin", "min(5, wmax)", "window of the first head"};
  const PatternOption wmax{"wmax", "N/3", "window of the last head", {}, true};
  const PatternOption permute{"permute",
                              "published",
                              "published: heads change places per layer; first: all layers as the first; none: never",
                              {"published", "first", "none"}};
  const PatternOption bands{
      "bands", "main", "main: along the principal diagonal; cross: along the secondary one", {"main", "cross"}};
  const PatternOption shared{
      "heads", "own", "own: each head its row; same: all have the row of the layer's first head", {"own", "same"}};
  const PatternOption seed{"seed", "0", "draws the random pairs, in each layer anew"};
  const PatternOption draws{
      "heads", "own", "own: each head draws its own pairs; same: all heads share one draw", {"own", "same"}};
  const PatternOption third{"w", "N/3", "window of every head", {}, true};
  const PatternOption dilation{"c", "2", "distance between neighboring offsets"};
  const std::vector<PatternOption> array_options{wmin, wmax, permute, shared, bands};
  return {
      {{"full", "every token sees every token", {}}, make_full, list_all},
      {{"fibottention", "head i: row i of the Wythoff array, windows growing from wmin to wmax", array_options},
       rows_of(wythoff_row),
       list_rows},
      {{"fibottention-modified", "the same rows begun two elements earlier, so more local", array_options},
       rows_of(modified_wythoff_row),
       list_rows},
      {{"local",
        "sliding window: all keys at most w away",
        {{"w", "2", "half-width of the window", {}, true},
         {"diagonal", "false", "false: a token does not see itself; true: it does", {"false", "true"}}}},
       make_local,
       [](const OptionValues& o, const PatternGeometry& g) { return list_window(o.integer("w"), 1, g); }},
      {{"longformer",
        "sliding window with diagonal, class token global",
        {{"w", "1", "keys to each side", {}, true}, {"dilation", "1", "distance between neighboring keys"}}},
       make_longformer,
       [](const OptionValues& o, const PatternGeometry& g) { return list_window(o.integer("w"), 1, g); }},
      {{"bigbird",
        "longformer and random pairs",
        {{"w", "1", "half-width of the window"}, {"random", "N", "random pairs per head", {}, true}, seed, draws}},
       make_bigbird,
       list_bigbird},
      {{"sparse-transformer",
        "strided: heads 1, 3, … neighbors, heads 2, 4, … every stride-th key; with diagonal",
        {{"stride", "N/3", "distance between the keys of a strided head", {}, true},
         {"heads", "own", "own: the two kinds of heads take turns; same: every head sees both", {"own", "same"}}}},
       make_sparse_transformer,
       [](const OptionValues& o, const PatternGeometry& g) { return list_window(g.patches, o.integer("stride"), g); }},
      {{"random",
        "random pairs alone",
        {{"ratio", "0.9852", "share of the N x N pairs that is pruned", {}, true},
         seed,
         draws,
         {"class", "dense", "dense: class tokens meet all tokens; drawn: as any other token", {"dense", "drawn"}}}},
       make_random,
       list_random},
      {{"dilation", "multiples of c, the same for all heads", {dilation, third}},
       make_dilation,
       [](const OptionValues& o, const PatternGeometry& g) { return list_window(o.integer("w"), o.integer("c"), g); }},
      {{"dilation-varying",
        "multiples of c, head i in the window step x i",
        {dilation, {"step", "5", "how much a head's window exceeds the one before", {}, true}}},
       make_dilation_varying,
       list_all},
      {{"powers-of-2", "offsets 1, 2, 4, 8, …", {third}}, all_heads(powers_of(2))},
      {{"powers-of-3", "offsets 1, 3, 9, 27, …", {third}}, all_heads(powers_of(3))},
      {{"squares", "offsets 1, 4, 9, 16, …", {third}}, all_heads(integers_to_the(2))},
      {{"cubes", "offsets 1, 8, 27, 64, …", {third}}, all_heads(integers_to_the(3))},
      {{"fib-1-1", "Fib(1, 1), the Fibonacci numbers, for all heads", {third}}, all_heads(fibonacci_sequence({1, 1}))},
      {{"fib-wmin",
        "Fib(wmin, 2 wmin) for all heads",
        {{"wmin", "min(5, wmax)", "first element"}, {"wmax", "N/3", "window of every head", {}, true}}},
       make_fib_wmin},
      {{"fib-shift",
        "head i: Fib(i + delta, i + delta), windows growing from wmin to wmax",
        {{"delta", "0", "added to the head's number"}, wmin, wmax, permute}},
       make_fib_shift},
      {{"offsets",
        "each head of each layer its own, measured by fib fit; offsets:FILE is short for offsets:file=FILE",
        {{"file", "none", "that fib fit wrote; none: a patch sees itself and class tokens alone"}}},
       make_measured,
       list_all},
  };
}

/// All but the one that sees everything anyway may see neighbors and summaries, too.
std::vector<Pattern> patterns_on_grids() {
  std::vector<Pattern> table = build_patterns();
  for (Pattern& p : table) {
    if (p.info.name == "full") continue;
    for (PatternOption& option : grid_options()) p.info.options.push_back(std::move(option));
  }
  return table;
}

const std::vector<Pattern>& patterns() {
  static const std::vector<Pattern> table = patterns_on_grids();
  return table;
}

const Pattern& find_pattern(const std::string& name) {
  return find_named(patterns(), "attention", name, [](const Pattern& p) { return std::string_view(p.info.name); });
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

/// Class tokens count as patches.
PatternGeometry without_class_tokens(PatternGeometry g) {
  g.patches += std::exchange(g.cls, 0);
  return g;
}

/// The layer whose order the heads are in; none: that of their rows.
std::optional<int64_t> permuting_layer(const OptionValues& o, const PatternGeometry& g) {
  if (!o.has("permute") || o.choice("permute") == "none" || !g.layer) return std::nullopt;
  return o.choice("permute") == "first" ? 0 : *g.layer;
}

std::vector<HeadPattern> permuted(std::vector<HeadPattern> heads, int64_t layer) {
  std::vector<HeadPattern> result;
  for (int64_t row : published_permutation(static_cast<int64_t>(heads.size()), layer)) {
    result.push_back(std::move(heads[static_cast<size_t>(row)]));
  }
  return result;
}

/// Of the options and geometry that make_support uses.
PatternGeometry geometry_for(const OptionValues& options, const PatternGeometry& given) {
  return options.has("class") && options.choice("class") == "drawn" ? without_class_tokens(given) : given;
}

}  // namespace

const std::vector<PatternInfo>& pattern_registry() {
  static const std::vector<PatternInfo> infos = [] {
    std::vector<PatternInfo> list;
    for (const Pattern& p : patterns()) list.push_back(p.info);
    return list;
  }();
  return infos;
}

SupportSet make_support(const AttentionSpec& spec, const PatternGeometry& given) {
  const Pattern& pattern = find_pattern(spec.name);
  check_geometry(given);
  const OptionValues options(pattern.info, spec, given.patches);
  if (const auto named = named_in_file(options, given)) return make_support(*named, given);
  const PatternGeometry geometry = geometry_for(options, given);
  std::vector<HeadPattern> heads = pattern.make(options, geometry);
  if (const auto order = permuting_layer(options, geometry)) heads = permuted(std::move(heads), *order);
  if (options.has("heads") && shares_one_mask(options)) heads = same_heads(geometry, HeadPattern(heads.front()));
  add_neighbors(heads, options, geometry);
  return SupportSet(geometry.patches, geometry.cls, std::move(heads), geometry.causal, summaries_of(options, geometry));
}

SupportSize support_size_at_most(const AttentionSpec& spec, const PatternGeometry& given) {
  const Pattern& pattern = find_pattern(spec.name);
  check_geometry(given);
  const OptionValues options(pattern.info, spec, given.patches);
  if (const auto named = named_in_file(options, given)) return support_size_at_most(*named, given);
  const PatternGeometry g = geometry_for(options, given);
  const Listed head = pattern.listed(options, g);
  const double neighbors = neighbors_at_most(options, g);
  const auto summaries = summaries_of(options, g);
  const double tiles = summaries ? static_cast<double>(summaries->count()) : 0;
  const double heads = static_cast<double>(g.heads), n = static_cast<double>(g.patches),
               cls = static_cast<double>(g.cls);
  const double patch_pairs = std::min(n * n, n * (2 * head.offsets + neighbors + 1) + head.pairs);
  return {heads * (head.offsets + head.pairs + neighbors), heads * (patch_pairs + n * tiles + cls * (2 * n + cls))};
}

}  // namespace fib
