// SPDX-License-Identifier: Apache-2.0
#include "oracle/graph_oracle.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "attention/registry.h"
#include "oracle/attention_oracle.h"
#include "oracle/token_oracle.h"

namespace fib::test {
namespace {

using engine::Graph;
using engine::kNoValue;
using engine::Node;
using engine::Op;
using engine::ValueId;
using Index = std::vector<int64_t>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Array array_of(const Index& sizes) {
  const int64_t count = std::accumulate(sizes.begin(), sizes.end(), INT64_C(1), std::multiplies<>());
  return {sizes, std::vector<double>(static_cast<size_t>(count))};
}

/// The element of an array that an index of a broadcast result reads: extents of one are read again and again.
double& at(Array& a, const Index& index) {
  int64_t place = 0;
  const size_t skipped = index.size() - a.sizes.size();
  for (size_t i = 0; i < a.sizes.size(); ++i) place = place * a.sizes[i] + (a.sizes[i] == 1 ? 0 : index[i + skipped]);
  return a.data[static_cast<size_t>(place)];
}
double at(const Array& a, const Index& index) { return at(const_cast<Array&>(a), index); }

/// Calls `body` with every index of an array of these sizes, the last counting fastest.
template <class Body>
void for_each_index(const Index& sizes, const Body& body) {
  Index index(sizes.size(), 0);
  const int64_t count = std::accumulate(sizes.begin(), sizes.end(), INT64_C(1), std::multiplies<>());
  for (int64_t n = 0; n < count; ++n) {
    body(std::as_const(index));
    for (size_t i = sizes.size(); i-- > 0;) {
      if (++index[i] < sizes[i]) break;
      index[i] = 0;
    }
  }
}

class Evaluation {
 public:
  Evaluation(const Graph& graph, const Array& images) : graph_(graph), arrays_(graph.values.size()) {
    for (size_t i = 0; i < graph.values.size(); ++i) {
      const engine::Value& value = graph.values[i];
      if (!value.constant()) continue;
      arrays_[i] = {engine::sizes(value.shape, 1), {value.elements().begin(), value.elements().end()}};
    }
    arrays_[static_cast<size_t>(graph.inputs[0])] = images;
    batch_ = images.sizes[0];
  }

  Array run() {
    const auto repeated = [](const Node& node) { return node.repeated; };
    const auto begin = std::ranges::find_if(graph_.nodes, repeated),
               end = std::find_if_not(begin, graph_.nodes.end(), repeated);
    for (auto node = graph_.nodes.begin(); node != begin; ++node) carry_out(*node);
    if (graph_.loop) {
      array(graph_.loop->state) = array(graph_.loop->first);
      for (int64_t time = 0; time < graph_.loop->count; ++time) {
        for (const engine::GraphLoop::Row& row : graph_.loop->rows) array(row.row) = row_of_table(row, time);
        for (auto node = begin; node != end; ++node) carry_out(*node);
        array(graph_.loop->state) = array(graph_.loop->next);
      }
    }
    for (auto node = end; node != graph_.nodes.end(); ++node) carry_out(*node);
    return arrays_[static_cast<size_t>(graph_.outputs[0])];
  }

 private:
  Array& array(ValueId id) { return arrays_[static_cast<size_t>(id)]; }

  void carry_out(const Node& node) {
    node_ = &node;
    Array out = array_of(engine::sizes(graph_.shape(node.output), batch_));
    compute(out);
    array(node.output) = std::move(out);
  }

  Array row_of_table(const engine::GraphLoop::Row& row, int64_t time) {
    Array out = array_of(engine::sizes(graph_.shape(row.row), batch_));
    const size_t axis = graph_.values[static_cast<size_t>(row.table)].constant() ? 0 : 1;
    for_each_index(out.sizes, [&](const Index& i) {
      Index from = i;
      from.insert(from.begin() + static_cast<ptrdiff_t>(axis), time);
      at(out, i) = at(array(row.table), from);
    });
    return out;
  }

