// SPDX-License-Identifier: Apache-2.0
// Attention as its mechanism says: on a support set by the sparse kernels, on all pairs by the dense ones, or on the k
// keys of largest score. Recording knows it from attention/torch/mechanism.h; in ONNX it is attention_onnx.cpp.
#include "engine/operators/attention.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "attention/registry.h"
#include "attention/topk.h"
#include "base/parallel.h"
#include "engine/lowerer.h"
#include "engine/node_checker.h"
#include "engine/step_checker.h"
#include "engine/step_fields.h"
#include "fibottention/attention.h"
#include "patterns/support_size.h"

namespace fib::engine {
namespace {

/// Measured offsets stand in a file of their own, and a compiled model, which may come from anybody, must not open one.
bool reads_a_file(const std::string& attention) {
  if (!attention.starts_with("offsets:")) return false;
  const AttentionSpec spec = AttentionSpec::parse(attention);
  return std::ranges::any_of(spec.options, [](const auto& o) { return o.first == "file" && o.second != "none"; });
}

void check_bias(const NodeChecker& n, const Shape& bias) {
  const attention::Geometry& g = n.attributes<Attention>().geometry;
  const auto fits = [samples = n.in(0)[0]](const Dim& groups) {
    return groups == samples || (!groups.batched && samples.count % groups.count == 0);
  };
  const bool good = bias.size() == 4 && fits(bias[0]) && (bias[1] == Dim{1} || bias[1] == Dim{g.heads}) &&
                    bias[2] == Dim{g.query_tokens()} && bias[3] == Dim{g.key_tokens()};
  n.require(good, "the bias does not fit the layer");
}

void check_attention(const NodeChecker& n) {
  const auto& a = n.attributes<Attention>();
  const attention::Geometry& g = a.geometry;
  const Dim heads{g.heads}, queries{g.query_tokens()}, keys{g.key_tokens()}, d{g.head_dim}, e{g.value_dim};
  const size_t tensors = a.packed ? 1 : 3, inputs = n.node().inputs.size();
  attention::check_fit(AttentionSpec::parse(a.attention), g);
  if (inputs < tensors || inputs > tensors + 1) n.refuse("it has not as many inputs");
  for (size_t i = 0; i < tensors; ++i) n.require(n.has(i) && !n.in(i).empty(), "q, k or v is missing");
  const Dim samples = n.in(0)[0];
  if (a.packed) {
    n.require(n.in(0) == Shape{samples, queries, Dim{3}, heads, d} && g.square() && d == e,
              "qkv does not fit the layer");
  } else {
    const bool good = n.in(0) == Shape{samples, heads, queries, d} && n.in(1) == Shape{samples, heads, keys, d} &&
                      n.in(2) == Shape{samples, heads, keys, e};
    n.require(good, "q, k and v do not fit the layer");
  }
  if (n.has(tensors)) check_bias(n, n.in(tensors));
  n.require(n.out() == Shape{samples, queries, Dim{g.heads * g.value_dim}}, "the output does not fit the layer");
}

void lower_attention(Lowerer& l, size_t n) {
  const Node& node = l.node(n);
  const auto& a = node.as<Attention>();
  const Operand first = l.with_dense_rows(l.view(node.inputs[0]));
  const auto of_packed = [&](int64_t which) {  // [n,T,3,H,d] to [n,H,T,d]
    Operand o = permuted(first, {0, 3, 1, 4, 2});
    o.offset += which * o.strides[4];
    o.sizes.pop_back(), o.strides.pop_back();
    return o;
  };
  const auto of_own = [&](size_t i) { return l.with_dense_rows(l.view(node.inputs[i])); };
  const Operand q = a.packed ? of_packed(0) : first, k = a.packed ? of_packed(1) : of_own(1),
                v = a.packed ? of_packed(2) : of_own(2);
  const size_t bias = a.packed ? 1 : 3;
  const Operand bias_view =
      node.inputs.size() > bias && node.inputs[bias] != kNoValue ? l.view(node.inputs[bias]) : Operand{};
  const Operand out = l.fresh({q.sizes[0], q.sizes[2], q.sizes[1], v.sizes[3]});  // [n,Tq,H,e]
  if (reads_a_file(a.attention))
    throw std::invalid_argument("'" + a.attention +
                                "' cannot be compiled: a compiled model names no other file, and offsets are in one");
  Step& s = l.add_step(StepKind::attention);
  s.attributes = Attention{a.attention, a.geometry, false};
  s.at(Role::q) = q, s.at(Role::k) = k, s.at(Role::v) = v, s.at(Role::bias) = bias_view;
  s.at(Role::out) = permuted(out, {0, 2, 1, 3});
  l.set(node.output, dense(out.buffer, l.shape(node.output)));
}

// ---- The step -------------------------------------------------------------------------------------------------------

void attention_fields(StepFields& fields, Step& step) {
  edit_attributes<Attention>(step, [&](Attention& a) {
    attention::Geometry& g = a.geometry;
    const auto geometry = fields.group("geometry");
    const auto grid = [&](const char* name, const char* frames_name, attention::Grid& of) {
      std::array<int64_t, 2> sides{of.height, of.width};
      std::optional<int64_t> frames = of.frames > 1 ? std::optional(of.frames) : std::nullopt;
      geometry->pair(name, sides, {1, 1 << 15});
      geometry->integer(frames_name, frames, {1, 1 << 15});
      of = {sides[0], sides[1], frames.value_or(1)};
    };
    fields.text("attention", a.attention);
    geometry->integer("heads", g.heads, {1, kMaxHeads});
    geometry->integer("head_dim", g.head_dim, {1, 1 << 16});
    geometry->integer("value_dim", g.value_dim, {1, 1 << 16});
    geometry->integer("cls", g.cls, {0, kMaxClassTokens});
    grid("query_grid", "query_frames", g.query_grid), grid("key_grid", "key_frames", g.key_grid);
    geometry->flag("bias", g.bias);
    geometry->integer("layer", g.layer, {0, 1 << 20});
    geometry->number("scale", g.scale);
  });
}

void check_attention_step(const StepChecker& s) {
  s.need({Role::q, Role::k, Role::v});
  for (Role role : {Role::q, Role::k, Role::v, Role::out}) s.rank(role, 4), s.dense_rows(role);
  s.require(!reads_a_file(s.attributes<Attention>().attention), "its attention names a file");
  const attention::Geometry& g = s.attributes<Attention>().geometry;
  constexpr int64_t kMostTokens = 1 << 22;
  for (const attention::Grid& grid : {g.query_grid, g.key_grid})
    s.require(Checked(grid.height) * grid.width * grid.frames + g.cls <= kMostTokens, "more than {} tokens",
              kMostTokens);
  for (Role role : {Role::q, Role::k, Role::v, Role::out}) {
    s.same(s.size(role, 0), s.size(Role::out, 0), "samples");
    s.same(s.size(role, 1), g.heads, "heads");
  }
  s.same(s.size(Role::q, 2), g.query_tokens(), "query tokens");
  s.same(s.size(Role::out, 2), g.query_tokens(), "query tokens");
  s.same(s.size(Role::k, 2), g.key_tokens(), "key tokens");
  s.same(s.size(Role::v, 2), g.key_tokens(), "key tokens");
  s.same(s.size(Role::q, 3), s.size(Role::k, 3), "channels of q and k");
  s.same(s.size(Role::v, 3), s.size(Role::out, 3), "channels of v and out");
  if (!s.step().has(Role::bias)) return;
  s.rank(Role::bias, 4);
  const int64_t heads = s.size(Role::bias, 1);
  s.require(heads == 1 || heads == g.heads, "the bias has {} heads", heads);
  s.same(s.size(Role::bias, 2), g.query_tokens(), "queries of the bias");
  s.same(s.size(Role::bias, 3), g.key_tokens(), "keys of the bias");
  s.require(s.size(Role::out, 0) % s.size(Role::bias, 0) == 0, "{} biases for {} samples", s.size(Role::bias, 0),
            s.size(Role::out, 0));
}

template <class T>
TokenView<T> token_view(const Operand& o, T* data) {
  return {data, o.strides[0], o.strides[1], o.strides[2]};
}

/// What a step reads and writes.
struct AttentionArrays {
  AttentionShape shape;
  AttentionInputs<float> inputs;
  TokenView<float> out;
  DenseOptions<float> options;

