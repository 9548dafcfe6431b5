// SPDX-License-Identifier: Apache-2.0
#include "kernels/token_reduction.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "base/nearest.h"
#include "kernels/tiles.h"

namespace fib::kernels {
namespace {

constexpr int64_t kWhole = 16;  // columns of the targets are filled up to whole vectors

template <class T>
constexpr T kNothing = -std::numeric_limits<T>::infinity();

/// Means of the keys over heads, of length 1: sources as rows, targets as columns.
template <class T>
struct Metric {
  int64_t sources, targets, stride, dim;
  std::vector<T> rows, columns;

  explicit Metric(const KeysOfSample<T>& keys)
      : sources((keys.tokens + 1) / 2),
        targets(keys.tokens / 2),
        stride((targets + kWhole - 1) / kWhole * kWhole),
        dim(keys.dim),
        rows(static_cast<size_t>(sources * dim)),
        columns(static_cast<size_t>(stride * dim)) {
    std::vector<T> mean(static_cast<size_t>(dim));
    for (int64_t t = 0; t < keys.tokens; ++t) {
      unit_mean(keys, t, mean);
      for (int64_t c = 0; c < dim; ++c)
        (t % 2 == 0 ? rows[static_cast<size_t>(t / 2 * dim + c)] : columns[static_cast<size_t>(c * stride + t / 2)]) =
            mean[static_cast<size_t>(c)];
    }
  }

 private:
  static void unit_mean(const KeysOfSample<T>& keys, int64_t token, std::vector<T>& mean) {
    std::ranges::fill(mean, T(0));
    for (int64_t h = 0; h < keys.heads; ++h) {
      const T* key = keys.data + h * keys.head_stride + token * keys.token_stride;
      for (size_t c = 0; c < mean.size(); ++c) mean[c] += key[c];
    }
    const T length = std::sqrt(std::inner_product(mean.begin(), mean.end(), mean.begin(), T(0)));
    for (T& value : mean) value /= length;
  }
};

void products_of(const Metric<float>& m, int64_t source, std::vector<float>& scores) {
  similarities_of_target(chosen_target())
      .products(m.rows.data() + source * m.dim, m.dim, m.columns.data(), m.stride, m.targets, scores.data());
}
void products_of(const Metric<double>& m, int64_t source, std::vector<double>& scores) {
  std::ranges::fill(scores, 0.0);
  for (int64_t c = 0; c < m.dim; ++c) {
    const double factor = m.rows[static_cast<size_t>(source * m.dim + c)];
    for (int64_t j = 0; j < m.targets; ++j)
      scores[static_cast<size_t>(j)] += factor * m.columns[static_cast<size_t>(c * m.stride + j)];
  }
}

/// Of each source to its most similar target.
template <class T>
struct Edges {
  std::vector<T> similarity;
  std::vector<int64_t> target;
};

/// A class token has none, and NaN is no similarity.
template <class T>
Edges<T> best_edges(const KeysOfSample<T>& keys, int64_t cls) {
  const Metric<T> metric(keys);
  std::vector<T> scores(static_cast<size_t>(metric.targets));
  const auto sources = static_cast<size_t>(metric.sources);
  Edges<T> best{std::vector<T>(sources, kNothing<T>), std::vector<int64_t>(sources)};
  for (size_t s = static_cast<size_t>(cls + 1) / 2; s < sources; ++s) {
    products_of(metric, static_cast<int64_t>(s), scores);
    for (int64_t j = cls / 2; j < metric.targets; ++j) {
      const T similarity = scores[static_cast<size_t>(j)];
      if (similarity > best.similarity[s]) best.similarity[s] = similarity, best.target[s] = j;
    }
  }
  return best;
}

/// The `count` largest values, as flags; of equal ones the first. NaN is less than all.
template <class T>
std::vector<bool> largest(std::span<const T> values, int64_t count) {
  const auto known = [&](size_t i) { return std::isnan(values[i]) ? kNothing<T> : values[i]; };
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return known(a) > known(b); });
  std::vector<bool> chosen(values.size());
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) chosen[order[i]] = true;
  return chosen;
}

}  // namespace

template <class T>
void plan_merging(const KeysOfSample<T>& keys, int64_t merged, int64_t cls, std::span<T> plan) {
  const Edges<T> edges = best_edges(keys, cls);
  const std::vector<bool> goes = largest<T>(edges.similarity, merged);
  const int64_t first_target = static_cast<int64_t>(goes.size()) - merged;
  for (int64_t j = 0; 2 * j + 1 < keys.tokens; ++j)
    plan[static_cast<size_t>(2 * j + 1)] = static_cast<T>(first_target + j);
  int64_t stays = 0;
  for (size_t s = 0; s < goes.size(); ++s)
    plan[2 * s] = static_cast<T>(goes[s] ? first_target + edges.target[s] : stays++);
}

template <class T>
void plan_keeping(std::span<const T> score, int64_t kept, int64_t cls, std::span<T> plan) {
  const std::vector<bool> stays = largest(score, kept);
  int64_t place = 0;
  for (; place < cls; ++place) plan[static_cast<size_t>(place)] = static_cast<T>(place);
  for (size_t i = 0; i < stays.size(); ++i)
    plan[static_cast<size_t>(cls) + i] = static_cast<T>(stays[i] ? place++ : cls + kept);
}

