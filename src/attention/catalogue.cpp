// SPDX-License-Identifier: Apache-2.0
#include "attention/catalogue.h"

#include <stdexcept>

#include "base/nearest.h"
#include "patterns/options.h"

namespace fib::attention {
namespace {

const char* const kMaskingKey = "masking";

Entry support_entry(const PatternInfo& pattern) {
  Entry entry{pattern, Family::support};
  entry.info.options.push_back(masking_option());
  return entry;
}

/// As a mechanism, full is dense matrix products and not a support set with all pairs.
Entry full_entry(const PatternInfo& pattern) {
  Entry entry{pattern, Family::dense};
  entry.info.options.push_back(
      {"path", "tiles", "without gradients, tiles: scores stay in the cache; products: whole"});
  return entry;
}

std::vector<Entry> special_entries() {
  return {
      {{"topk", "each query keeps the k keys with the largest scores", {{"k", "3", "keys per query"}}}, Family::topk},
      {{"linformer", "keys and values are projected from T tokens to k", {{"k", "4", "projected tokens"}}},
       Family::linformer},
      {{"efficient",
        "softmax over the channels of q and the tokens of k, then q(kᵀv)",
        {{"dim", "4", "channels of q and k per head; 0: those of the model"}}},
       Family::efficient},
  };
}

}  // namespace

PatternOption masking_option() {
  return {kMaskingKey, "exclude", "exclude: pairs outside have score -inf; zero: score 0, as the published code does"};
}

const std::vector<Entry>& catalogue() {
  static const std::vector<Entry> entries = [] {
    std::vector<Entry> list;
    for (const PatternInfo& pattern : pattern_registry()) {
      list.push_back(pattern.name == "full" ? full_entry(pattern) : support_entry(pattern));
    }
    for (Entry& entry : special_entries()) list.push_back(std::move(entry));
    return list;
  }();
  return entries;
}

const Entry& find_entry(const std::string& name) {
  std::vector<std::string> names;
  for (const Entry& entry : catalogue()) {
    if (entry.info.name == name) return entry;
    names.push_back(entry.info.name);
  }
  throw std::invalid_argument(unknown_name("attention", name, names));
}

void check_spec(const AttentionSpec& spec) { OptionValues(find_entry(spec.name).info, spec, 1); }

int64_t integer_option(const AttentionSpec& spec, const std::string& key, int64_t least, int64_t tokens) {
  return OptionValues(find_entry(spec.name).info, spec, tokens).integer(key, least);
}

std::string choice_option(const AttentionSpec& spec, const std::string& key, const std::vector<std::string>& accepted) {
  return OptionValues(find_entry(spec.name).info, spec, 1).choice(key, accepted);
}

Masking masking_of(const AttentionSpec& spec) {
  return choice_option(spec, kMaskingKey, {"exclude", "zero"}) == "zero" ? Masking::zero : Masking::exclude;
}

void check_fit(const AttentionSpec& spec, const Geometry& geometry) {
  check_spec(spec);
  if (!geometry.bias) return;
  const auto refuse = [&](const std::string& reason) {
    throw std::invalid_argument(spec.to_string() + " does not fit layers whose scores have a bias for each pair " +
                                "(relative positions, shifted windows): " + reason);
  };
  const Family family = find_entry(spec.name).family;
  if (family == Family::linformer) refuse("its projected keys are mixtures of all tokens");
  if (family == Family::efficient) refuse("it forms no score per pair");
  if (family == Family::support && masking_of(spec) == Masking::zero) refuse("excluded pairs would lose theirs");
}

int64_t query_key_dim(const AttentionSpec& spec, const Geometry& geometry) {
  if (find_entry(spec.name).family != Family::efficient) return geometry.head_dim;
  const int64_t dim = integer_option(spec, "dim", 0, geometry.key_grid.tokens());
  return dim == 0 ? geometry.head_dim : dim;
}

}  // namespace fib::attention