  AttentionArrays(const Step& s, const Memory& m) {
    const Operand &q = s.at(Role::q), &k = s.at(Role::k), &v = s.at(Role::v), &bias = s.at(Role::bias);
    shape = {q.sizes[0], q.sizes[1], q.sizes[2], k.sizes[2], q.sizes[3], v.sizes[3]};
    inputs = {token_view<const float>(q, m.floats(q)), token_view<const float>(k, m.floats(k)),
              token_view<const float>(v, m.floats(v))};
    out = token_view(s.at(Role::out), m.floats(s.at(Role::out)));
    options.scale = s.as<Attention>().geometry.score_scale();
    if (bias.given()) {
      options.bias = {m.floats(bias),  bias.sizes[0],  bias.strides[0], bias.sizes[1] == 1 ? 0 : bias.strides[1],
                      bias.strides[2], bias.strides[3]};
    }
  }
};

/// One query of top-k attention.
void attend_to_largest(const AttentionArrays& c, int64_t k, int64_t b, int64_t h, int64_t query) {
  thread_local std::vector<attention::ScoredKey<float>> scored;
  scored.resize(static_cast<size_t>(c.shape.key_tokens));
  const BiasView<const float>& bias = c.options.bias;
  const float* q = c.inputs.q.row(b, h, query);
  const auto scale = static_cast<float>(*c.options.scale);
  for (int64_t t = 0; t < c.shape.key_tokens; ++t) {
    const float* key = c.inputs.k.row(b, h, t);
    float sum = 0;
    for (int64_t i = 0; i < c.shape.dim; ++i) sum += q[i] * key[i];
    sum *= scale;
    if (bias.data != nullptr)
      sum += bias.data[b % bias.groups * bias.group_stride + h * bias.head_stride + query * bias.query_stride +
                       t * bias.key_stride];
    scored[static_cast<size_t>(t)] = {sum, t};
  }
  attention::keep_largest(scored, k);
  float* out = c.out.row(b, h, query);
  std::fill_n(out, c.shape.value_dim, 0.0f);
  const float largest = scored.front().score;
  if (largest == -std::numeric_limits<float>::infinity()) return;
  float sum = 0;
  for (auto& [score, key] : scored) sum += score = std::exp(score - largest);
  for (const auto& [weight, key] : scored) {
    const float* value = c.inputs.v.row(b, h, key);
    for (int64_t i = 0; i < c.shape.value_dim; ++i) out[i] += weight / sum * value[i];
  }
}

void run_topk(const AttentionArrays& c, int64_t k) {
  parallel_tasks(c.shape.batch * c.shape.heads * c.shape.query_tokens, [&](int64_t i) {
    const int64_t head = i / c.shape.query_tokens;
    attend_to_largest(c, k, head / c.shape.heads, head % c.shape.heads, i % c.shape.query_tokens);
  });
}

BoundStep bind_attention(const Step& s, const Program&) {
  const auto& a = s.as<Attention>();
  const AttentionSpec spec = AttentionSpec::parse(a.attention);
  attention::check_spec(spec);
  if (spec.name == "full") {
    return [&s](const Memory& m) {
      const AttentionArrays c(s, m);
      dense_attention_forward<float>(c.shape, c.inputs, c.out, nullptr, c.options);
    };
  }
  if (spec.name == "topk") {
    const int64_t k = attention::integer_option(spec, "k", 1, a.geometry.key_tokens());
    return [&s, k](const Memory& m) { run_topk(AttentionArrays(s, m), k); };
  }
  const auto support = std::make_shared<const SupportSet>(attention::layer_support(spec, a.geometry));
  return [&s, support, masking = attention::masking_of(spec)](const Memory& m) {
    AttentionArrays c(s, m);
    c.options.masking = masking;
    attention_forward<float>(*support, c.shape, c.inputs, c.out, nullptr, c.options);
  };
}

// ---- What it takes --------------------------------------------------------------------------------------------------

/// Where the grids differ, pairs of cells become pairs of tokens, up to all of them.
SupportSize support_size(const AttentionSpec& spec, const attention::Geometry& g) {
  const double all = static_cast<double>(g.heads) * static_cast<double>(g.query_tokens() * g.key_tokens());
  if (!g.square()) return {all, all};
  PatternGeometry pattern;
  pattern.patches = g.query_grid.tokens(), pattern.grid = g.query_grid;
  pattern.cls = g.cls, pattern.heads = g.heads, pattern.layer = g.layer;
  return support_size_at_most(attention::pattern_spec(spec), pattern);
}

/// Of a support set: exactly its pairs where it is quickly made, else as many as it can have.
StepCost support_cost(const AttentionSpec& spec, const attention::Geometry& g, Checked per_pair, Checked samples,
                      Checked channels) {
  constexpr double kQuicklyMade = 65536, kMost = 9e18;
  constexpr int64_t kListedBytes = 40;   // a pair as it is drawn, sorted, and listed by query and by key
  constexpr int64_t kListedWork = 8192;  // 0.2 µs of one thread
  SupportSize size = support_size(spec, g);
  if (size.listed <= kQuicklyMade) size.pairs = static_cast<double>(attention::layer_support(spec, g).pairs());
  if (std::max(size.listed, size.pairs) > kMost)
    throw std::overflow_error("a support of more pairs than 63 bits count");
  const auto listed = static_cast<int64_t>(size.listed), pairs = static_cast<int64_t>(size.pairs);
  return {Checked(pairs) * samples * per_pair + Checked(listed) * kListedWork, 0, Checked(listed) * kListedBytes,
          Checked(pairs) * samples * channels};
}

/// A pair is a score, an exponential and a sum of values; channels count as whole vectors of 16. Of top-k attention it
/// is a score without SIMD and its place among the largest: measured, 15 to 40 times as long as a pair of full
/// attention.
StepCost attention_cost(const Step& s, const Program&) {
  const auto& a = s.as<Attention>();
  const AttentionSpec spec = AttentionSpec::parse(a.attention);
  attention::check_spec(spec);
  const auto& q = s.at(Role::q).sizes;
  const auto whole_vectors = [](int64_t channels) { return Checked((channels + 15) / 16) * 16; };
  const Checked scores = whole_vectors(q[3]), values = whole_vectors(s.at(Role::v).sizes[3]);
  const Checked all = Checked(q[0]) * q[1] * q[2] * s.at(Role::k).sizes[2];
  const Checked channels = Checked(q[3]) + s.at(Role::v).sizes[3];
  if (spec.name == "full") return {all * (scores + values + kElementWork), 0, 0, all * channels};
  if (spec.name != "topk") return support_cost(spec, a.geometry, scores + values + kElementWork, q[0], channels);
  const Checked scored = Checked(a.geometry.key_tokens()) * omp_get_max_threads() * (2 * sizeof(int64_t));
  constexpr int64_t kRankedWork = 1500;
  return {all * (scores * 8 + kRankedWork), scored};
}

}  // namespace

const Operator operators::attention{.name = "attention",
                                    .least_inputs = 1,
                                    .most_inputs = 4,
                                    .optional_inputs = true,
                                    .check = check_attention,
                                    .aten = {},
                                    .lower = lower_attention,
                                    .onnx = attention_to_onnx};

const StepType steps::attention{.name = "attention",
                                .check = check_attention_step,
                                .bind = bind_attention,
                                .cost = attention_cost,
                                .fields = attention_fields};

}  // namespace fib::engine