  bool has(size_t i) const { return i < node_->inputs.size() && node_->inputs[i] != kNoValue; }
  const Array& in(size_t i) const { return arrays_[static_cast<size_t>(node_->inputs[i])]; }

  template <class F>
  void elementwise(Array& out, const F& f) const {
    std::transform(in(0).data.begin(), in(0).data.end(), out.data.begin(), f);
  }

  template <class F>
  void pairwise(Array& out, const F& f) const {
    for_each_index(out.sizes, [&](const Index& i) { at(out, i) = f(at(in(0), i), at(in(1), i)); });
  }

  /// Each element of the output is the element of the input that `source` names.
  template <class Source>
  void gather(Array& out, const Source& source) const {
    for_each_index(out.sizes, [&](const Index& i) { at(out, i) = at(in(0), source(i)); });
  }

  void compute(Array& out) const {
    switch (node_->op) {
      case Op::linear:
        return linear(out);
      case Op::matmul:
        return matmul(out);
      case Op::conv2d:
        return conv2d(out);
      case Op::conv1d:
        return conv1d(out);
      case Op::group_norm:
        return group_norm(out);
      case Op::denoise:
        return denoise(out);
      case Op::mish:
        return elementwise(out, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); });
      case Op::max_pool2d:
        return max_pool2d(out);
      case Op::layer_norm:
        return layer_norm(out);
      case Op::softmax:
        return softmax(out);
      case Op::gelu:
        return elementwise(out, [](double x) { return x * 0.5 * (1 + std::erf(x / std::sqrt(2.0))); });
      case Op::sigmoid:
        return elementwise(out, [](double x) { return 1 / (1 + std::exp(-x)); });
      case Op::relu:
        return elementwise(out, [](double x) { return std::max(x, 0.0); });
      case Op::add:
        return pairwise(out, std::plus<>());
      case Op::sub:
        return pairwise(out, std::minus<>());
      case Op::mul:
        return pairwise(out, std::multiplies<>());
      case Op::mean:
        return mean(out);
      case Op::reshape:
        out.data = in(0).data;
        return;
      case Op::permute:
        return permute(out);
      case Op::slice:
        return slice(out);
      case Op::concat:
        return concat(out);
      case Op::roll:
        return roll(out);
      case Op::expand:
        return gather(out, [](const Index& i) { return i; });
      case Op::attention:
        return attention(out);
      case Op::plan_merging:
        return plan_merging(out);
      case Op::plan_keeping:
        return for_each_sample(out, [&](int64_t b) {
          const auto& a = node_->as<engine::TokenPlan>();
          return oracle_plan_keeping(sample(in(0), b), a.count, a.cls);
        });
      case Op::merge_tokens:
        return merge_tokens(out);
      case Op::take_tokens:
        return gather(out, [&](Index i) {
          i[1] = static_cast<int64_t>(at(in(1), {i[0], i[1]}));
          return i;
        });
      case Op::tell_tokens:
        return for_each_sample(out, [&](int64_t b) {
          const auto& a = node_->as<engine::TokenFacts>();
          return oracle_fact(a.fact, sample(in(0), b), a.tokens, a.cls, a.width);
        });
      case Op::embedding:
        return embedding(out);
      case Op::cached_attention:
        return cached_attention(out);
    }
  }

  void embedding(Array& out) const {
    for_each_index(out.sizes, [&](const Index& i) {
      at(out, i) = at(in(1), {static_cast<int64_t>(at(in(0), {i[0]})), i[1]}) + (has(2) ? at(in(2), i) : 0);
    });
  }

