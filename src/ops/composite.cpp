// SPDX-License-Identifier: Apache-2.0
// Heads with the same pattern are computed together, a group of G heads. With s the scores of a row's pairs and m their
// maximum:
//   out = Σ e^(s-m) v / Σ e^(s-m)     lse = m + log Σ e^(s-m)
// Under masking zero a pair weighs e^(s-m) - e^(0-m), and every key, in the support or not, e^(0-m) on top.
#include <cmath>
#include <limits>

#include "kernels/dropout.h"
#include "ops/operator.h"
#include "ops/segments.h"

namespace fib::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// 32-bit words live in int64 tensors; a product wraps modulo 2^64, which leaves its low 32 bits right.
constexpr int64_t kWord = INT64_C(0xffffffff);

at::Tensor low_word(const at::Tensor& x) { return at::bitwise_and(x, kWord); }

at::Tensor fold(const at::Tensor& x, int64_t shift) { return at::bitwise_xor(x, at::bitwise_right_shift(x, shift)); }

at::Tensor mix32(const at::Tensor& x) {
  const at::Tensor y = low_word(fold(x, 16) * INT64_C(0x7feb352d));
  return fold(low_word(fold(y, 15) * INT64_C(0x846ca68b)), 16);
}

/// The kernels' dropout (kernels/dropout.h) in ATen's integers, so that a seed drops the same pairs on every path.
class CompositeDropout {
 public:
  /// For the given heads of a batch.
  CompositeDropout(double probability, int64_t seed, int64_t batch, const std::vector<int64_t>& heads,
                   const at::Device& device);

  /// [B,G,count] of 0 and 1/(1-p), for the pairs of a segment.
  at::Tensor factors(const Segment& segment, at::ScalarType type) const;

 private:
  double probability_;
  at::Tensor query_key_, key_key_;  // int64 [B,G,1]
};

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

/// The heads that share one pattern, and what is theirs of the operands.
struct Group {
  std::vector<int64_t> heads;
  Operands x;          // [B,G,T,·], in the computing type
  at::Tensor bias;     // [B,G or 1,Tq,Tk] or undefined
  at::Tensor lengths;  // [B,1,1] or undefined
  double scale = 1.0;
  bool zero_masking = false;
  double dropout = 0.0;
  int64_t seed = 0;
};

bool same_pattern(const SupportSet::Head& a, const SupportSet::Head& b) {
  return a.offsets == b.offsets && a.diagonal == b.diagonal && a.neighbors == b.neighbors &&
         a.pairs.to_vector() == b.pairs.to_vector();
}

std::vector<std::vector<int64_t>> heads_by_pattern(const SupportSet& set) {
  std::vector<std::vector<int64_t>> groups;
  for (int64_t h = 0; h < set.num_heads(); ++h) {
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const std::vector<int64_t>& g) {
      return same_pattern(set.head(g.front()), set.head(h));
    });
    if (same == groups.end()) {
      groups.push_back({h});
    } else {
      same->push_back(h);
    }
  }
  return groups;
}

/// [B,H,…] -> [B,G,…], a view where the heads are neighbours.
at::Tensor select_heads(const at::Tensor& x, const std::vector<int64_t>& heads) {
  const int64_t count = static_cast<int64_t>(heads.size());
  if (heads.back() - heads.front() + 1 == count) return x.narrow(1, heads.front(), count);
  return x.index_select(1, at::tensor(heads, at::TensorOptions().dtype(at::kLong).device(x.device())));
}

/// [G,H or 1,Tq,Tk] -> [B,·,Tq,Tk]: sample b uses group b mod G.
at::Tensor bias_per_sample(const at::Tensor& bias, int64_t batch) {
  const int64_t groups = bias.size(0);
  return groups == 1 ? bias.expand({batch, -1, -1, -1}) : bias.repeat({batch / groups, 1, 1, 1});
}

Group make_group(const Operands& x, const Arguments& a, std::vector<int64_t> heads) {
  Group g;
  g.x = {select_heads(x.q, heads), select_heads(x.k, heads), select_heads(x.v, heads)};
  if (a.bias) {
    const at::Tensor bias = bias_per_sample(a.bias->to(x.q.scalar_type()), x.q.size(0));
    g.bias = bias.size(1) == 1 ? bias : select_heads(bias, heads);
  }
  if (a.lengths) g.lengths = a.lengths->to(x.q.device()).view({-1, 1, 1});
  g.scale = a.scale.value_or(1.0 / std::sqrt(static_cast<double>(x.q.size(3))));
  g.zero_masking = a.masking == Masking::zero;
  g.dropout = a.dropout;
  g.seed = seed_of(a);
  g.heads = std::move(heads);
  return g;
}

/// Padding has score -∞, as key and, where queries and keys are the same tokens, as query.
at::Tensor hide_padding(const at::Tensor& scores, const Group& g, const Segment& segment) {
  at::Tensor hidden = segment.keys.tokens(scores.device()).ge(g.lengths);
  if (g.x.q.size(2) == g.x.k.size(2)) hidden = hidden.logical_or(segment.queries.tokens(scores.device()).ge(g.lengths));
  return scores.masked_fill(hidden, -kInfinity);
}

