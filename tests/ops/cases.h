// SPDX-License-Identifier: Apache-2.0
// The one list of cases on which kernel, composite path and oracle must agree.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "ops/support_attention.h"

namespace fib::ops {

struct Case {
  std::string name;
  std::function<SupportSet()> support;
  SupportAttentionOptions options;
  int64_t batch = 2, dim = 8, value_dim = 8;
};

inline void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

inline SupportSet named_support(const std::string& spec, PatternGeometry geometry) {
  return make_support(AttentionSpec::parse(spec), geometry);
}

inline std::function<SupportSet()> named(const std::string& spec, PatternGeometry geometry) {
  return [=] { return named_support(spec, geometry); };
}

inline SupportSet crossed_support() {
  return SupportSet::rectangular(5, 9, {{{0, 8}, {0, 1}, {3, 3}}, {{4, 0}, {2, 7}, {1, 1}, {1, 2}}});
}

inline SupportAttentionOptions with(std::function<void(SupportAttentionOptions&)> change) {
  SupportAttentionOptions options;
  change(options);
  return options;
}

inline at::Tensor random_bias(at::IntArrayRef sizes) { return at::randn(sizes, at::kDouble); }

inline std::vector<Case> cases() {
  const PatternGeometry small{20, 1, 3, std::nullopt, false};
  const PatternGeometry causal{19, 2, 3, std::nullopt, true};
  const auto dropped = with([](auto& o) { o.dropout = 0.3, o.seed = 7; });
  const auto zero = with([](auto& o) { o.masking = Masking::zero; });
  const auto scaled = with([](auto& o) { o.scale = 0.7; });
  const auto lengths = with([](auto& o) { o.lengths = at::tensor({21, 5}, at::kLong); });
  const auto nobody = with([](auto& o) { o.lengths = at::tensor({0, 1}, at::kLong); });
  const auto head_bias = with([](auto& o) { o.bias = random_bias({1, 3, 21, 21}); });
  const auto group_bias = with([](auto& o) { o.bias = random_bias({2, 1, 21, 21}); });
  const auto cross_bias = with([](auto& o) { o.bias = random_bias({2, 2, 5, 9}); });
  return {
      {"fibottention", named("fibottention:wmin=2,wmax=8", small), {}},
      {"permuted", named("fibottention:wmin=2,wmax=8", {20, 1, 3, 4, false}), {}},
      {"modified", named("fibottention-modified:wmin=2,wmax=8", small), scaled},
      {"without_class_token", named("fibottention:wmin=2,wmax=8", {20, 0, 3, std::nullopt, false}), {}},
      {"empty_rows", named("fibottention:wmin=1,wmax=6", {2, 0, 3, std::nullopt, false}), {}},
      {"one_token", named("fibottention", {1, 0, 1, std::nullopt, false}), {}},
      {"causal", named("fibottention:wmin=2,wmax=8", causal), {}},
      {"diagonal", named("longformer:w=2", small), {}},
      {"random_pairs", named("bigbird:w=1,random=30", small), {}},
      {"random_pairs_causal", named("bigbird:w=1,random=30", causal), {}},
      {"full", named("full", small), {}},
      {"two_kinds_of_heads", named("sparse-transformer:stride=4", small), {}},
      {"rectangular", crossed_support, {}},
      {"zero_masking", named("fibottention:wmin=2,wmax=8", small), zero},
      {"zero_masking_full", named("full", small), zero},
      {"zero_masking_pairs", named("bigbird:w=1,random=30", small), zero},
      {"lengths", named("bigbird:w=1,random=30", small), lengths},
      {"lengths_of_nothing", named("fibottention:wmin=2,wmax=8", small), nobody},
      {"bias_per_head", named("bigbird:w=1,random=30", small), head_bias},
      {"bias_per_sample", named("fibottention:wmin=2,wmax=8", small), group_bias},
      {"bias_causal", named("bigbird:w=1,random=30", causal), head_bias},
      {"bias_rectangular", crossed_support, cross_bias},
      {"dropout", named("bigbird:w=1,random=30", small), dropped},
      {"wide_values", named("fibottention:wmin=2,wmax=8", small), {}, 3, 5, 17},
      {"one_channel", named("fibottention:wmin=2,wmax=8", small), {}, 1, 1, 1},
      {"large_batch_bias", named("fibottention:wmin=2,wmax=8", small), group_bias, 4, 8, 8},
  };
}

/// Those whose q, k and v can be one tensor.
inline std::vector<Case> packed_cases() {
  std::vector<Case> list = cases();
  std::erase_if(list, [](const Case& c) {
    const SupportSet set = c.support();
    return set.query_tokens() != set.key_tokens() || c.dim != c.value_dim;
  });
  return list;
}

}  // namespace fib::ops
