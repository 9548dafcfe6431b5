// SPDX-License-Identifier: Apache-2.0
// What `fib pattern` says about a support set, as a table and as JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "attention/equal_pairs.h"
#include "fibottention/pattern.h"
#include "patterns/desiderata.h"

namespace fib::report {

/// Upper bounds of the pairs of fibottention and fibottention-modified.
struct PatternBounds {
  double theorem = 0;     ///< Theorem 1, or the same for the modified array
  double any_window = 0;  ///< with wmax replaced by N
  double lemma = 0;       ///< Lemma 2 for every head with its own a, b and w, summed
};

/// Only where every row begins within its window (b_i <= w_i) and wmax <= N, as the proofs assume.
std::optional<PatternBounds> pattern_bounds(const AttentionSpec& spec, const SupportSet& support);

/// "longformer:w=1 has 7,032 pairs, fibottention 9,192": as every command says it where pairs are matched.
std::string equal_pairs_text(const attention::EqualPairs& matched, const std::string& target);

/// A support with what the paper wants of it.
struct PatternSummary {
  const AttentionSpec& spec;
  const SupportSet& support;
  std::optional<Desiderata> desiderata;
  std::optional<Reach> reach;
  std::optional<attention::EqualPairs> matched = std::nullopt;  ///< where its pairs were set to those of another
};

/// Of what outlives it. `support_of` makes the support of a layer, of which there are `layers`.
PatternSummary summarize_pattern(const AttentionSpec& spec, const SupportSet& support,
                                 const std::function<SupportSet(int64_t layer)>& support_of, int64_t layers);

nlohmann::ordered_json pattern_json(const PatternSummary& summary);
/// A table of the heads, and the totals below it.
std::string pattern_text(const PatternSummary& summary);

// ---- The upper left corner of the Wythoff array, for fib pattern --array

struct WythoffTable {
  bool modified;
  std::vector<std::vector<int64_t>> rows;

  nlohmann::ordered_json to_json() const;
  std::string to_string() const;
};

/// `size` is ROWSxCOLS; throws std::invalid_argument when it is not, or too large.
WythoffTable wythoff_table(const std::string& size, bool modified);

}  // namespace fib::report
