// SPDX-License-Identifier: Apache-2.0
// Facts that hold for every mechanism of the registry, so that a new one is tested by existing.
#include "attention/torch/mechanism.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "bench/measure.h"

namespace fib::attention {
namespace {

Geometry geometry(Grid query = {4, 5}, Grid key = {4, 5}, int64_t cls = 1) {
  Geometry g;
  g.heads = 3;
  g.head_dim = g.value_dim = 8;
  g.cls = cls;
  g.query_grid = query;
  g.key_grid = key;
  g.layer = 1;
  return g;
}

MechanismPtr make_double(const std::string& spec, const Geometry& g, double dropout = 0.0) {
  MechanismPtr attention = make(AttentionSpec::parse(spec), g, dropout);
  attention->to(at::kDouble);
  attention->eval();
  return attention;
}

Inputs random_inputs(const Geometry& g, int64_t batch = 4) {
  const auto options = at::TensorOptions(at::kDouble).requires_grad(true);
  return {torch::randn({batch, g.heads, g.query_tokens(), g.head_dim}, options),
          torch::randn({batch, g.heads, g.key_tokens(), g.head_dim}, options),
          torch::randn({batch, g.heads, g.key_tokens(), g.value_dim}, options),
          {}};
}

bool takes_bias(const MechanismInfo& m) { return m.name != "linformer" && m.name != "efficient"; }

// ---- Oracles: the definition of each mechanism on dense [B,H,Tq,Tk] matrices, sharing no code with it ---------------

/// Scores q·k of all pairs; sample b has the bias of group b mod G.
at::Tensor scores_of(const Inputs& in, double scale) {
  at::Tensor scores = at::einsum("bhqd,bhkd->bhqk", {in.q, in.k}) * scale;
  if (!in.bias.defined()) return scores;
  std::vector<at::Tensor> samples;
  for (int64_t b = 0; b < scores.size(0); ++b) samples.push_back(scores[b] + in.bias[b % in.bias.size(0)]);
  return at::stack(samples);
}

/// e^s over the sum of a row's e^s, of the pairs that are kept; a row that keeps none is zero.
at::Tensor weights_of_kept(const at::Tensor& scores, const at::Tensor& kept) {
  const at::Tensor top = scores.detach().amax(-1, true);
  const at::Tensor weights = (scores - top).exp() * kept.to(scores.scalar_type());
  return weights / weights.sum(-1, true).clamp_min(1e-300);
}

/// Pair by pair, as the support set answers.
at::Tensor kept_by(const SupportSet& set) {
  const at::Tensor kept = at::zeros({set.num_heads(), set.query_tokens(), set.key_tokens()}, at::kBool);
  auto values = kept.accessor<bool, 3>();
  for (int64_t h = 0; h < set.num_heads(); ++h) {
    for (int32_t q = 0; q < set.query_tokens(); ++q) {
      for (int32_t k = 0; k < set.key_tokens(); ++k) values[h][q][k] = set.contains(h, {q, k});
    }
  }
  return kept;
}

/// A key is kept where fewer than k have larger scores.
at::Tensor kept_by_rank(const at::Tensor& scores, int64_t k) {
  return scores.unsqueeze(-2).gt(scores.unsqueeze(-1)).sum(-1).lt(k);
}

/// Which share of a tile's mean each token is, [S,T].
at::Tensor shares_of_tiles(const SupportSet& set) {
  const Tiling& tiling = *set.summaries();
  const at::Tensor inside = at::zeros({tiling.count(), set.key_tokens()}, at::kDouble);
  for (int64_t p = 0; p < set.patches(); ++p) inside[tiling.tile_of(p)][set.cls() + p] = 1.0;
  return inside / inside.sum(1, true);
}

/// Those of kept pairs, and those of summaries spread over the tokens that they are the means of.
at::Tensor weights_with_summaries(const Inputs& in, const at::Tensor& scores, const SupportSet& set, double scale) {
  const at::Tensor shares = shares_of_tiles(set);
  const at::Tensor means = at::einsum("st,bhtd->bhsd", {shares, in.k});
  const at::Tensor sizes = shares.gt(0).sum(1).to(at::kDouble);
  const at::Tensor of_means = scores_of({in.q, means, in.v, {}}, scale) + sizes.log();
  at::Tensor seen = at::ones({set.num_heads(), set.query_tokens(), set.summaries()->count()}, at::kBool);
  seen.narrow(1, 0, set.cls()).fill_(false);
  const at::Tensor all = weights_of_kept(at::cat({scores, of_means}, -1), at::cat({kept_by(set), seen}, -1));
  return all.narrow(-1, 0, set.key_tokens()) +
         at::einsum("bhqs,st->bhqt", {all.narrow(-1, set.key_tokens(), set.summaries()->count()), shares});
}

at::Tensor oracle_weights(const Mechanism& attention, const Inputs& in) {
  const std::string& name = attention.spec().name;
  const double scale = attention.geometry().score_scale();
  if (name == "efficient") {
    return at::einsum("bhqd,bhkd->bhqk",
                      {in.q.exp() / in.q.exp().sum(-1, true), in.k.exp() / in.k.exp().sum(-2, true)});
  }
  if (name == "linformer") {
    const auto learned = attention.named_parameters();
    const at::Tensor keys = at::einsum("pk,bhkd->bhpd", {learned["proj_k"], in.k});
    const at::Tensor scores = scores_of({in.q, keys, in.v, {}}, scale);
    return at::einsum("bhqp,pk->bhqk", {weights_of_kept(scores, at::ones({}, at::kBool)), learned["proj_v"]});
  }
  const at::Tensor scores = scores_of(in, scale);
  if (name == "full") return weights_of_kept(scores, at::ones({}, at::kBool));
  if (name == "topk") return weights_of_kept(scores, kept_by_rank(scores.detach(), 3));
  const SupportSet set = layer_support(attention.spec(), attention.geometry());
  return set.summaries() ? weights_with_summaries(in, scores, set, scale) : weights_of_kept(scores, kept_by(set));
}

/// [B,Tq,H·e]
at::Tensor expected(const Mechanism& attention, const Inputs& in) {
  const at::Tensor out = at::einsum("bhqk,bhke->bqhe", {oracle_weights(attention, in), in.v});
  return out.reshape({out.size(0), out.size(1), -1});
}

at::Tensor gradient(const at::Tensor& out, const at::Tensor& input) {
  const at::Tensor direction = at::linspace(-1, 1, out.numel(), out.options()).view(out.sizes());
  return torch::autograd::grad({(out * direction).sum()}, {input}, {}, true)[0];
}

void expect_close(const at::Tensor& a, const at::Tensor& b, const std::string& what) {
  ASSERT_EQ(a.sizes(), b.sizes()) << what;
  EXPECT_LT((a - b).abs().max().item<double>(), 1e-11) << what;
}

void expect_output_and_gradients(Mechanism& attention, const Inputs& in) {
  const at::Tensor out = attention.forward(in), want = expected(attention, in);
  expect_close(out, want, "output");
  expect_close(gradient(out, in.q), gradient(want, in.q), "dq");
  expect_close(gradient(out, in.k), gradient(want, in.k), "dk");
  expect_close(gradient(out, in.v), gradient(want, in.v), "dv");
  if (in.bias.defined()) expect_close(gradient(out, in.bias), gradient(want, in.bias), "dbias");
  const at::NoGradGuard no_grad;
  expect_close(attention.forward(in), want, "output without gradients");
  expect_close(attention.probabilities(in), oracle_weights(attention, in), "weights");
}

class EveryMechanism : public testing::Test {
 protected:
  void SetUp() override { torch::manual_seed(7); }
};

TEST_F(EveryMechanism, computes_its_definition) {
  for (const MechanismInfo& m : mechanisms()) {
    SCOPED_TRACE(m.name);
    for (int64_t cls : {0, 1, 2}) {
      const MechanismPtr attention = make_double(m.name, geometry({4, 5}, {4, 5}, cls));
      expect_output_and_gradients(*attention, random_inputs(attention->geometry()));
    }
  }
}

TEST_F(EveryMechanism, that_is_a_support_takes_neighbors_and_summaries) {
  for (const MechanismInfo& m : mechanisms()) {
    if (!m.support_set) continue;
    for (const char* options : {":grid=3", ":summaries=2x3", ":grid=5,summaries=4x4"}) {
      SCOPED_TRACE(m.name + options);
      for (int64_t cls : {0, 1, 2}) {
        const MechanismPtr attention = make_double(m.name + options, geometry({4, 5}, {4, 5}, cls));
        expect_output_and_gradients(*attention, random_inputs(attention->geometry()));
      }
    }
  }
}

TEST_F(EveryMechanism, has_neighbors_where_keys_are_pooled_and_no_summaries) {
  const Geometry pooled = geometry({4, 6}, {2, 3});
  const MechanismPtr attention = make_double("fibottention:grid=3", pooled);
  expect_output_and_gradients(*attention, random_inputs(pooled));
  EXPECT_THROW(make(AttentionSpec::parse("fibottention:summaries=2x2"), pooled), std::invalid_argument);
}

TEST_F(EveryMechanism, with_summaries_takes_a_bias_for_pairs_of_tokens_and_no_zero_masking) {
  Geometry biased = geometry();
  biased.bias = true;
  expect_output_and_gradients(*make_double("local:summaries=2x2", biased), random_inputs(biased));
  EXPECT_THROW(make(AttentionSpec::parse("local:summaries=2x2,masking=zero"), geometry()), std::invalid_argument);
}

TEST_F(EveryMechanism, takes_fewer_keys_than_queries_and_more) {
  for (const MechanismInfo& m : mechanisms()) {
    SCOPED_TRACE(m.name);
    for (const auto& [query, key] : {std::pair<Grid, Grid>{{4, 6}, {2, 3}}, std::pair<Grid, Grid>{{3, 3}, {5, 6}}}) {
      const MechanismPtr attention = make_double(m.name, geometry(query, key));
      expect_output_and_gradients(*attention, random_inputs(attention->geometry()));
    }
  }
}

TEST_F(EveryMechanism, adds_the_bias_of_a_samples_group_or_says_why_not) {
  for (const MechanismInfo& m : mechanisms()) {
    SCOPED_TRACE(m.name);
    const MechanismPtr attention = make_double(m.name, geometry());
    for (const auto& [groups, heads] : {std::pair<int64_t, int64_t>{2, 3}, std::pair<int64_t, int64_t>{1, 1}}) {
      Inputs in = random_inputs(attention->geometry());
      in.bias = torch::randn({groups, heads, 21, 21}, at::TensorOptions(at::kDouble).requires_grad(true));
      if (takes_bias(m)) {
        expect_output_and_gradients(*attention, in);
      } else {
        EXPECT_THROW(attention->forward(in), std::invalid_argument);
      }
    }
  }
}

TEST_F(EveryMechanism, has_rows_of_weights_that_sum_to_one) {
  for (const MechanismInfo& m : mechanisms()) {
    if (m.name == "linformer") continue;  // its value projection is free
    const MechanismPtr attention = make_double(m.name, geometry());
    const at::Tensor sums = attention->probabilities(random_inputs(attention->geometry())).sum(-1);
    EXPECT_LT((sums - 1).abs().max().item<double>(), 1e-12) << m.name;
  }
}

TEST_F(EveryMechanism, gives_the_same_from_packed_inputs) {
  for (const MechanismInfo& m : mechanisms()) {
    SCOPED_TRACE(m.name);
    const std::string spec = m.name == "efficient" ? "efficient:dim=0" : m.name;
    const MechanismPtr attention = make_double(spec, geometry());
    const at::Tensor qkv = torch::randn({2, 21, 3, 3, 8}, at::TensorOptions(at::kDouble).requires_grad(true));
    const at::Tensor packed = attention->forward_packed(qkv), apart = attention->forward(unpack(qkv));
    expect_close(packed, apart, "output");
    expect_close(gradient(packed, qkv), gradient(apart, qkv), "gradient");
  }
}

TEST_F(EveryMechanism, follows_the_grid_or_says_why_not) {
  for (const MechanismInfo& m : mechanisms()) {
    SCOPED_TRACE(m.name);
    const MechanismPtr attention = make_double(m.name, geometry());
    if (m.name == "linformer") {
      EXPECT_THROW(attention->resize({6, 7}, {6, 7}), std::invalid_argument);
      EXPECT_EQ(attention->geometry().query_grid, (Grid{4, 5}));
      continue;
    }
    attention->resize({6, 7}, {6, 7});
    const Inputs in = random_inputs(attention->geometry());
    expect_close(attention->forward(in), make_double(m.name, geometry({6, 7}, {6, 7}))->forward(in), "output");
    EXPECT_EQ(attention->cost().pairs, cost(attention->spec(), geometry({6, 7}, {6, 7})).pairs);
  }
}

TEST_F(EveryMechanism, keeps_nothing_but_learned_parameters) {
  for (const MechanismInfo& m : mechanisms()) {
    const MechanismPtr attention = make(AttentionSpec::parse(m.name), geometry());
    int64_t learned = 0;
    for (const at::Tensor& parameter : attention->parameters()) learned += parameter.numel();
    EXPECT_EQ(learned, attention->cost().parameters) << m.name;
    EXPECT_TRUE(attention->buffers().empty()) << m.name;
  }
}

TEST_F(EveryMechanism, drops_weights_in_training_only_and_keeps_their_mean) {
  const at::NoGradGuard no_grad;
  for (const MechanismInfo& m : mechanisms()) {
    SCOPED_TRACE(m.name);
    if (m.name == "efficient") {
      EXPECT_THROW(make(AttentionSpec::parse("efficient"), geometry(), 0.5), std::invalid_argument);
      continue;
    }
    const MechanismPtr attention = make_double(m.name, geometry(), 0.5);
    const Inputs in = random_inputs(attention->geometry(), 1);
    expect_close(attention->forward(in), expected(*attention, in), "evaluation");
    attention->train();
    at::Tensor mean = at::zeros_like(attention->forward(in));
    const int draws = 300;
    for (int i = 0; i < draws; ++i) mean += attention->forward(in) / draws;
    const at::Tensor error = mean - expected(*attention, in);
    EXPECT_GT(error.abs().max().item<double>(), 0.0);
    EXPECT_LT(error.abs().mean().item<double>(), 0.06);
  }
}

TEST_F(EveryMechanism, names_the_shape_it_wanted) {
  for (const MechanismInfo& m : mechanisms()) {
    const MechanismPtr attention = make_double(m.name, geometry());
    Inputs in = random_inputs(attention->geometry());
    in.k = in.k.narrow(2, 0, 20);
    try {
      attention->forward(in);
      ADD_FAILURE() << m.name;
    } catch (const std::invalid_argument& e) {
      EXPECT_NE(std::string(e.what()).find("k must be [B, 3, 21,"), std::string::npos) << e.what();
    }
  }
}

TEST(TopKAttention, holds_one_tile_of_scores) {
  Geometry g = geometry({64, 128}, {64, 128}, 0);
  g.heads = 2;
  g.head_dim = g.value_dim = 4;
  const MechanismPtr attention = make(AttentionSpec::parse("topk"), g);
  const at::Tensor qkv = torch::randn({1, 8192, 3, 2, 4}, torch::requires_grad());
  const bench::PeakMemory peak;
  attention->forward_packed(qkv).sum().backward();
  const std::optional<int64_t> grown = peak.growth();
  if (!grown) GTEST_SKIP() << "this kernel does not tell how far memory grew";
  EXPECT_LT(*grown, 100'000'000) << "all scores together are 512 MB";
}

TEST(TopKAttention, with_k_beyond_the_keys_is_full_attention) {
  const MechanismPtr all = make_double("topk:k=1000", geometry()), full = make_double("full", geometry());
  const Inputs in = random_inputs(geometry());
  expect_close(all->forward(in), full->forward(in), "output");
}

TEST(FullAttention, gives_the_same_by_tiles_and_by_products) {
  const at::NoGradGuard no_grad;
  const Geometry g = geometry({32, 32}, {32, 32});  // more than one tile
  const Inputs in = random_inputs(g, 2);
  expect_close(make_double("full", g)->forward(in), make_double("full:path=products", g)->forward(in), "output");
}

TEST(FullAttention, of_a_query_that_may_see_nothing_is_zero) {
  const MechanismPtr full = make_double("full", geometry());
  Inputs in = random_inputs(geometry());
  in.bias = at::zeros({1, 1, 21, 21}, at::kDouble);
  in.bias.select(2, 5).fill_(-std::numeric_limits<double>::infinity());
  EXPECT_EQ(full->forward(in).select(1, 5).abs().max().item<double>(), 0.0);
  const at::NoGradGuard no_grad;
  EXPECT_EQ(full->forward(in).select(1, 5).abs().max().item<double>(), 0.0);
}

TEST(ScoreScale, is_the_geometrys_where_it_has_one) {
  for (const char* name : {"full", "fibottention", "topk", "linformer"}) {
    Geometry g = geometry();
    g.scale = 0.05;
    const MechanismPtr attention = make_double(name, g);
    Inputs in = random_inputs(g);
    const at::Tensor scaled = attention->forward(in);
    const MechanismPtr plain = make_double(name, geometry());
    for (size_t i = 0; i < plain->parameters().size(); ++i) {
      const at::NoGradGuard no_grad;
      plain->parameters()[i].copy_(attention->parameters()[i]);
    }
    in.q = in.q * (0.05 * std::sqrt(8.0));
    expect_close(scaled, plain->forward(in), name);
  }
}

}  // namespace
}  // namespace fib::attention
