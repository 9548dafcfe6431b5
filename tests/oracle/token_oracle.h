// SPDX-License-Identifier: Apache-2.0
// The slow, obvious versions of kernels/token_reduction.h, in float64.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace fib::test {

/// The `count` places of largest value, the lower of equal ones first.
inline std::vector<bool> chosen_by(const std::vector<double>& values, int64_t count) {
  std::vector<bool> chosen(values.size());
  for (int64_t n = 0; n < count; ++n) {
    size_t best = values.size();
    for (size_t i = 0; i < values.size(); ++i) {
      if (!chosen[i] && (best == values.size() || values[i] > values[best])) best = i;
    }
    chosen[best] = true;
  }
  return chosen;
}

/// metric(token, channel) is the mean of the keys over heads.
inline std::vector<double> oracle_plan_merging(int64_t tokens, int64_t channels, int64_t merged, int64_t cls,
                                               const std::function<double(int64_t, int64_t)>& metric) {
  const auto cosine = [&](int64_t a, int64_t b) {
    double ab = 0, aa = 0, bb = 0;
    for (int64_t c = 0; c < channels; ++c)
      ab += metric(a, c) * metric(b, c), aa += metric(a, c) * metric(a, c), bb += metric(b, c) * metric(b, c);
    return ab / std::sqrt(aa * bb);
  };
  std::vector<double> best;
  std::vector<int64_t> target;
  for (int64_t s = 0; s < tokens; s += 2) {
    best.push_back(-std::numeric_limits<double>::infinity()), target.push_back(1);
    for (int64_t t = 1; s >= cls && t < tokens; t += 2) {
      if (t >= cls && cosine(s, t) > best.back()) best.back() = cosine(s, t), target.back() = t;
    }
  }
  const std::vector<bool> goes = chosen_by(best, merged);
  const auto staying = static_cast<int64_t>(best.size()) - merged;
  std::vector<double> plan(static_cast<size_t>(tokens));
  int64_t place = 0;
  for (size_t s = 0; s < goes.size(); ++s)
    plan[2 * s] = static_cast<double>(goes[s] ? staying + target[s] / 2 : place++);
  for (int64_t t = 1; t < tokens; t += 2) plan[static_cast<size_t>(t)] = static_cast<double>(staying + t / 2);
  return plan;
}

inline std::vector<double> oracle_plan_keeping(const std::vector<double>& score, int64_t kept, int64_t cls) {
  const std::vector<bool> stays = chosen_by(score, kept);
  std::vector<double> plan;
  for (int64_t i = 0; i < cls; ++i) plan.push_back(static_cast<double>(i));
  int64_t place = cls;
  for (const bool stay : stays) plan.push_back(static_cast<double>(stay ? place++ : cls + kept));
  return plan;
}

/// What the tokens are made of, as lists of first places.
inline std::vector<std::vector<int64_t>> parts_of(const std::vector<double>& owner, int64_t tokens) {
  std::vector<std::vector<int64_t>> parts(static_cast<size_t>(tokens));
  for (size_t s = 0; s < owner.size(); ++s) parts[static_cast<size_t>(owner[s])].push_back(static_cast<int64_t>(s));
  return parts;
}

/// The place of a part that is nearest to the center of all.
inline int64_t nearest_to_center(const std::vector<int64_t>& part, int64_t cls, int64_t width) {
  const auto row = [&](int64_t s) { return static_cast<double>(s < cls ? 0 : (s - cls) / width); };
  const auto column = [&](int64_t s) { return static_cast<double>(s < cls ? 0 : (s - cls) % width); };
  const auto n = static_cast<double>(part.size());
  double rows = 0, columns = 0, least = std::numeric_limits<double>::infinity();
  for (const int64_t s : part) rows += row(s), columns += column(s);
  int64_t nearest = 0;
  for (const int64_t s : part) {
    const double distance = std::pow(n * row(s) - rows, 2) + std::pow(n * column(s) - columns, 2);
    if (distance < least) least = distance, nearest = s;
  }
  return nearest;
}

/// A kernels::TokenFact by name.
inline std::vector<double> oracle_fact(const std::string& fact, const std::vector<double>& owner, int64_t tokens,
                                       int64_t cls, int64_t width) {
  const auto parts = parts_of(owner, tokens);
  std::vector<double> sizes, logs, slots, ranks, order(parts.size()), bias, biased;
  for (const auto& part : parts) {
    sizes.push_back(static_cast<double>(part.size())), logs.push_back(std::log(sizes.back()));
    slots.push_back(static_cast<double>(nearest_to_center(part, cls, width)));
  }
  for (size_t t = 0; t < slots.size(); ++t) {
    ranks.push_back(static_cast<double>(std::ranges::count_if(slots, [&](double s) { return s < slots[t]; })));
    order[static_cast<size_t>(ranks[t])] = static_cast<double>(t);
  }
  for (size_t s = 0; s < owner.size(); ++s) {
    const bool is_slot = slots[static_cast<size_t>(owner[s])] == static_cast<double>(s);
    const double nothing = -std::numeric_limits<double>::infinity();
    bias.push_back(is_slot ? 0 : nothing);
    biased.push_back(is_slot ? logs[static_cast<size_t>(owner[s])] : nothing);
  }
  if (fact == "sizes") return sizes;
  if (fact == "log_sizes") return logs;
  if (fact == "slots") return slots;
  if (fact == "ranks") return ranks;
  if (fact == "order") return order;
  return fact == "slot_bias" ? bias : biased;
}

}  // namespace fib::test
