// SPDX-License-Identifier: Apache-2.0
#include "engine/view.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace fib::engine {

int64_t product_of(const std::vector<int64_t>& sizes) { return checked_product(sizes).value(); }

Operand dense(int32_t buffer, const std::vector<int64_t>& sizes) {
  Operand o{buffer, 0, sizes, std::vector<int64_t>(sizes.size())};
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- > 0; stride *= sizes[d]) o.strides[d] = stride;
  return o;
}

Operand dense_in_order(int32_t buffer, const std::vector<int64_t>& sizes, const std::vector<int64_t>& like) {
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](size_t d) { return like[d]; });
  Operand o{buffer, 0, sizes, std::vector<int64_t>(sizes.size())};
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0; stride *= sizes[order[i]]) o.strides[order[i]] = stride;
  return o;
}

Operand permuted(const Operand& from, const std::vector<int64_t>& order) {
  Operand o{from.buffer, from.offset, {}, {}};
  o.sizes.reserve(order.size());
  o.strides.reserve(order.size());
  for (const int64_t d : order) {
    o.sizes.push_back(from.sizes[static_cast<size_t>(d)]);
    o.strides.push_back(from.strides[static_cast<size_t>(d)]);
  }
  return o;
}

Operand broadcast(const Operand& from, const std::vector<int64_t>& sizes) {
  Operand o{from.buffer, from.offset, sizes, std::vector<int64_t>(sizes.size())};
  const size_t missing = sizes.size() - from.sizes.size();
  for (size_t d = 0; d < from.sizes.size(); ++d) {
    o.strides[missing + d] = from.sizes[d] == 1 && sizes[missing + d] != 1 ? 0 : from.strides[d];
  }
  return o;
}

std::optional<Operand> reshaped(const Operand& from, const std::vector<int64_t>& sizes) {
  // Dimensions that lie one behind the other are one; the new ones must divide them.
  std::vector<int64_t> whole, strides;
  for (size_t d = 0; d < from.sizes.size(); ++d) {
    if (from.sizes[d] == 1) continue;
    if (!whole.empty() && strides.back() == from.strides[d] * from.sizes[d]) {
      whole.back() *= from.sizes[d], strides.back() = from.strides[d];
    } else {
      whole.push_back(from.sizes[d]), strides.push_back(from.strides[d]);
    }
  }
  Operand o{from.buffer, from.offset, sizes, std::vector<int64_t>(sizes.size())};
  size_t run = whole.size();
  int64_t left = 1, stride = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] == 1) {
      o.strides[d] = stride;
      continue;
    }
    if (left == 1) {
      if (run == 0) return std::nullopt;
      left = whole[--run], stride = strides[run];
    }
    if (left % sizes[d] != 0) return std::nullopt;
    o.strides[d] = stride;
    left /= sizes[d], stride *= sizes[d];
  }
  return o;
}

std::optional<Operand> rows_of(const Operand& from) {
  const int64_t channels = from.sizes.back();
  if (channels > 1 && from.strides.back() != 1) return std::nullopt;
  Operand o{from.buffer, from.offset, {1, channels}, {channels, 1}};
  bool first = true;
  for (size_t d = from.sizes.size() - 1; d-- > 0;) {
    if (from.sizes[d] == 1) continue;
    if (first) {
      o.sizes[0] = from.sizes[d], o.strides[0] = from.strides[d], first = false;
    } else if (from.strides[d] == o.strides[0] * o.sizes[0]) {
      o.sizes[0] *= from.sizes[d];
    } else {
      return std::nullopt;
    }
  }
  return o;
}

Operand first_block(const Operand& matrix, int64_t block) {
  Operand part = matrix;
  part.advance = matrix.sizes[0] > block ? block * matrix.strides[0] : 0;
  part.sizes[0] = block;
  return part;
}

}  // namespace fib::engine
