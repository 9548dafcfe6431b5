// SPDX-License-Identifier: Apache-2.0
// Models whose tokens become fewer, beside the formulas of ToMe's and EViT's authors written down once more with
// torch's own operations, and beside dense attention with a mask.
#include "models/torch/token_reducer.h"

#include <gtest/gtest.h>

#include "attention/registry.h"
#include "helpers.h"
#include "models/torch/vit.h"
#include "ops/token_reduction.h"

namespace fib::models {
namespace {

using at::indexing::None;
using at::indexing::Slice;

ModelPtr reduced(const std::string& attention, const std::string& tokens, Pool pool = Pool::token) {
  torch::manual_seed(3);
  Options options = with_attention(attention);
  options.tokens = TokenReduction::parse(tokens);
  options.pool = pool;
  ModelPtr model = make("mini_vit", options);
  model->eval();
  const at::NoGradGuard no_grad;
  for (auto& item : model->named_parameters()) item.value().add_(at::randn_like(item.value()) * 0.1);
  return model;
}

/// A block of a ViT by its parameters, with the authors' reduction between attention and MLP.
class AuthorsVit {
 public:
  explicit AuthorsVit(const Model& model) : p_(model.named_parameters()), dims_(model.dimensions()) {}

  at::Tensor logits(const at::Tensor& images) {
    at::Tensor x = at::conv2d(images, of("patch_embed.proj.weight"), of("patch_embed.proj.bias"), dims_.row.patch);
    x = at::cat({of("cls_token").expand({images.size(0), -1, -1}), x.flatten(2).transpose(1, 2)}, 1) + of("pos_embed");
    size_ = at::Tensor();
    for (int64_t i = 0; i < dims_.row.depth; ++i) x = block(x, i);
    return linear(norm(x, "norm").select(1, 0), "head");
  }

 private:
  const at::Tensor& of(const std::string& name) const { return p_[name]; }
  at::Tensor linear(const at::Tensor& x, const std::string& at) const {
    return at::linear(x, of(at + ".weight"), of(at + ".bias"));
  }
  at::Tensor norm(const at::Tensor& x, const std::string& at) const {
    return at::layer_norm(x, {x.size(2)}, of(at + ".weight"), of(at + ".bias"), 1e-6);
  }

  at::Tensor block(at::Tensor x, int64_t i) {
    const std::string at = "blocks." + std::to_string(i) + ".";
    const int64_t B = x.size(0), N = x.size(1), h = dims_.row.heads, d = dims_.head_dim();
    const at::Tensor qkv =
        linear(norm(x, at + "norm1"), at + "attn.qkv").view({B, N, 3, h, d}).permute({2, 0, 3, 1, 4});
    at::Tensor attn = at::matmul(qkv[0], qkv[1].transpose(2, 3)) / std::sqrt(static_cast<double>(d));
    const bool tome = dims_.options.tokens.method == TokenReduction::Method::tome;
    if (tome && size_.defined()) attn = attn + size_.log().index({Slice(), None, None, Slice(), 0});
    attn = at::softmax(attn, -1);
    x = x + linear(at::matmul(attn, qkv[2]).transpose(1, 2).flatten(2), at + "attn.proj");
    if (tome) x = merged(x, qkv[1].mean(1));
    if (!tome && std::ranges::count(dims_.options.tokens.at, i) > 0) x = kept(x, attn);
    return x + linear(at::gelu(linear(norm(x, at + "norm2"), at + "mlp.fc1")), at + "mlp.fc2");
  }

  /// bipartite_soft_matching and merge_wavg.
  at::Tensor merged(const at::Tensor& x, at::Tensor metric) {
    const int64_t r = dims_.options.tokens.merged;
    metric = metric / metric.norm(2, {-1}, true);
    const auto half = [](const at::Tensor& t, int64_t first) { return t.index({Slice(), Slice(first, None, 2)}); };
    at::Tensor scores = at::matmul(half(metric, 0), half(metric, 1).transpose(1, 2));
    scores.index_put_({Slice(), 0}, -std::numeric_limits<double>::infinity());
    const auto [node_max, node_idx] = scores.max(-1);
    const at::Tensor edges = node_max.argsort(-1, true).unsqueeze(2);
    const at::Tensor stays = std::get<0>(edges.narrow(1, r, edges.size(1) - r).sort(1));
    const at::Tensor goes = edges.narrow(1, 0, r), to = node_idx.unsqueeze(2).gather(1, goes);
    const auto merge = [&](const at::Tensor& t) {
      const int64_t C = t.size(2);
      const at::Tensor a = half(t, 0), target = half(t, 1);
      const at::Tensor sums = target.scatter_add(1, to.expand({-1, -1, C}), a.gather(1, goes.expand({-1, -1, C})));
      return at::cat({a.gather(1, stays.expand({-1, -1, C})), sums}, 1);
    };
    if (!size_.defined()) size_ = at::ones({x.size(0), x.size(1), 1});
    const at::Tensor sum = merge(x * size_);
    size_ = merge(size_);
    return sum / size_;
  }

  /// EViT's token reorganization; the order of what is kept does not matter to dense attention.
  at::Tensor kept(const at::Tensor& x, const at::Tensor& attn) const {
    const int64_t N = x.size(1) - 1, C = x.size(2);
    const auto left = static_cast<int64_t>(std::ceil(dims_.options.tokens.keep * static_cast<double>(N)));
    const at::Tensor cls_attn = attn.select(2, 0).narrow(2, 1, N).mean(1);
    const auto [order_values, order] = cls_attn.sort(-1, true);
    const at::Tensor patches = x.narrow(1, 1, N);
    const auto pick = [&](int64_t first, int64_t count) {
      return patches.gather(1, order.narrow(1, first, count).unsqueeze(2).expand({-1, -1, C}));
    };
    const at::Tensor extra = (pick(left, N - left) * order_values.narrow(1, left, N - left).unsqueeze(2)).sum(1, true);
    return at::cat({x.narrow(1, 0, 1), pick(0, left), extra}, 1);
  }