  /// Of the first tokens of a sequence: a cache has not begun to forget.
  void cached_attention(Array& out) const {
    const auto& a = node_->as<engine::CachedAttention>();
    const int64_t width = a.heads * a.head_dim, half = a.head_dim / 2;
    // Channel c of head h of q (0), k (1) or v (2), turned to its place.
    const auto part = [&](int64_t which, int64_t t, int64_t h, int64_t c) {
      const auto plain = [&](int64_t channel) { return at(in(0), {t, which * width + h * a.head_dim + channel}); };
      if (which == 2 || a.rotary_base == 0) return plain(c);
      const double angle = static_cast<double>(t) * std::pow(a.rotary_base, -2.0 * static_cast<double>(c % half) /
                                                                                static_cast<double>(a.head_dim));
      return plain(c) * std::cos(angle) + (c < half ? -plain(c + half) : plain(c - half)) * std::sin(angle);
    };
    for_each_index({in(0).sizes[0], a.heads}, [&](const Index& i) {
      const int64_t t = i[0], h = i[1];
      std::vector<int64_t> keys;
      for (int64_t key = 0; key <= t; ++key) {
        const auto& head = a.distances.empty() ? std::vector<int64_t>{t - key} : a.distances[static_cast<size_t>(h)];
        if (std::ranges::count(head, t - key) > 0) keys.push_back(key);
      }
      double sum = 0;
      for (const int64_t key : keys) {
        double score = 0;
        for (int64_t c = 0; c < a.head_dim; ++c) score += part(0, t, h, c) * part(1, key, h, c);
        const double weight = std::exp(a.scale * score);
        sum += weight;
        for (int64_t c = 0; c < a.head_dim; ++c) at(out, {t, h * a.head_dim + c}) += weight * part(2, key, h, c);
      }
      for (int64_t c = 0; c < a.head_dim && sum > 0; ++c) at(out, {t, h * a.head_dim + c}) /= sum;
    });
  }

  void linear(Array& out) const {
    const auto n = static_cast<size_t>(in(1).sizes[0]), k = static_cast<size_t>(in(1).sizes[1]);
    for (size_t i = 0; i < out.data.size(); ++i) {
      const double* x = in(0).data.data() + i / n * k;
      const double* w = in(1).data.data() + i % n * k;
      out.data[i] = std::inner_product(x, x + k, w, has(2) ? in(2).data[i % n] : 0.0);
    }
  }

  void matmul(Array& out) const {
    const int64_t k = in(0).sizes.back();
    for_each_index(out.sizes, [&](const Index& i) {
      Index a = i, b = i;
      for (int64_t j = 0; j < k; ++j) {
        a[i.size() - 1] = b[i.size() - 2] = j;
        at(out, i) += at(in(0), a) * at(in(1), b);
      }
    });
  }

  void conv2d(Array& out) const {
    const auto& a = node_->as<engine::Conv2d>();
    const Index &x = in(0).sizes, &w = in(1).sizes;
    const int64_t outputs_per_group = w[0] / a.groups;
    for_each_index(out.sizes, [&](const Index& i) {
      double sum = has(2) ? in(2).data[static_cast<size_t>(i[1])] : 0.0;
      for_each_index({w[1], w[2], w[3]}, [&](const Index& j) {
        const int64_t row = i[2] * a.stride[0] - a.padding[0] + j[1], column = i[3] * a.stride[1] - a.padding[1] + j[2];
        if (row < 0 || column < 0 || row >= x[2] || column >= x[3]) return;
        sum += at(in(0), {i[0], i[1] / outputs_per_group * w[1] + j[0], row, column}) *
               at(in(1), {i[1], j[0], j[1], j[2]});
      });
      at(out, i) = sum;
    });
  }

  void conv1d(Array& out) const {
    const auto& a = node_->as<engine::Conv1d>();
    const int64_t channels = in(0).sizes[1], size = in(0).sizes[2];
    for_each_index(out.sizes, [&](const Index& i) {
      double sum = has(2) ? in(2).data[static_cast<size_t>(i[1])] : 0.0;
      for_each_index({channels, a.kernel}, [&](const Index& j) {
        const int64_t t = i[2] * a.stride - a.padding + j[1];
        if (t >= 0 && t < size) sum += at(in(0), {i[0], j[0], t}) * at(in(1), {i[1], j[0], j[1]});
      });
      at(out, i) = sum;
    });
  }

