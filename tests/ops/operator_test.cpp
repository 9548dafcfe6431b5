// SPDX-License-Identifier: Apache-2.0
// What the operator promises beside its numbers: layouts, types, devices, refusals.
#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <functional>
#include <thread>

#include "ops/attention.h"

namespace fib::ops {
namespace {

constexpr int64_t kBatch = 2, kHeads = 3, kTokens = 21, kDim = 8;

SupportPtr small_support() {
  const PatternGeometry geometry{kTokens - 1, 1, kHeads, std::nullopt, false};
  return make_support_ptr(make_support(AttentionSpec::parse("fibottention:wmin=2,wmax=8"), geometry));
}

template <class Change>
Arguments with(const SupportPtr& support, Change change) {
  Arguments arguments{{support}};
  change(arguments);
  return arguments;
}

Outputs attend_with_lse(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const SupportPtr& support) {
  return attention_with_lse({q, k, v}, {{support}});
}
at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const SupportPtr& support) {
  return attention({q, k, v}, {{support}});
}

at::Tensor random_bias(at::IntArrayRef sizes) { return at::randn(sizes, at::kDouble); }

at::Tensor random_tokens(at::ScalarType type = torch::kDouble) {
  return torch::randn({kBatch, kHeads, kTokens, kDim}, type);
}

/// The one line a person would read.
template <class F>
std::string refusal(F f) {
  try {
    f();
  } catch (const c10::Error& e) {
    return e.what_without_backtrace();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Attention, keeps_the_order_of_dimensions_of_q) {
  const SupportPtr support = small_support();
  EXPECT_TRUE(attend(random_tokens(), random_tokens(), random_tokens(), support).is_contiguous());
  const at::Tensor token_major = torch::randn({kBatch, kTokens, kHeads, kDim}).transpose(1, 2);
  const at::Tensor out = attend(token_major, token_major, token_major, support);
  EXPECT_TRUE(out.transpose(1, 2).is_contiguous());
}

TEST(Attention, reads_any_strides) {
  const SupportPtr support = small_support();
  const at::Tensor reversed = torch::randn({kDim, kTokens, kHeads, kBatch}).permute({3, 2, 1, 0});
  const at::Tensor sliced =
      torch::randn({kBatch, kHeads, 2 * kTokens, kDim + 3}).slice(2, 0, 2 * kTokens, 2).narrow(3, 1, kDim);
  const at::Tensor shared = torch::randn({1, 1, kTokens, kDim}).expand({kBatch, kHeads, -1, -1});
  const at::Tensor out = attend(reversed, sliced, shared, support);
  const at::Tensor expected = attend(reversed.contiguous(), sliced.contiguous(), shared.contiguous(), support);
  EXPECT_TRUE(torch::allclose(out, expected, 1e-6, 1e-6));
}

TEST(Attention, accepts_a_gradient_of_any_strides) {
  const SupportPtr support = small_support();
  const at::Tensor q = random_tokens().set_requires_grad(true), k = random_tokens(), v = random_tokens();
  const at::Tensor out = attend(q, k, v, support);
  const auto gradient = [&](const at::Tensor& g) { return torch::autograd::grad({out}, {q}, {g}, true)[0]; };
  const at::Tensor ones = at::ones({}, q.options()).expand(out.sizes());
  EXPECT_TRUE(gradient(ones).equal(gradient(ones.contiguous())));
  const at::Tensor turned = random_tokens().transpose(2, 3).contiguous().transpose(2, 3);
  EXPECT_TRUE(gradient(turned).equal(gradient(turned.contiguous())));
}

TEST(Attention, computes_reduced_types_in_float32_and_returns_them) {
  const SupportPtr support = small_support();
  for (at::ScalarType type : {torch::kBFloat16, torch::kHalf}) {
    const at::Tensor q = random_tokens(torch::kFloat).to(type).set_requires_grad(true);
    const at::Tensor out = attend(q, q, q, support);
    EXPECT_EQ(out.scalar_type(), type);
    const at::Tensor wide = q.detach().to(torch::kFloat);
    EXPECT_TRUE(out.equal(attend(wide, wide, wide, support).to(type)));
    out.to(torch::kFloat).sum().backward();
    EXPECT_EQ(q.grad().scalar_type(), type);
    const at::NoGradGuard guard;
    EXPECT_TRUE(attend(q, q, q, support).equal(out));
    const auto composite = std::get<0>(composite_attention({q, q, q}, {{support}}));
    EXPECT_EQ(composite.scalar_type(), type);
    EXPECT_TRUE(torch::allclose(composite.to(torch::kFloat), out.to(torch::kFloat), 1e-2, 1e-2));
  }
}

TEST(Attention, takes_mixed_types_under_autocast_only) {
  const SupportPtr support = small_support();
  const at::Tensor q = random_tokens(torch::kBFloat16), k = random_tokens(torch::kFloat);
  EXPECT_NE(refusal([&] { attend(q, k, k, support); }).find("k is Float but q is BFloat16"), std::string::npos);
#if TORCH_VERSION_MAJOR >= 2 && TORCH_VERSION_MINOR >= 4
  at::autocast::set_autocast_enabled(at::kCPU, true);
#else
  at::autocast::set_cpu_enabled(true);
#endif
  EXPECT_EQ(attend(q, k, k, support).scalar_type(), torch::kFloat);
  EXPECT_EQ(attend(q, q, q, support).scalar_type(), torch::kBFloat16);
#if TORCH_VERSION_MAJOR >= 2 && TORCH_VERSION_MINOR >= 4
  at::autocast::set_autocast_enabled(at::kCPU, false);
#else
  at::autocast::set_cpu_enabled(false);
#endif
}

TEST(Attention, gives_shapes_on_the_meta_device) {
  const SupportPtr support = small_support();
  const at::Tensor q =
      torch::empty({kBatch, kTokens, kHeads, kDim}, torch::kMeta).transpose(1, 2).set_requires_grad(true);
  const auto [out, lse] = attend_with_lse(q, q, q, support);
  EXPECT_EQ(out.sizes(), q.sizes());
  EXPECT_EQ(out.strides(), q.strides());
  EXPECT_EQ(lse.sizes(), (std::vector<int64_t>{kBatch, kHeads, kTokens}));
  EXPECT_EQ(torch::autograd::grad({out}, {q}, {torch::empty_like(out)})[0].sizes(), q.sizes());
  const at::Tensor qkv = torch::empty({kBatch, kTokens, 3, kHeads, kDim}, torch::kMeta);
  EXPECT_EQ(attention({qkv}, {{support}}).sizes(), (std::vector<int64_t>{kBatch, kTokens, kHeads * kDim}));
}

TEST(Attention, refuses_a_second_derivative) {
  const SupportPtr support = small_support();
  const at::Tensor q = random_tokens().set_requires_grad(true);
  const at::Tensor loss = attend(q, q, q, support).sum();
  const at::Tensor dq = torch::autograd::grad({loss}, {q}, {}, true, /*create_graph=*/true)[0];
  EXPECT_NE(refusal([&] { dq.sum().backward(); }).find("no second derivative"), std::string::npos);
  const at::Tensor qkv = torch::randn({kBatch, kTokens, 3, kHeads, kDim}).set_requires_grad(true);
  const at::Tensor dqkv = torch::autograd::grad({attention({qkv}, {{support}}).sum()}, {qkv}, {}, true, true)[0];
  EXPECT_NE(refusal([&] { dqkv.sum().backward(); }).find("no second derivative"), std::string::npos);
}

TEST(Attention, gives_gradients_only_where_they_are_asked_for) {
  const SupportPtr support = small_support();
  const at::Tensor q = random_tokens(), k = random_tokens(), v = random_tokens().set_requires_grad(true);
  const auto [out, lse] = attend_with_lse(q, k, v, support);
  EXPECT_FALSE(lse.requires_grad());
  out.sum().backward();
  EXPECT_TRUE(v.grad().defined());
  EXPECT_FALSE(q.grad().defined());
  EXPECT_FALSE(attend(q, k, v.detach(), support).requires_grad());
}

TEST(Attention, accepts_an_empty_batch) {
  const SupportPtr support = small_support();
  const at::Tensor q = torch::empty({0, kHeads, kTokens, kDim}).set_requires_grad(true);
  const at::Tensor out = attend(q, q, q, support);
  EXPECT_EQ(out.sizes(), q.sizes());
  out.sum().backward();
  EXPECT_EQ(q.grad().sizes(), q.sizes());
}

TEST(Attention, draws_its_dropout_from_torchs_generator) {
  const SupportPtr support = small_support();
  const at::Tensor q = random_tokens();
  const auto options = with(support, [](auto& o) { o.dropout = 0.5; });
  torch::manual_seed(3);
  const at::Tensor first = attention({q, q, q}, options);
  const at::Tensor second = attention({q, q, q}, options);
  torch::manual_seed(3);
  EXPECT_TRUE(attention({q, q, q}, options).equal(first));
  EXPECT_FALSE(second.equal(first));
}

TEST(Attention, differentiates_through_the_dropout_it_drew) {
  const SupportPtr support = small_support();
  const at::Tensor q = random_tokens(), k = random_tokens(), v = random_tokens().set_requires_grad(true);
  const at::Tensor out = attention({q, k, v}, with(support, [](auto& o) { o.dropout = 0.4; }));
  out.sum().backward();
  // The output is linear in v, so its sum equals <gradient, v> only for the same dropped pairs.
  EXPECT_NEAR(out.sum().item<double>(), (v.grad() * v).sum().item<double>(), 1e-10);
}

TEST(Attention, says_in_one_line_what_it_does_not_accept) {
  const SupportPtr support = small_support();
  const at::Tensor x = random_tokens();
  const auto expect = [](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  };
  const auto refused = [&](
                           const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           const std::function<void(Arguments&)>& change = [](Arguments&) {}) {
    return refusal([&] { attention({q, k, v}, with(support, change)); });
  };
  expect(refused(x[0], x, x), "q must be [batch, heads, tokens, channels], got [3, 21, 8]");
  expect(refused(x, x.narrow(0, 0, 1), x), "k [1, 3, 21, 8] has another batch or number of heads than q [2, 3, 21, 8]");
  expect(refused(x, x.narrow(3, 0, 4), x), "k has 4 channels, q has 8");
  expect(refused(x, x, x.narrow(2, 0, 4)), "k has 21 tokens, v has 4");
  expect(refused(x, x.to(torch::kFloat), x), "k is Float but q is Double");
  expect(refused(x.narrow(2, 0, 5), x, x), "query_tokens is 5, the support set has 21");
  expect(refused(x.narrow(1, 0, 2), x.narrow(1, 0, 2), x.narrow(1, 0, 2)), "heads is 2, the support set has 3");
  expect(refused(x.narrow(1, 0, 0), x.narrow(1, 0, 0), x.narrow(1, 0, 0)), "has no heads");
  expect(refused(x.to(torch::kLong), x.to(torch::kLong), x.to(torch::kLong)), "floating-point tensor, got Long");
  expect(refused(x.to(torch::kComplexDouble), x.to(torch::kComplexDouble), x.to(torch::kComplexDouble)),
         "got ComplexDouble");
  expect(refused(x, x, x, [](auto& o) { o.dropout = 1.0; }), "dropout must be in [0, 1), got 1");
  expect(refused(x, x, x, [](auto& o) { o.dropout = -0.1; }), "dropout must be in [0, 1), got -0.1");
  expect(refused(x, x, x, [](auto& o) { o.lengths = at::tensor({1.0, 2.0}); }), "lengths must be int64 [2]");
  expect(refused(x, x, x, [](auto& o) { o.lengths = at::tensor({1, 22}, at::kLong); }), "got 22");
  expect(refused(x, x, x,
                 [](auto& o) {
                   o.bias = random_bias({1, 2, 21, 21});
                 }),
         "bias must be [groups, 3 or 1, 21, 21]");
  expect(refused(x, x, x, [](auto& o) { o.bias = random_bias({3, 1, 21, 21}); }), "do not divide the batch of 2");
  expect(refused(x, x, x, [](auto& o) { o.masking = Masking::zero, o.dropout = 0.1; }),
         "masking zero is refused together with dropout");
  expect(refusal([&] { attention({x}, {{support}}); }),
         "qkv must be [batch, tokens, 3, heads, channels], got [2, 3, 21, 8]");
}

TEST(SupportCache, gives_the_same_support_for_the_same_arguments) {
  const NamedSupport named{"fibottention:wmin=5,wmax=65"};
  NamedSupport other = named;
  other.layer = 0;
  const SupportPtr first = cached_support(named, 196, 12);
  EXPECT_EQ(first.get(), cached_support(named, 196, 12).get());
  EXPECT_NE(first.get(), cached_support(other, 196, 12).get());
  EXPECT_EQ(first->set().head(0).offsets, (std::vector<int64_t>{1, 2, 3, 5}));
}

TEST(SupportCache, is_bounded_and_safe_to_share) {
  const NamedSupport named{"local:w=1", 0};
  const auto visit = [&] {
    for (int64_t n = 2; n < 700; ++n) EXPECT_EQ(cached_support(named, n, 1)->set().patches(), n);
  };
  std::thread one(visit), two(visit);
  one.join();
  two.join();
  EXPECT_EQ(cached_support(named, 2, 1)->set().patches(), 2);
}

}  // namespace
}  // namespace fib::ops
