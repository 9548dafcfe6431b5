// SPDX-License-Identifier: Apache-2.0
#include "attention/registry.h"

#include <algorithm>
#include <stdexcept>

#include "base/nearest.h"
#include "patterns/grid.h"
#include "patterns/options.h"

namespace fib::attention {
namespace {

double all_pairs(const Geometry& g) {
  return static_cast<double>(g.heads) * static_cast<double>(g.query_tokens()) * static_cast<double>(g.key_tokens());
}

/// Pairs that each cost d for the score and e for the value.
Cost cost_of_pairs(const Geometry& g, int64_t pairs, int64_t patch_pairs, double pruning_ratio) {
  Cost c;
  c.pairs = pairs;
  c.patch_pairs = patch_pairs;
  c.pruning_ratio = pruning_ratio;
  c.pruning_ratio_with_cls = 1.0 - static_cast<double>(pairs) / all_pairs(g);
  c.score_macs = all_pairs(g) * (1.0 - pruning_ratio) * static_cast<double>(g.head_dim);
  c.value_macs = all_pairs(g) * (1.0 - pruning_ratio) * static_cast<double>(g.value_dim);
  c.executed_macs = static_cast<double>(pairs * (g.head_dim + g.value_dim));
  return c;
}

/// Where every query has `keys` of them.
Cost cost_of_keys(const Geometry& g, int64_t keys, double pruning_ratio) {
  return cost_of_pairs(g, g.heads * g.query_tokens() * keys, g.heads * g.query_grid.tokens() * keys, pruning_ratio);
}

// ---- Support sets: a row of patterns/ is all that one needs ---------------------------------------------------------

const char* const kMaskingKey = "masking";

Cost support_cost(const AttentionSpec& spec, const Geometry& g) {
  const SupportSet support = layer_support(spec, g);
  Cost c = cost_of_pairs(g, support.pairs(), support.patch_pairs(), support.pruning_ratio());
  // Every key and value is added to its tile's mean once.
  if (support.summaries())
    c.executed_macs += static_cast<double>(g.heads * support.patches() * (g.head_dim + g.value_dim));
  return c;
}

bool choice_given(const AttentionSpec& spec, const std::string& key) {
  return std::any_of(spec.options.begin(), spec.options.end(),
                     [&](const auto& o) { return o.first == key && o.second != "none"; });
}

std::string support_bias_refusal(const AttentionSpec& spec) {
  return masking_of(spec) == Masking::zero ? "excluded pairs would lose theirs" : "";
}

MechanismInfo support_set(const PatternInfo& pattern) {
  MechanismInfo m{pattern};
  m.options.push_back(masking_option());
  m.support_set = true;
  m.cost = support_cost;
  m.bias_refusal = support_bias_refusal;
  return m;
}

// ---- The others -----------------------------------------------------------------------------------------------------

Cost full_cost(const AttentionSpec&, const Geometry& g) {
  return cost_of_pairs(g, static_cast<int64_t>(all_pairs(g)), g.heads * g.query_grid.tokens() * g.key_grid.tokens(),
                       0.0);
}

const char* const kPathKey = "path";

bool full_holds_all_scores(const AttentionSpec& spec, bool) { return choice_option(spec, kPathKey) == "products"; }

/// As a mechanism, full is dense matrix products and not a support set with all pairs.
MechanismInfo full() {
  MechanismInfo m{
      {"full",
       "every token sees every token",
       {{kPathKey, "tiles", "tiles: scores stay in the cache; products: whole, by LibTorch", {"tiles", "products"}}}}};
  m.dense = true;
  m.cost = full_cost;
  m.holds_all_scores = full_holds_all_scores;
  return m;
}

/// Which keys are the largest is known only once all scores are: top-k saves nothing there.
Cost topk_cost(const AttentionSpec& spec, const Geometry& g) {
  const int64_t k = std::min(integer_option(spec, "k", 1, g.key_grid.tokens()), g.key_tokens());
  Cost c = cost_of_keys(g, k, 1.0 - static_cast<double>(k) / static_cast<double>(g.key_tokens()));
  c.score_macs = all_pairs(g) * static_cast<double>(g.head_dim);
  c.executed_macs = c.score_macs + c.value_macs;
  return c;
}

MechanismInfo topk() {
  MechanismInfo m{
      {"topk", "each query keeps the k keys with the largest scores", {{"k", "3", "keys per query", {}, true}}}};
  m.cost = topk_cost;
  m.holds_all_scores = [](const AttentionSpec&, bool training) { return training; };
  return m;
}

/// Projecting keys and values from Tk tokens to k is counted as executed, not in the paper's way.
Cost linformer_cost(const AttentionSpec& spec, const Geometry& g) {
  const int64_t k = integer_option(spec, "k", 1, g.key_grid.tokens());
  const int64_t pairs = g.heads * g.query_tokens() * k;
  Cost c = cost_of_keys(g, k, 1.0 - static_cast<double>(k) / static_cast<double>(g.key_grid.tokens()));
  c.score_macs = static_cast<double>(pairs * g.head_dim);
  c.value_macs = static_cast<double>(pairs * g.value_dim);
  c.executed_macs += static_cast<double>(g.heads * k * g.key_tokens() * (g.head_dim + g.value_dim));
  c.parameters = 2 * k * g.key_tokens();
  return c;
}

MechanismInfo linformer() {
  MechanismInfo m{
      {"linformer", "keys and values are projected from T tokens to k", {{"k", "4", "projected tokens", {}, true}}}};
  m.composed = true;
  m.cost = linformer_cost;
  m.bias_refusal = [](const AttentionSpec&) { return std::string("its projected keys are mixtures of all tokens"); };
  m.map_refusal = "mixes keys with learned factors of either sign";
  return m;
}

int64_t efficient_dim(const AttentionSpec& spec, const Geometry& g) {
  const int64_t dim = integer_option(spec, "dim", 0, g.key_grid.tokens());
  return dim == 0 ? g.head_dim : dim;
}

/// Its two products, kᵀv and q(kᵀv), stand where others have scores and values; the ratio is the one of the paper's
/// table, N d / T² of the pairs.
Cost efficient_cost(const AttentionSpec& spec, const Geometry& g) {
  const int64_t dim = efficient_dim(spec, g);
  const double tokens = static_cast<double>(g.query_tokens()) * static_cast<double>(g.key_tokens());
  Cost c = cost_of_keys(g, dim, 1.0 - static_cast<double>(g.key_grid.tokens() * dim) / tokens);
  c.score_macs = static_cast<double>(g.heads * g.key_tokens() * dim * g.value_dim);
  c.value_macs = static_cast<double>(g.heads * g.query_tokens() * dim * g.value_dim);
  c.executed_macs = c.score_macs + c.value_macs;
  return c;
}

MechanismInfo efficient() {
  MechanismInfo m{{"efficient",
                   "softmax over the channels of q and the tokens of k, then q(kᵀv)",
                   {{"dim", "4", "channels of q and k per head; 0: those of the model", {}, true}}}};
  m.composed = true;
  m.cost = efficient_cost;
  m.query_key_dim = efficient_dim;
  m.bias_refusal = [](const AttentionSpec&) { return std::string("it forms no score per pair"); };
  return m;
}

/// One that has the name of a pattern is listed in its place.
std::vector<MechanismInfo> all_mechanisms() {
  std::vector<MechanismInfo> list;
  for (const PatternInfo& pattern : pattern_registry()) list.push_back(support_set(pattern));
  for (const MechanismInfo& m : {full(), topk(), linformer(), efficient()}) {
    const auto same = std::find_if(list.begin(), list.end(), [&](const MechanismInfo& o) { return o.name == m.name; });
    if (same != list.end()) {
      *same = m;
    } else {
      list.push_back(m);
    }
  }
  return list;
}

}  // namespace

PatternOption masking_option() {
  return {kMaskingKey,
          "exclude",
          "exclude: pairs outside have score -inf; zero: score 0, as the published code does",
          {"exclude", "zero"}};
}

std::vector<PatternOption> shared_options() {
  std::vector<PatternOption> options = grid_options();
  options.push_back(masking_option());
  return options;
}

const std::vector<MechanismInfo>& mechanisms() {
  static const std::vector<MechanismInfo> list = all_mechanisms();
  return list;
}

const MechanismInfo& find_mechanism(const std::string& name) {
  return find_named(mechanisms(), "attention", name, &MechanismInfo::name);
}

void check_spec(const AttentionSpec& spec) { OptionValues(find_mechanism(spec.name), spec, 1).check_words(); }

void require_pattern(const AttentionSpec& spec) {
  const std::vector<PatternInfo>& patterns = pattern_registry();
  const auto same = [&](const PatternInfo& p) { return p.name == spec.name; };
  if (std::any_of(patterns.begin(), patterns.end(), same)) return;
  const MechanismInfo& m = find_mechanism(spec.name);
  throw std::invalid_argument(m.name + " is not a support set (" + m.summary +
                              "): which pairs it keeps does not follow from positions; fib attentions lists all");
}

int64_t integer_option(const AttentionSpec& spec, const std::string& key, int64_t least, int64_t tokens) {
  return OptionValues(find_mechanism(spec.name), spec, tokens).integer(key, least);
}

std::string choice_option(const AttentionSpec& spec, const std::string& key) {
  return OptionValues(find_mechanism(spec.name), spec, 1).choice(key);
}

Masking masking_of(const AttentionSpec& spec) {
  return choice_option(spec, kMaskingKey) == "zero" ? Masking::zero : Masking::exclude;
}

void check_fit(const AttentionSpec& spec, const Geometry& geometry) {
  check_spec(spec);
  const MechanismInfo& m = find_mechanism(spec.name);
  if (m.support_set && masking_of(spec) == Masking::zero && choice_given(spec, "summaries"))
    throw std::invalid_argument(spec.to_string() + ": summaries are refused together with masking zero");
  const std::string reason = geometry.bias && m.bias_refusal != nullptr ? m.bias_refusal(spec) : "";
  if (reason.empty()) return;
  throw std::invalid_argument(spec.to_string() + " does not fit layers whose scores have a bias for each pair " +
                              "(relative positions, shifted windows): " + reason);
}

int64_t query_key_dim(const AttentionSpec& spec, const Geometry& geometry) {
  const MechanismInfo& m = find_mechanism(spec.name);
  return m.query_key_dim != nullptr ? m.query_key_dim(spec, geometry) : geometry.head_dim;
}

Cost cost(const AttentionSpec& spec, const Geometry& geometry) {
  check_spec(spec);
  return find_mechanism(spec.name).cost(spec, geometry);
}

bool same_pairs_in_every_layer(const AttentionSpec& spec) {
  return std::find(spec.options.begin(), spec.options.end(), std::pair<std::string, std::string>("heads", "same")) ==
         spec.options.end();
}

}  // namespace fib::attention