  void group_norm(Array& out) const {
    const auto& a = node_->as<engine::GroupNorm>();
    const auto channels = static_cast<size_t>(out.sizes[1]), samples = static_cast<size_t>(out.sizes[0]);
    const size_t positions = out.data.size() / channels / samples;
    const size_t size = channels / static_cast<size_t>(a.groups) * positions;
    for (size_t first = 0; first < out.data.size(); first += size) {
      const double* x = in(0).data.data() + first;
      const double mean = std::accumulate(x, x + size, 0.0) / static_cast<double>(size);
      double variance = 0;
      for (size_t i = 0; i < size; ++i) variance += (x[i] - mean) * (x[i] - mean) / static_cast<double>(size);
      for (size_t i = 0; i < size; ++i) {
        const size_t c = (first + i) / positions % channels;
        const double normed = (x[i] - mean) / std::sqrt(variance + a.eps);
        out.data[first + i] = has(1) ? normed * in(1).data[c] + in(2).data[c] : normed;
      }
    }
  }

  void denoise(Array& out) const {
    const std::vector<double>& k = in(2).data;
    for (size_t i = 0; i < out.data.size(); ++i) {
      const double x = in(0).data[i], noise = in(1).data[i];
      const double clean = std::clamp((x - k[1] * noise) / k[0], -1.0, 1.0);
      out.data[i] = k[2] * clean + k[3] * x + k[4] * noise + (has(3) ? k[5] * in(3).data[i] : 0.0);
    }
  }

  void max_pool2d(Array& out) const {
    const auto& a = node_->as<engine::Pool2d>();
    const Index& x = in(0).sizes;
    for_each_index(out.sizes, [&](const Index& i) {
      double most = -kInfinity;
      for_each_index({a.kernel[0], a.kernel[1]}, [&](const Index& j) {
        const int64_t row = i[2] * a.stride[0] - a.padding[0] + j[0], column = i[3] * a.stride[1] - a.padding[1] + j[1];
        if (row < 0 || column < 0 || row >= x[2] || column >= x[3]) return;
        most = std::max(most, at(in(0), {i[0], i[1], row, column}));
      });
      at(out, i) = most;
    });
  }

  void layer_norm(Array& out) const {
    const auto n = static_cast<size_t>(in(0).sizes.back());
    const double eps = node_->as<engine::LayerNorm>().eps;
    for (size_t row = 0; row < out.data.size(); row += n) {
      const double* x = in(0).data.data() + row;
      const double mean = std::accumulate(x, x + n, 0.0) / static_cast<double>(n);
      double variance = 0;
      for (size_t i = 0; i < n; ++i) variance += (x[i] - mean) * (x[i] - mean) / static_cast<double>(n);
      for (size_t i = 0; i < n; ++i)
        out.data[row + i] = (x[i] - mean) / std::sqrt(variance + eps) * in(1).data[i] + in(2).data[i];
    }
  }

  void softmax(Array& out) const {
    const auto axis = static_cast<size_t>(node_->as<engine::Axis>().axis);
    Index rows = out.sizes;
    rows[axis] = 1;
    for_each_index(rows, [&](Index i) {
      double most = -kInfinity, sum = 0;
      const auto along = [&](const auto& body) {
        for (i[axis] = 0; i[axis] < out.sizes[axis]; ++i[axis]) body();
      };
      along([&] { most = std::max(most, at(in(0), i)); });
      along([&] { sum += at(out, i) = std::exp(at(in(0), i) - most); });
      along([&] { at(out, i) /= sum; });
    });
  }