/// [B,G,count]
at::Tensor score(const Group& g, const Segment& segment) {
  at::Tensor s = (segment.queries.take(g.x.q) * segment.keys.take(g.x.k)).sum(-1) * g.scale;
  if (segment.score != 0.0) s = s + segment.score;
  const bool of_summary = g.bias.defined() && segment.keys.begin >= g.bias.size(3);  // has none
  if (g.bias.defined() && !of_summary) s = s + segment.take_bias(g.bias);
  return g.lengths.defined() ? hide_padding(s, g, segment) : s;
}

/// The rows' largest score [B,G,Tq], 0 where there is none; a constant for the derivative, since it cancels.
at::Tensor row_maximum(const Group& g, const std::vector<Segment>& segments, const std::vector<at::Tensor>& scores) {
  const at::NoGradGuard guard;
  const at::Tensor& q = g.x.q;
  at::Tensor m = at::full({q.size(0), q.size(1), q.size(2)}, g.zero_masking ? 0.0 : -kInfinity, q.options());
  for (size_t i = 0; i < segments.size(); ++i) segments[i].queries.max_into(m, scores[i].detach());
  return m.masked_fill_(m.eq(-kInfinity), 0.0);
}

/// Numerator [B,G,Tq,e] and denominator [B,G,Tq] before any pair has been added.
struct Sums {
  at::Tensor numerator, denominator;
};

/// 0 that torch can follow back to q, k and v: a head without any pair has zero gradients, not none.
at::Tensor sum_of_nothing(const Operands& x) {
  return x.q.narrow(0, 0, 0).sum() + x.k.narrow(0, 0, 0).sum() + x.v.narrow(0, 0, 0).sum();
}

Sums starting_sums(const Group& g, const at::Tensor& maximum) {
  const at::Tensor &q = g.x.q, &v = g.x.v;
  if (!g.zero_masking) {
    const at::Tensor zeros = at::zeros({q.size(0), q.size(1), q.size(2), v.size(3)}, q.options());
    return {zeros + sum_of_nothing(g.x), at::zeros_like(maximum)};
  }
  const at::Tensor rest = maximum.neg().exp();
  return {rest.unsqueeze(-1) * v.sum(2, /*keepdim=*/true) + sum_of_nothing(g.x), rest * static_cast<double>(v.size(2))};
}

Outputs attend_group(const Group& g, const std::vector<Segment>& segments) {
  std::vector<at::Tensor> scores;
  for (const Segment& s : segments) scores.push_back(score(g, s));
  const at::Tensor maximum = row_maximum(g, segments, scores);
  const auto [numerator, denominator] = starting_sums(g, maximum);
  const CompositeDropout dropout(g.dropout, g.seed, g.x.q.size(0), g.heads, g.x.q.device());
  for (size_t i = 0; i < segments.size(); ++i) {
    const at::Tensor m = segments[i].queries.take(maximum);
    at::Tensor weight = (scores[i] - m).exp();
    if (g.zero_masking) weight = weight - m.neg().exp();
    segments[i].queries.add_to(denominator, weight);
    if (g.dropout > 0.0) weight = weight * dropout.factors(segments[i], weight.scalar_type());
    segments[i].queries.add_to(numerator, weight.unsqueeze(-1) * segments[i].keys.take(g.x.v));
  }
  const at::Tensor divisor = denominator.masked_fill(denominator.eq(0.0), 1.0);
  return {numerator / divisor.unsqueeze(-1), (maximum + denominator.log()).detach()};
}

/// Groups come out in their own order; puts head h back in place h.
at::Tensor in_head_order(const std::vector<at::Tensor>& parts, const std::vector<std::vector<int64_t>>& groups) {
  if (parts.size() == 1) return parts.front();
  std::vector<int64_t> place;
  for (const auto& g : groups) place.insert(place.end(), g.begin(), g.end());
  const at::Tensor joined = at::cat(parts, 1);
  if (std::is_sorted(place.begin(), place.end())) return joined;
  const at::Tensor order = at::tensor(place, at::TensorOptions().dtype(at::kLong)).argsort();
  return joined.index_select(1, order.to(joined.device()));
}

/// Keys or values [B,H,T,·] with the means of the tiles behind the tokens.
at::Tensor with_summaries(const at::Tensor& x, const SupportSet& set) {
  const at::Tensor averaging = averaging_matrix(*set.summaries()).to(x.options());
  return at::cat({x, at::matmul(averaging, x.narrow(2, set.cls(), set.patches()))}, 2);
}

Operands in_computing_type(const Operands& x) {
  const at::ScalarType type = computing_type(x.q.scalar_type());
  return {x.q.to(type), x.k.to(type), x.v.to(type)};
}

}  // namespace

Outputs composite_attention(at::TensorList given, const Arguments& arguments) {
  const Operands x = views_of(given);
  const SupportPtr support = require_support(arguments, x);
  const SupportSet& set = support->set();
  check_without_kernel(x, arguments, set);
  const Arguments a = with_seed(arguments);
  Operands computed = in_computing_type(x);
  if (set.summaries()) computed = {computed.q, with_summaries(computed.k, set), with_summaries(computed.v, set)};
  const auto groups = heads_by_pattern(set);
  std::vector<at::Tensor> outs, lses;
  for (const auto& heads : groups) {
    const Group group = make_group(computed, a, heads);
    const auto [out, lse] = attend_group(group, segments_of(set, heads.front(), x.q.device()));
    outs.push_back(out);
    lses.push_back(lse);
  }
  return {laid_out_as(given, in_head_order(outs, groups).to(x.q.scalar_type())), in_head_order(lses, groups)};
}

}  // namespace fib::ops