  torch::OrderedDict<std::string, at::Tensor> p_;
  Dimensions dims_;
  at::Tensor size_;
};

TEST(FewerTokens, are_those_of_the_authors_formulas) {
  const at::NoGradGuard no_grad;
  for (const char* tokens : {"tome:r=1", "tome:r=9", "evit:keep=0.7,at=0,2", "evit:keep=0.3,at=1"}) {
    const ModelPtr model = reduced("full", tokens);
    const at::Tensor x = images(*model, 3), want = AuthorsVit(*model).logits(x);
    EXPECT_LT((model->forward(x) - want).abs().max().item<double>(), 1e-4 * want.abs().max().item<double>()) << tokens;
  }
}

TEST(FewerTokens, pass_gradients_as_the_authors_formulas_do) {
  for (const char* tokens : {"tome:r=9", "evit:keep=0.7,at=0,2"}) {
    const ModelPtr model = reduced("full", tokens);
    const at::Tensor x = images(*model, 2), weight = model->named_parameters()["blocks.0.attn.qkv.weight"];
    const at::Tensor got = torch::autograd::grad({model->forward(x).square().sum()}, {weight})[0];
    const at::Tensor want = torch::autograd::grad({AuthorsVit(*model).logits(x).square().sum()}, {weight})[0];
    EXPECT_LT((got - want).abs().max().item<double>(), 1e-3 * want.abs().max().item<double>()) << tokens;
  }
}

/// Random owners of 48 patches: 17 tokens, the class token first.
at::Tensor some_owner(int64_t batch) {
  at::Tensor owner = at::randint(1, 17, {batch, 65}, at::kFloat);
  owner.narrow(1, 0, 17).copy_(at::arange(17));
  return owner;
}

struct Attended {
  at::Tensor got, want;
};

/// Block 1 with 17 tokens, beside dense attention in which a pair is left out unless the support has the two places.
Attended attended(const std::string& attention, const std::string& distance) {
  Options options = with_attention(attention);
  options.tokens = TokenReduction::parse("evit:keep=0.234,at=0,distance=" + distance);
  const Dimensions dims = dimensions("mini_vit", options);
  const AttentionLayer layer = attention_layers(dims)[1];
  const attention::MechanismPtr mechanism = attention::make(layer.attention, layer.geometry);
  mechanism->eval();
  const at::Tensor owner = some_owner(2), qkv = at::randn({2, 17, 3, 3, 16});
  const at::Tensor places = ops::tell_tokens(owner, 17, 1, 8, 8, distance == "compact" ? "ranks" : "slots");
  const SupportSet support = attention::layer_support(layer.attention, layer.geometry);
  at::Tensor outside = at::ones({2, 3, 17, 17}, at::kBool);
  for (int32_t b = 0; b < 2; ++b) {
    for (int64_t h = 0; h < 3; ++h) {
      for (int64_t i = 0; i < 17 * 17; ++i) {
        const auto place = [&](int64_t t) { return static_cast<int32_t>(places[b][t].item<float>()); };
        if (support.contains(h, {place(i / 17), place(i % 17)})) outside[b][h][i / 17][i % 17] = false;
      }
    }
  }
  const attention::Inputs in = attention::unpack(qkv);
  const at::Tensor scores =
      attention::dense_scores(in, 0.25).masked_fill(outside, -std::numeric_limits<double>::infinity());
  const at::Tensor want = attention::merge_heads(at::matmul(attention::softmax_or_zero(scores), in.v));
  return {TokenReducer(dims, 1).attend(*mechanism, qkv, owner), want};
}

TEST(FewerTokens, look_at_distances_among_those_that_are_left_or_of_their_places) {
  torch::manual_seed(5);
  for (const char* attention : {"fibottention", "fibottention-modified", "bigbird:w=2"}) {
    for (const char* distance : {"compact", "original"}) {
      const auto [got, want] = attended(attention, distance);
      EXPECT_LT((got - want).abs().max().item<double>(), 1e-5) << attention << " " << distance;
    }
  }
  const auto [got, want] = attended("fibottention:grid=3", "original");
  EXPECT_LT((got - want).abs().max().item<double>(), 1e-5);
}

TEST(FewerTokens, take_pictures_of_another_size) {
  const at::NoGradGuard no_grad;
  for (const char* distance : {"compact", "original"}) {
    const ModelPtr model = reduced("fibottention", std::string("tome:r=5,distance=") + distance);
    model->set_resolution(80, 96);
    EXPECT_EQ(model->forward(images(*model, 1)).sizes(), (at::IntArrayRef{1, 10}));
  }
}

TEST(FewerTokens, count_as_what_they_are_made_of_in_a_mean) {
  const at::NoGradGuard no_grad;
  const ModelPtr model = reduced("full", "tome:r=9", Pool::mean);
  EXPECT_EQ(model->features(images(*model, 2)).sizes(), (at::IntArrayRef{2, 48}));
  // Tokens that are all alike have the same mean however they are merged.
  const at::Tensor x = at::randn({1, 1, 4}).expand({1, 9, 4}), keys = at::randn({1, 2, 9, 4});
  const at::Tensor plan = ops::plan_merging(keys, 3, 1);
  EXPECT_LT((ops::merge_tokens(x, {}, plan, 6, true) - x.narrow(1, 0, 6)).abs().max().item<double>(), 1e-6);
}

}  // namespace
}  // namespace fib::models
