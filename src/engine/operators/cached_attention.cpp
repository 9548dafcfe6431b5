// SPDX-License-Identifier: Apache-2.0
// Causal attention of the next tokens on the keys and values of earlier ones, which the engine keeps from call to call.
// The distances that a head looks back at stand in the file.
//
// Letters: n tokens, H heads, d channels of a head, R rows of the cache.
#include <omp.h>

#include <algorithm>
#include <cmath>

#include "engine/lowerer.h"
#include "engine/node_checker.h"
#include "engine/onnx_node.h"
#include "engine/step_checker.h"
#include "engine/step_fields.h"
#include "kernels/decode.h"

namespace fib::engine {
namespace {

void check_cached_attention(const NodeChecker& n) {
  const auto& a = n.attributes<CachedAttention>();
  const Shape& qkv = n.in(0);
  const bool good =
      qkv.size() == 2 && qkv[1] == Dim{3 * a.heads * a.head_dim} && n.out() == Shape{qkv[0], Dim{a.heads * a.head_dim}};
  n.require(good && a.rows >= 1, "qkv does not fit the layer");
}

void lower_cached_attention(Lowerer& l, size_t n) {
  const Node& node = l.node(n);
  const auto& a = node.as<CachedAttention>();
  const Operand qkv = l.as_rows(l.view(node.inputs[0]));  // [n,3·H·d]
  const int64_t tokens = qkv.sizes[0], width = a.heads * a.head_dim;
  const auto part = [&](int64_t which) {
    return Operand{
        qkv.buffer, qkv.offset + which * width, {tokens, a.heads, a.head_dim}, {qkv.strides[0], a.head_dim, 1}};
  };
  const Operand out = l.fresh({tokens, a.heads, a.head_dim});
  const Operand keys = l.state({a.heads, a.rows, a.head_dim}), values = l.state({a.heads, a.rows, a.head_dim});
  Step& s = l.add_step(StepKind::cached_attention);
  s.attributes = a;
  s.at(Role::q) = part(0), s.at(Role::k) = part(1), s.at(Role::v) = part(2);
  s.at(Role::keys) = keys, s.at(Role::values) = values, s.at(Role::out) = out;
  l.set(node.output, dense(out.buffer, l.shape(node.output)));
}

std::string cached_attention_to_onnx(OnnxNode&) { throw std::runtime_error("a decoder is not written as ONNX"); }

// ---- The step -------------------------------------------------------------------------------------------------------

void cached_attention_fields(StepFields& fields, Step& step) {
  edit_attributes<CachedAttention>(step, [&](CachedAttention& a) {
    fields.integer("heads", a.heads, {1, 1 << 16});
    fields.integer("head_dim", a.head_dim, {1, 1 << 16});
    fields.integer("rows", a.rows, {1, int64_t{1} << 32});
    fields.number("score_scale", a.scale);
    fields.number("rotary_base", a.rotary_base);
    fields.lists("distances", a.distances, {0, int64_t{1} << 32});
  });
}

/// Every distance is that of a row that the cache has.
void check_distances(const StepChecker& s, const CachedAttention& a) {
  s.require(a.distances.empty() || static_cast<int64_t>(a.distances.size()) == a.heads, "distances of {} heads, of {}",
            a.distances.size(), a.heads);
  for (const std::vector<int64_t>& head : a.distances) {
    int64_t before = -1;
    for (const int64_t distance : head) {
      s.require(distance > before, "distance {} stands behind {}", distance, before);
      s.require(distance < a.rows, "distance {} of a cache of {} rows", distance, a.rows);
      before = distance;
    }
  }
}

void check_cached_attention_step(const StepChecker& s) {
  const auto& a = s.attributes<CachedAttention>();
  s.need({Role::q, Role::k, Role::v, Role::keys, Role::values});
  for (const Role role : {Role::q, Role::k, Role::v, Role::out}) {
    s.rank(role, 3), s.dense_rows(role);
    s.same(s.size(role, 0), s.size(Role::out, 0), "tokens");
    s.same(s.size(role, 1), a.heads, "heads");
    s.same(s.size(role, 2), a.head_dim, "channels of a head");
  }
  for (const Role role : {Role::keys, Role::values}) {
    s.rank(role, 3);
    s.same(s.size(role, 0), a.heads, "heads of the cache");
    s.same(s.size(role, 1), a.rows, "rows of the cache");
    s.same(s.size(role, 2), a.head_dim, "channels of the cache");
    const std::vector<int64_t> dense{a.rows * a.head_dim, a.head_dim, 1};  // its values are there: no overflow
    s.require(s.at(role).strides == dense, "{} is not contiguous", name_of(role));
  }
  s.require(std::isfinite(a.scale), "scores cannot be scaled by {}", a.scale);
  const bool turns = a.rotary_base != 0;
  s.require(!turns || (a.rotary_base >= 1 && a.rotary_base <= 1e12), "rotary positions with base {}", a.rotary_base);
  s.require(!turns || a.head_dim % 2 == 0, "rotary positions turn pairs of channels, heads have {}", a.head_dim);
  check_distances(s, a);
}

kernels::NextTokens<float> tokens_of(const Operand& o, const Memory& m) {
  return {m.floats(o), o.strides[0], o.strides[1]};
}
kernels::NextTokens<const float> read_tokens(const Operand& o, const Memory& m) {
  return {m.floats(o), o.strides[0], o.strides[1]};
}

BoundStep bind_cached_attention(const Step& s, const Program&) {
  return [&s](const Memory& m) {
    const auto& a = s.as<CachedAttention>();
    kernels::decode_tokens({.tokens = s.at(Role::out).sizes[0],
                            .heads = a.heads,
                            .rows = a.rows,
                            .dim = a.head_dim,
                            .position = m.position,
                            .scale = static_cast<float>(a.scale),
                            .rotary_base = a.rotary_base,
                            .q = read_tokens(s.at(Role::q), m),
                            .k = read_tokens(s.at(Role::k), m),
                            .v = read_tokens(s.at(Role::v), m),
                            .keys = m.floats(s.at(Role::keys)),
                            .values = m.floats(s.at(Role::values)),
                            .out = tokens_of(s.at(Role::out), m)},
                           a.distances);
  };
}

/// With a full cache: a key is a score, an exponential and a sum of values.
StepCost cached_attention_cost(const Step& s, const Program&) {
  const auto& a = s.as<CachedAttention>();
  Checked keys = a.distances.empty() ? Checked(a.heads) * a.rows : Checked(0);
  int64_t longest = a.distances.empty() ? a.rows : 0;
  for (const std::vector<int64_t>& head : a.distances) {
    keys += static_cast<int64_t>(head.size());
    longest = std::max(longest, static_cast<int64_t>(head.size()));
  }
  const int64_t tokens = s.at(Role::out).sizes[0];
  const Checked channels = Checked((a.head_dim + 15) / 16) * 16, width = Checked(a.heads) * a.head_dim;
  const Checked weights = Checked(longest) * omp_get_max_threads() + width * 2;
  return {(keys * (channels * 2 + kElementWork) + width * kElementWork * 8) * tokens, weights * 4, keys * 8};
}

}  // namespace

const Operator operators::cached_attention{.name = "cached_attention",
                                           .least_inputs = 1,
                                           .most_inputs = 1,
                                           .check = check_cached_attention,
                                           .aten = {},
                                           .lower = lower_cached_attention,
                                           .onnx = cached_attention_to_onnx};

const StepType steps::cached_attention{.name = "cached_attention",
                                       .check = check_cached_attention_step,
                                       .bind = bind_cached_attention,
                                       .cost = cached_attention_cost,
                                       .fields = cached_attention_fields};

}  // namespace fib::engine
