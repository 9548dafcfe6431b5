// SPDX-License-Identifier: Apache-2.0
// Walks over strided arrays of the same shape.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include "base/parallel.h"
#include "engine/program.h"

namespace fib::engine {

/// Without the last `count` dimensions.
inline Operand outer(const Operand& o, size_t count) {
  Operand part = o;
  part.sizes.resize(o.sizes.size() - count);
  part.strides.resize(o.strides.size() - count);
  if (part.sizes.empty()) part.sizes = {1}, part.strides = {0};
  return part;
}

/// The places of element i of kArrays arrays. Dimensions that lie one behind the other in all of them are one.
template <size_t kArrays>
class Positions {
 public:
  using Places = std::array<int64_t, kArrays>;

  /// `as_stored`: in the order in which the first array lies in memory.
  explicit Positions(const std::array<const Operand*, kArrays>& arrays, bool as_stored = false) {
    const std::vector<int64_t>& sizes = arrays[0]->sizes;
    std::vector<size_t> order(sizes.size());
    std::iota(order.begin(), order.end(), size_t{0});
    if (as_stored) std::ranges::stable_sort(order, std::greater(), [&](size_t d) { return arrays[0]->strides[d]; });
    for (const size_t d : order) {
      if (sizes[d] == 1) continue;
      Places strides;
      for (size_t a = 0; a < kArrays; ++a) strides[a] = arrays[a]->strides[d];
      add(sizes[d], strides);
    }
  }

  int64_t count() const {
    int64_t all = 1;
    for (int64_t size : sizes_) all *= size;
    return all;
  }
  Places at(int64_t index) const {
    Places places{};
    for (size_t d = sizes_.size(); d-- > 0;) {
      const int64_t here = index % sizes_[d];
      index /= sizes_[d];
      for (size_t a = 0; a < kArrays; ++a) places[a] += here * strides_[d][a];
    }
    return places;
  }

 protected:
  std::vector<int64_t> sizes_;
  std::vector<Places> strides_;

 private:
  void add(int64_t size, const Places& strides) {
    const auto joins = [&] {
      for (size_t a = 0; a < kArrays; ++a) {
        if (strides_.back()[a] != strides[a] * size) return false;
      }
      return true;
    };
    if (!sizes_.empty() && joins()) {
      sizes_.back() *= size, strides_.back() = strides;
    } else {
      sizes_.push_back(size), strides_.push_back(strides);
    }
  }
};

/// Visits runs along the dimension that lies innermost in the first array, in parallel.
template <size_t kArrays>
class Loop : Positions<kArrays> {
 public:
  using typename Positions<kArrays>::Places;

  explicit Loop(const std::array<const Operand*, kArrays>& arrays) : Positions<kArrays>(arrays, true) {
    if (this->sizes_.empty()) return;
    inner_ = this->sizes_.back(), steps_ = this->strides_.back();
    this->sizes_.pop_back(), this->strides_.pop_back();
  }

  /// visit(where the run begins in each array, its steps, its length)
  template <class Visit>
  void run(const Visit& visit) const {
    const int64_t pieces = (inner_ + kPiece - 1) / kPiece, all = this->count() * pieces;
    const int64_t together = std::max<int64_t>(1, kPiece / inner_);
    parallel_tasks((all + together - 1) / together, [&](int64_t task) {
      for (int64_t i = task * together; i < std::min(all, (task + 1) * together); ++i) {
        Places places = this->at(i / pieces);
        const int64_t first = i % pieces * kPiece;
        for (size_t a = 0; a < kArrays; ++a) places[a] += first * steps_[a];
        visit(places, steps_, std::min(kPiece, inner_ - first));
      }
    });
  }

 private:
  /// Elements per task: some 10 µs, far more than a task costs.
  static constexpr int64_t kPiece = 16384;
  int64_t inner_ = 1;
  Places steps_{};
};

}  // namespace fib::engine