  void mean(Array& out) const {
    const std::vector<int64_t>& axes = node_->as<engine::Axes>().axes;
    double count = 1;
    for (const int64_t a : axes) count *= static_cast<double>(in(0).sizes[static_cast<size_t>(a)]);
    for_each_index(in(0).sizes, [&](const Index& i) {
      Index kept = i;
      for (auto a = axes.rbegin(); a != axes.rend(); ++a) kept.erase(kept.begin() + *a);
      at(out, kept) += at(in(0), i) / count;
    });
  }

  void permute(Array& out) const {
    const std::vector<int64_t>& order = node_->as<engine::Permute>().order;
    gather(out, [&](const Index& i) {
      Index source(i.size());
      for (size_t k = 0; k < i.size(); ++k) source[static_cast<size_t>(order[k])] = i[k];
      return source;
    });
  }

  void slice(Array& out) const {
    const auto& a = node_->as<engine::Slice>();
    gather(out, [&](Index i) {
      i[static_cast<size_t>(a.axis)] += a.begin;
      return i;
    });
  }

  void concat(Array& out) const {
    const auto axis = static_cast<size_t>(node_->as<engine::Axis>().axis);
    int64_t begin = 0;
    for (size_t part = 0; part < node_->inputs.size(); ++part) {
      for_each_index(in(part).sizes, [&](Index i) {
        const double x = at(in(part), i);
        i[axis] += begin;
        at(out, i) = x;
      });
      begin += in(part).sizes[axis];
    }
  }

  void roll(Array& out) const {
    const auto& a = node_->as<engine::Roll>();
    gather(out, [&](Index i) {
      for (size_t k = 0; k < a.axes.size(); ++k) {
        int64_t& place = i[static_cast<size_t>(a.axes[k])];
        const int64_t size = out.sizes[static_cast<size_t>(a.axes[k])];
        place = ((place - a.shifts[k]) % size + size) % size;
      }
      return i;
    });
  }

  // ---- Fewer tokens -------------------------------------------------------------------------------------------------

  static std::vector<double> sample(const Array& rows, int64_t b) {
    const auto first = rows.data.begin() + b * rows.sizes[1];
    return {first, first + rows.sizes[1]};
  }

  /// Each row of out [n,…] by `row(sample)`.
  template <class Row>
  static void for_each_sample(Array& out, const Row& row) {
    for (int64_t b = 0; b < out.sizes[0]; ++b) std::ranges::copy(row(b), out.data.begin() + b * out.sizes[1]);
  }

  void plan_merging(Array& out) const {
    const auto& a = node_->as<engine::TokenPlan>();
    const Index& s = in(0).sizes;
    for_each_sample(out, [&](int64_t b) {
      return oracle_plan_merging(s[2], s[3], a.count, a.cls, [&](int64_t t, int64_t c) {
        double sum = 0;
        for (int64_t h = 0; h < s[1]; ++h) sum += at(in(0), {b, h, t, c});
        return sum;
      });
    });
  }

  void merge_tokens(Array& out) const {
    const bool mean = node_->as<engine::TokenMerge>().mean;
    const int64_t last = out.sizes[1] - 1;
    Array sums = array_of({out.sizes[0], out.sizes[1]});
    for_each_index(in(1).sizes, [&](const Index& i) {
      const auto to = static_cast<int64_t>(at(in(1), i));
      const double weight = has(2) && (mean || to == last) ? at(in(2), i) : 1.0;
      at(sums, {i[0], to}) += weight;
      for (int64_t c = 0; c < out.sizes[2]; ++c) at(out, {i[0], to, c}) += weight * at(in(0), {i[0], i[1], c});
    });
    if (mean) for_each_index(out.sizes, [&](const Index& i) { at(out, i) /= at(sums, {i[0], i[1]}); });
  }

  // ---- Attention ----------------------------------------------------------------------------------------------------

