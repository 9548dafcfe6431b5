// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "bench/measure.h"
#include "ops/attention.h"

namespace fib::ops {
namespace {

constexpr int64_t kLongTokens = 20000, kLongHeads = 2, kLongDim = 4;
/// T × T floats of one head alone are 1600 MB.
constexpr int64_t kAllowed = 160 << 20;

/// Nothing where this system does not tell.
template <class Attend>
std::optional<int64_t> growth_of(Attend attend) {
  const PatternGeometry geometry{kLongTokens - 1, 1, kLongHeads, std::nullopt, false};
  const SupportPtr support = make_support_ptr(make_support(AttentionSpec::parse("fibottention"), geometry));
  const at::Tensor x = torch::randn({1, kLongHeads, kLongTokens, kLongDim}).set_requires_grad(true);
  const bench::PeakMemory peak;
  std::get<0>(attend(x, support)).sum().backward();
  return peak.growth();
}

void expect_less(std::optional<int64_t> growth, int64_t allowed) {
  if (!growth) GTEST_SKIP() << "this kernel does not reset the peak of resident memory";
  EXPECT_LT(*growth, allowed);
}

TEST(Memory, of_the_kernel_never_holds_all_pairs_of_tokens) {
  expect_less(growth_of([](const at::Tensor& x, const SupportPtr& s) {
                return attention_with_lse({x, x, x}, {{s}});
              }),
              kAllowed / 8);
}

TEST(Memory, of_the_composite_path_never_holds_all_pairs_of_tokens) {
  expect_less(growth_of([](const at::Tensor& x, const SupportPtr& s) {
                return composite_attention({x, x, x}, {{s}});
              }),
              kAllowed);
}

}  // namespace
}  // namespace fib::ops
