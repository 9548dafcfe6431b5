// SPDX-License-Identifier: Apache-2.0
// What `fib pattern` says about a support set, for machines and for people.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "fibottention/pattern.h"

namespace fib::report {

/// Theorem 1's bound in pairs: for fibottention alone, and only where every row begins within its window
/// (b_i <= w_i) and wmax <= N, as the proof assumes.
std::optional<double> pattern_bound(const AttentionSpec& spec, const SupportSet& support);

nlohmann::ordered_json pattern_json(const AttentionSpec& spec, const SupportSet& support);
/// A table of the heads, and the totals below it.
std::string pattern_text(const AttentionSpec& spec, const SupportSet& support);

}  // namespace fib::report