namespace {

/// What each token is made of, and where that lies.
class Clusters {
 public:
  template <class T>
  Clusters(const TokenLayout& layout, std::span<const T> owner)
      : layout_(layout), owner_(owner.size()), sums_(static_cast<size_t>(layout.tokens)) {
    for (size_t s = 0; s < owner.size(); ++s) {
      owner_[s] = place_of(owner[s], layout.tokens);
      Sum& sum = sums_[static_cast<size_t>(owner_[s])];
      sum.row += row(s), sum.column += column(s), ++sum.count;
    }
  }

  int64_t size(int64_t token) const { return sums_[static_cast<size_t>(token)].count; }
  int64_t owner(size_t slot) const { return owner_[slot]; }

  /// Of several patches at the same distance from the center the first.
  std::vector<int64_t> slots() const {
    std::vector<int64_t> nearest(sums_.size(), 0);
    std::vector<double> least(sums_.size(), std::numeric_limits<double>::infinity());
    for (size_t s = 0; s < owner_.size(); ++s) {
      const auto token = static_cast<size_t>(owner_[s]);
      const Sum& sum = sums_[token];  // distances times the count are integers, so that equal ones are equal
      const auto down = static_cast<double>(sum.count * row(s) - sum.row);
      const auto right = static_cast<double>(sum.count * column(s) - sum.column);
      const double distance = down * down + right * right;
      if (distance < least[token]) least[token] = distance, nearest[token] = static_cast<int64_t>(s);
    }
    return nearest;
  }

 private:
  struct Sum {
    int64_t row = 0, column = 0, count = 0;
  };
  int64_t patch(size_t slot) const { return std::max<int64_t>(0, static_cast<int64_t>(slot) - layout_.cls); }
  int64_t row(size_t slot) const { return patch(slot) / layout_.width; }
  int64_t column(size_t slot) const { return patch(slot) % layout_.width; }

  TokenLayout layout_;
  std::vector<int64_t> owner_;
  std::vector<Sum> sums_;
};

template <class T>
T log_of(int64_t count) {
  return static_cast<T>(std::log(static_cast<double>(count)));
}

template <class T>
void tell_order(TokenFact fact, const std::vector<int64_t>& slots, std::span<T> out) {
  std::vector<size_t> order(slots.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t token) { return slots[token]; });
  for (size_t rank = 0; rank < order.size(); ++rank) {
    if (fact == TokenFact::order) out[rank] = static_cast<T>(order[rank]);
    if (fact == TokenFact::ranks) out[order[rank]] = static_cast<T>(rank);
  }
}

template <class T>
void tell_bias(TokenFact fact, const Clusters& clusters, const std::vector<int64_t>& slots, std::span<T> out) {
  for (size_t s = 0; s < out.size(); ++s) {
    const int64_t token = clusters.owner(s);
    const bool is_slot = slots[static_cast<size_t>(token)] == static_cast<int64_t>(s);
    const T bias = fact == TokenFact::slot_bias ? T(0) : log_of<T>(clusters.size(token));
    out[s] = is_slot ? bias : kNothing<T>;
  }
}

}  // namespace

template <class T>
void tell_tokens(TokenFact fact, const TokenLayout& layout, std::span<const T> owner, std::span<T> out) {
  const Clusters clusters(layout, owner);
  if (fact == TokenFact::sizes || fact == TokenFact::log_sizes) {
    for (int64_t t = 0; t < layout.tokens; ++t)
      out[static_cast<size_t>(t)] =
          fact == TokenFact::sizes ? static_cast<T>(clusters.size(t)) : log_of<T>(clusters.size(t));
    return;
  }
  const std::vector<int64_t> slots = clusters.slots();
  if (fact == TokenFact::slots) std::ranges::transform(slots, out.begin(), [](int64_t s) { return static_cast<T>(s); });
  if (fact == TokenFact::ranks || fact == TokenFact::order) tell_order(fact, slots, out);
  if (is_of_slots(fact)) tell_bias(fact, clusters, slots, out);
}

TokenFact token_fact(const std::string& name) {
  for (int64_t i = 0; i < kTokenFacts; ++i) {
    if (name == kTokenFactNames[i]) return static_cast<TokenFact>(i);
  }
  throw std::invalid_argument(
      unknown_name("fact of tokens", name, {std::begin(kTokenFactNames), std::end(kTokenFactNames)}));
}

#define FIB_TOKEN_REDUCTION(T)                                                        \
  template void plan_merging(const KeysOfSample<T>&, int64_t, int64_t, std::span<T>); \
  template void plan_keeping(std::span<const T>, int64_t, int64_t, std::span<T>);     \
  template void tell_tokens(TokenFact, const TokenLayout&, std::span<const T>, std::span<T>);
FIB_TOKEN_REDUCTION(float)
FIB_TOKEN_REDUCTION(double)
#undef FIB_TOKEN_REDUCTION

}  // namespace fib::kernels
