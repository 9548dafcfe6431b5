// SPDX-License-Identifier: Apache-2.0
#include "ops/composite_dropout.h"

#include "kernels/dropout.h"

namespace fib::ops {
namespace {

// 32-bit words live in int64 tensors; a product wraps modulo 2^64, which leaves its low 32 bits right.
constexpr int64_t kWord = INT64_C(0xffffffff);

at::Tensor low_word(const at::Tensor& x) { return at::bitwise_and(x, kWord); }

at::Tensor fold(const at::Tensor& x, int64_t shift) { return at::bitwise_xor(x, at::bitwise_right_shift(x, shift)); }

at::Tensor mix32(const at::Tensor& x) {
  const at::Tensor y = low_word(fold(x, 16) * INT64_C(0x7feb352d));
  return fold(low_word(fold(y, 15) * INT64_C(0x846ca68b)), 16);
}

}  // namespace

CompositeDropout::CompositeDropout(double probability, int64_t seed, int64_t batch, const std::vector<int64_t>& heads,
                                   const at::Device& device)
    : probability_(probability) {
  const int64_t group = static_cast<int64_t>(heads.size());
  query_key_ = at::empty({batch, group, 1}, at::kLong);
  key_key_ = at::empty_like(query_key_);
  for (int64_t i = 0; i < batch * group; ++i) {
    const kernels::DropoutStream stream(static_cast<uint64_t>(seed), i / group, heads[static_cast<size_t>(i % group)]);
    query_key_.data_ptr<int64_t>()[i] = stream.query_key;
    key_key_.data_ptr<int64_t>()[i] = stream.key_key;
  }
  query_key_ = query_key_.to(device);
  key_key_ = key_key_.to(device);
}

at::Tensor CompositeDropout::factors(const Segment& segment, at::ScalarType type) const {
  const at::Device device = query_key_.device();
  const at::Tensor row = mix32(at::bitwise_xor(segment.queries.tokens(device), query_key_));
  const at::Tensor key = low_word(segment.keys.tokens(device) + key_key_);
  const at::Tensor pair = mix32(at::bitwise_xor(row, key));
  const at::Tensor bits = mix32(low_word(pair + row * INT64_C(0x9E3779B9)));
  const int64_t threshold = kernels::dropout_threshold(probability_);
  return bits.ge(threshold).to(type) / (1.0 - probability_);
}

}  // namespace fib::ops