  /// Part `which` of qkv [n,T,3,H,d] as [n,H,T,d], or the input as it is.
  Array heads(size_t which) const {
    if (!node_->as<engine::Attention>().packed) return in(which);
    const Index& s = in(0).sizes;
    Array part = array_of({s[0], s[3], s[1], s[4]});
    for_each_index(part.sizes, [&](const Index& i) {
      at(part, i) = at(in(0), {i[0], i[2], static_cast<int64_t>(which), i[1], i[3]});
    });
    return part;
  }

  /// mixed [n,H,Tq,e] -> out [n,Tq,H·e].
  static void merge_heads(const Array& mixed, Array& out) {
    for_each_index(mixed.sizes, [&](const Index& i) {
      at(out, {i[0], i[2], i[1] * mixed.sizes[3] + i[3]}) = at(mixed, i);
    });
  }

  void attention(Array& out) const {
    const auto& a = node_->as<engine::Attention>();
    const AttentionSpec spec = AttentionSpec::parse(a.attention);
    const Array q = heads(0), k = heads(1), v = heads(2);
    const size_t bias = a.packed ? 1 : 3;
    Array mixed = array_of({q.sizes[0], q.sizes[1], q.sizes[2], v.sizes[3]});
    if (spec.name == "topk") {
      largest(spec, q, k, v, has(bias) ? &in(bias) : nullptr, mixed);
    } else {
      const bool support = attention::find_mechanism(spec.name).support_set;
      OracleProblem p;
      const SupportSet set = attention::layer_support(support ? spec : AttentionSpec{"full", {}}, a.geometry);
      p.support = &set;
      p.shape = {q.sizes[0], q.sizes[1], q.sizes[2], k.sizes[2], q.sizes[3], v.sizes[3]};
      p.q = q.data;
      p.k = k.data;
      p.v = v.data;
      p.scale = a.geometry.score_scale();
      if (support) p.masking = attention::masking_of(spec);
      if (has(bias)) {
        p.bias = in(bias).data;
        p.bias_groups = in(bias).sizes[0];
        p.bias_per_head = in(bias).sizes[1] > 1;
      }
      mixed.data = oracle_forward(p).out;
    }
    merge_heads(mixed, out);
  }

  /// The softmax of the k largest scores of a row.
  void largest(const AttentionSpec& spec, const Array& q, const Array& k, const Array& v, const Array* bias,
               Array& mixed) const {
    const attention::Geometry& g = node_->as<engine::Attention>().geometry;
    const int64_t keys = k.sizes[2];
    const int64_t kept = std::min(attention::integer_option(spec, "k", 1, g.key_grid.tokens()), keys);
    for_each_index({q.sizes[0], q.sizes[1], q.sizes[2]}, [&](const Index& i) {
      std::vector<std::pair<double, int64_t>> scores;
      for (int64_t key = 0; key < keys; ++key) {
        double s = bias != nullptr ? at(*bias, {i[0] % bias->sizes[0], i[1], i[2], key}) : 0.0;
        for (int64_t c = 0; c < q.sizes[3]; ++c)
          s += g.score_scale() * at(q, {i[0], i[1], i[2], c}) * at(k, {i[0], i[1], key, c});
        scores.emplace_back(s, key);
      }
      std::partial_sort(scores.begin(), scores.begin() + kept, scores.end(), std::greater<>());
      double sum = 0;
      for (int64_t n = 0; n < kept; ++n) sum += std::exp(scores[static_cast<size_t>(n)].first - scores[0].first);
      for (int64_t n = 0; n < kept; ++n) {
        const auto [s, key] = scores[static_cast<size_t>(n)];
        for (int64_t c = 0; c < v.sizes[3]; ++c)
          at(mixed, {i[0], i[1], i[2], c}) += std::exp(s - scores[0].first) / sum * at(v, {i[0], i[1], key, c});
      }
    });
  }

  const Graph& graph_;
  std::vector<Array> arrays_;
  const Node* node_ = nullptr;
  int64_t batch_ = 0;
};

}  // namespace

Array evaluate(const Graph& graph, const Array& images) { return Evaluation(graph, images).run(); }

}  // namespace fib::test
