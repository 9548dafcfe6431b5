// SPDX-License-Identifier: Apache-2.0
#include "sequences/causal.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "attention/registry.h"
#include "base/text.h"

namespace fib::sequences {
namespace {

[[noreturn]] void refuse(const AttentionSpec& spec, const std::string& reason) {
  throw std::invalid_argument("attention " + spec.to_string() + " cannot be causal: " + reason +
                              "; accepted are full and mechanisms that look at distances alone, such as fibottention, "
                              "fibottention-modified, local, longformer and sparse-transformer");
}

std::vector<int64_t> distances_of(const SupportSet::Head& head) {
  std::vector<int64_t> distances;
  if (head.diagonal) distances.push_back(0);
  distances.insert(distances.end(), head.offsets.begin(), head.offsets.end());
  return distances;
}

/// Of T queries, those that have a key at this distance.
int64_t queries_at(int64_t distance, int64_t tokens) { return std::max<int64_t>(0, tokens - distance); }

/// Why keys and values of earlier tokens are not all that a step needs.
std::string reason_against(const attention::MechanismInfo& mechanism) {
  return mechanism.composed ? "what a token sees of others is mixed over all tokens, later ones too"
                            : "which keys a token sees is known only once all scores are, so that a step reads all";
}

void check_mechanism(const AttentionSpec& spec) {
  const attention::MechanismInfo& mechanism = attention::find_mechanism(spec.name);
  attention::check_spec(spec);
  if (!mechanism.support_set) refuse(spec, reason_against(mechanism));
  if (attention::masking_of(spec) == Masking::zero) refuse(spec, "masking=zero weighs tokens that are still to come");
}

/// A mechanism's own options, and those that all have here.
struct CausalSpec {
  AttentionSpec own;
  int64_t local = 0, stretch = 0;
};

int64_t count_of(const std::string& key, const std::string& text) {
  constexpr int64_t kMost = 1 << 20;
  const auto value = parse_number<int64_t>(text);
  if (!value || *value < 0 || *value > kMost)
    throw std::invalid_argument("option " + key + ": received " + in_quotes(text) + ", accepted an integer from 0 to " +
                                std::to_string(kMost));
  return *value;
}

CausalSpec divided(const AttentionSpec& spec) {
  CausalSpec result{{spec.name, {}}};
  for (const auto& [key, value] : spec.options) {
    if (key == "local") {
      result.local = count_of(key, value);
    } else if (key == "stretch") {
      result.stretch = count_of(key, value);
    } else {
      result.own.options.emplace_back(key, value);
    }
  }
  return result;
}

void stretch_distances(std::vector<int64_t>& distances, int64_t factor, int64_t context) {
  std::erase_if(distances, [&](int64_t distance) { return distance > (context - 1) / factor; });
  for (int64_t& distance : distances) distance *= factor;
}

void add_window(std::vector<int64_t>& distances, int64_t local, int64_t context) {
  for (int64_t distance = 0; distance <= std::min(local, context - 1); ++distance) distances.push_back(distance);
  std::ranges::sort(distances);
  distances.erase(std::unique(distances.begin(), distances.end()), distances.end());
}

}  // namespace

int64_t CausalLayer::rows(int64_t context) const {
  if (everything) return context;
  int64_t farthest = 0;
  for (const auto& head : distances) farthest = std::max(farthest, head.empty() ? 0 : head.back());
  return farthest + 1;
}

int64_t CausalLayer::pairs(int64_t tokens) const {
  if (everything) return heads * (tokens * (tokens + 1) / 2);
  int64_t sum = 0;
  for (const auto& head : distances)
    for (const int64_t distance : head) sum += queries_at(distance, tokens);
  return sum;
}

double CausalLayer::pruning_ratio(int64_t tokens) const {
  const double all = static_cast<double>(heads) * static_cast<double>(tokens) * static_cast<double>(tokens + 1) / 2;
  return 1 - static_cast<double>(pairs(tokens)) / all;
}

SupportSet CausalLayer::support(int64_t tokens) const {
  std::vector<HeadPattern> patterns(static_cast<size_t>(heads));
  for (size_t h = 0; h < patterns.size(); ++h) {
    HeadPattern& pattern = patterns[h];
    if (everything) {
      pattern.offsets.resize(static_cast<size_t>(tokens - 1));
      std::iota(pattern.offsets.begin(), pattern.offsets.end(), 1);
      pattern.diagonal = true;
      continue;
    }
    for (const int64_t distance : distances[h]) {
      if (distance == 0) pattern.diagonal = true;
      if (distance > 0 && distance < tokens) pattern.offsets.push_back(distance);
    }
    pattern.window = pattern.offsets.empty() ? 0 : pattern.offsets.back();
  }
  return {tokens, 0, std::move(patterns), true};
}

CausalLayer causal_layer(const AttentionSpec& asked, const CausalGeometry& geometry) {
  const CausalSpec spec = divided(asked);
  CausalLayer layer;
  layer.heads = geometry.heads;
  if (attention::find_mechanism(spec.own.name).dense) {
    attention::check_spec(spec.own);
    layer.everything = true;
    return layer;
  }
  check_mechanism(spec.own);
  const SupportSet support = make_support(
      attention::pattern_spec(spec.own),
      {.patches = geometry.context, .cls = 0, .heads = geometry.heads, .layer = geometry.layer, .causal = true});
  for (int64_t h = 0; h < geometry.heads; ++h) {
    const SupportSet::Head& head = support.head(h);
    if (!head.pairs.empty() || !head.neighbors.empty())
      refuse(asked, "some of its pairs belong to places of a sequence and not to distances");
    std::vector<int64_t> distances = distances_of(head);
    stretch_distances(distances, 1 + spec.stretch * geometry.layer, geometry.context);
    if (spec.local > 0) add_window(distances, spec.local, geometry.context);
    layer.distances.push_back(std::move(distances));
  }
  return layer;
}

}  // namespace fib::sequences
