// SPDX-License-Identifier: Apache-2.0
#include "graphs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "attention/registry.h"

namespace fib::test {
namespace {

using namespace engine;

// ---- Making graphs -------------------------------------------------------------------------------------------------

class GraphBuilder {
 public:
  Graph graph;

  ValueId input(const std::vector<int64_t>& sizes) {
    const ValueId id = add_value("images", per_sample(sizes), nullptr);
    graph.inputs = {id};
    return id;
  }
  /// Numbers that are different everywhere and about `scale` large.
  ValueId constant(const std::string& name, const std::vector<int64_t>& sizes, double scale) {
    Shape shape;
    for (int64_t size : sizes) shape.push_back({size, false});
    const auto values = std::make_shared<std::vector<float>>(static_cast<size_t>(elements(shape, 1)));
    for (float& v : *values) v = static_cast<float>(scale * std::sin(1.7 * static_cast<double>(++seed_)));
    return add_value(name, shape, {values, values->data()});
  }
  /// The first dimension counts samples.
  ValueId node(Op op, std::vector<ValueId> inputs, const std::vector<int64_t>& sizes, Attributes attributes = {}) {
    const ValueId out = add_value("", per_sample(sizes), nullptr);
    graph.nodes.push_back({op, std::move(inputs), out, std::move(attributes)});
    return out;
  }
  ValueId linear(const std::string& name, ValueId x, std::vector<int64_t> sizes, int64_t depth, int64_t columns) {
    sizes.back() = columns;
    const double scale = 1.4 / std::sqrt(static_cast<double>(depth));
    return node(Op::linear,
                {x, constant(name + ".weight", {columns, depth}, scale), constant(name + ".bias", {columns}, 0.1)},
                sizes);
  }
  ValueId norm(const std::string& name, ValueId x, const std::vector<int64_t>& sizes) {
    return node(Op::layer_norm,
                {x, constant(name + ".weight", {sizes.back()}, 1.0), constant(name + ".bias", {sizes.back()}, 0.1)},
                sizes, LayerNorm{1e-6});
  }

 private:
  static Shape per_sample(const std::vector<int64_t>& sizes) {
    Shape shape;
    for (int64_t size : sizes) shape.push_back({size, shape.empty()});
    return shape;
  }
  ValueId add_value(const std::string& name, const Shape& shape, std::shared_ptr<const float> data) {
    graph.values.push_back({name, shape, std::move(data)});
    return static_cast<ValueId>(graph.values.size() - 1);
  }
  int seed_ = 0;
};

// ---- Carrying them out ---------------------------------------------------------------------------------------------

struct Array {
  std::vector<int64_t> sizes;
  std::vector<double> values;

  Array() = default;
  explicit Array(std::vector<int64_t> s)
      : sizes(std::move(s)),
        values(static_cast<size_t>(std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>()))) {}
  int64_t count() const { return static_cast<int64_t>(values.size()); }
  std::vector<int64_t> place(int64_t index) const {
    std::vector<int64_t> at(sizes.size());
    for (size_t d = sizes.size(); d-- > 0; index /= sizes[d]) at[d] = index % sizes[d];
    return at;
  }
  /// NumPy's broadcasting: a longer place is cut in front, and a dimension of one repeats.
  double& operator()(const std::vector<int64_t>& at) {
    int64_t index = 0;
    for (size_t d = 0; d < sizes.size(); ++d) {
      const int64_t i = at[at.size() - sizes.size() + d];
      index = index * sizes[d] + (sizes[d] == 1 ? 0 : i);
    }
    return values[static_cast<size_t>(index)];
  }
};

class Evaluator {
 public:
  Evaluator(const Graph& graph, std::span<const float> image) : graph_(graph), arrays_(graph.values.size()) {
    for (size_t i = 0; i < graph.values.size(); ++i) {
      arrays_[i] = Array(sizes(graph.values[i].shape, 1));
      if (!graph.values[i].constant()) continue;
      const auto from = graph.values[i].elements();
      std::copy(from.begin(), from.end(), arrays_[i].values.begin());
    }
    std::copy(image.begin(), image.end(), at(graph.inputs[0]).values.begin());
  }

  std::vector<double> run() {
    for (const Node& node : graph_.nodes) {
      node_ = &node;
      carry_out();
    }
    return at(graph_.outputs[0]).values;
  }

 private:
  const Graph& graph_;
  std::vector<Array> arrays_;
  const Node* node_ = nullptr;

  Array& at(ValueId id) { return arrays_[static_cast<size_t>(id)]; }
  Array& in(size_t i) { return at(node_->inputs[i]); }
  bool has(size_t i) const { return i < node_->inputs.size() && node_->inputs[i] != kNoValue; }
  Array& out() { return at(node_->output); }

  /// out at every place.
  template <class Function>
  void fill(const Function& function) {
    for (int64_t i = 0; i < out().count(); ++i) out().values[static_cast<size_t>(i)] = function(out().place(i));
  }
  template <class Function>
  void map(const Function& function) {
    fill([&](const auto& p) { return function(in(0)(p)); });
  }

  void carry_out() {
    switch (node_->op) {
      case Op::linear:
        return fill([&](auto p) { return linear_at(p); });
      case Op::matmul:
        return fill([&](auto p) { return matmul_at(p); });
      case Op::conv2d:
        return fill([&](auto p) { return conv_at(p); });
      case Op::max_pool2d:
        return fill([&](auto p) { return pool_at(p); });
      case Op::layer_norm:
        return fill([&](auto p) { return norm_at(p); });
      case Op::softmax:
        return fill([&](auto p) { return softmax_at(p); });
      case Op::gelu:
        return map([](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); });
      case Op::sigmoid:
        return map([](double x) { return 1 / (1 + std::exp(-x)); });
      case Op::relu:
        return map([](double x) { return std::max(x, 0.0); });
      case Op::add:
        return fill([&](const auto& p) { return in(0)(p) + in(1)(p); });
      case Op::sub:
        return fill([&](const auto& p) { return in(0)(p)-in(1)(p); });
      case Op::mul:
        return fill([&](const auto& p) { return in(0)(p)*in(1)(p); });
      case Op::mean:
        return mean();
      case Op::reshape:
        out().values = in(0).values;
        return;
      case Op::permute:
        return fill([&](const auto& p) { return permuted_at(p); });
      case Op::slice:
        return fill([&](auto p) {
          p[static_cast<size_t>(node_->as<Slice>().axis)] += node_->as<Slice>().begin;
          return in(0)(p);
        });
      case Op::concat:
        return fill([&](auto p) { return concat_at(p); });
      case Op::roll:
        return fill([&](auto p) { return rolled_at(p); });
      case Op::expand:
        return fill([&](const auto& p) { return in(0)(p); });
      case Op::attention:
        return attention();
    }
  }

  double linear_at(std::vector<int64_t>& p) {
    const int64_t column = p.back();
    double sum = has(2) ? in(2)({column}) : 0.0;
    for (int64_t k = 0; k < in(1).sizes[1]; ++k) {
      p.back() = k;
      sum += in(0)(p)*in(1)({column, k});
    }
    return sum;
  }

  double matmul_at(const std::vector<int64_t>& p) {
    double sum = 0;
    for (int64_t k = 0; k < in(0).sizes.back(); ++k) {
      std::vector<int64_t> a = p, b = p;
      a.back() = k, b[b.size() - 2] = k;
      sum += in(0)(a)*in(1)(b);
    }
    return sum;
  }

  double conv_at(const std::vector<int64_t>& p) {
    const auto& c = node_->as<Conv2d>();
    const Array &x = in(0), &w = in(1);
    const int64_t per_group = w.sizes[1], group = p[1] / (w.sizes[0] / c.groups);
    double sum = has(2) ? in(2)({p[1]}) : 0.0;
    for (int64_t k = 0; k < per_group; ++k) {
      for (int64_t i = 0; i < w.sizes[2]; ++i) {
        for (int64_t j = 0; j < w.sizes[3]; ++j) {
          const int64_t row = p[2] * c.stride[0] + i - c.padding[0], column = p[3] * c.stride[1] + j - c.padding[1];
          if (row < 0 || row >= x.sizes[2] || column < 0 || column >= x.sizes[3]) continue;
          sum += in(0)({p[0], group * per_group + k, row, column}) * in(1)({p[1], k, i, j});
        }
      }
    }
    return sum;
  }

  double pool_at(const std::vector<int64_t>& p) {
    const auto& w = node_->as<Pool2d>();
    double most = -std::numeric_limits<double>::infinity();
    for (int64_t i = 0; i < w.kernel[0]; ++i) {
      for (int64_t j = 0; j < w.kernel[1]; ++j) {
        const int64_t row = p[2] * w.stride[0] + i - w.padding[0], column = p[3] * w.stride[1] + j - w.padding[1];
        if (row < 0 || row >= in(0).sizes[2] || column < 0 || column >= in(0).sizes[3]) continue;
        most = std::max(most, in(0)({p[0], p[1], row, column}));
      }
    }
    return most;
  }

  double norm_at(std::vector<int64_t>& p) {
    const int64_t channel = p.back(), channels = in(0).sizes.back();
    double mean = 0, variance = 0;
    const double here = in(0)(p);
    for (int64_t c = 0; c < channels; ++c) p.back() = c, mean += in(0)(p) / static_cast<double>(channels);
    for (int64_t c = 0; c < channels; ++c)
      p.back() = c, variance += std::pow(in(0)(p)-mean, 2) / static_cast<double>(channels);
    return (here - mean) / std::sqrt(variance + node_->as<LayerNorm>().eps) * in(1)({channel}) + in(2)({channel});
  }

  double softmax_at(std::vector<int64_t>& p) {
    const auto axis = static_cast<size_t>(node_->as<Axis>().axis);
    const double here = in(0)(p);
    double sum = 0;
    for (p[axis] = 0; p[axis] < in(0).sizes[axis]; ++p[axis]) sum += std::exp(in(0)(p)-here);
    return 1 / sum;
  }

  void mean() {
    const auto& axes = node_->as<Axes>().axes;
    std::fill(out().values.begin(), out().values.end(), 0.0);
    const double share = static_cast<double>(out().count()) / static_cast<double>(in(0).count());
    for (int64_t i = 0; i < in(0).count(); ++i) {
      const std::vector<int64_t> p = in(0).place(i);
      std::vector<int64_t> kept;
      for (size_t d = 0; d < p.size(); ++d) {
        if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) == axes.end()) kept.push_back(p[d]);
      }
      out()(kept) += in(0)(p)*share;
    }
  }

  double permuted_at(const std::vector<int64_t>& p) {
    std::vector<int64_t> from(p.size());
    const auto& order = node_->as<Permute>().order;
    for (size_t d = 0; d < p.size(); ++d) from[static_cast<size_t>(order[d])] = p[d];
    return in(0)(from);
  }

  double concat_at(std::vector<int64_t>& p) {
    const auto axis = static_cast<size_t>(node_->as<Axis>().axis);
    for (size_t i = 0;; ++i) {
      if (p[axis] < in(i).sizes[axis]) return in(i)(p);
      p[axis] -= in(i).sizes[axis];
    }
  }

  double rolled_at(std::vector<int64_t>& p) {
    const auto& roll = node_->as<Roll>();
    for (size_t i = 0; i < roll.axes.size(); ++i) {
      const auto axis = static_cast<size_t>(roll.axes[i]);
      const int64_t size = in(0).sizes[axis];
      p[axis] = ((p[axis] - roll.shifts[i]) % size + size) % size;
    }
    return in(0)(p);
  }

  /// Which keys a query of a head may look at, given their scores.
  static std::vector<int64_t> keys_of(const Attention& a, const SupportSet* support, int64_t head, int64_t query,
                                      const std::vector<double>& scores) {
    std::vector<int64_t> keys(scores.size());
    std::iota(keys.begin(), keys.end(), 0);
    if (support != nullptr) return support->keys_of_row(head, query);
    const AttentionSpec spec = AttentionSpec::parse(a.attention);
    if (spec.name == "full") return keys;
    std::stable_sort(keys.begin(), keys.end(), [&](int64_t x, int64_t y) {
      return scores[static_cast<size_t>(x)] > scores[static_cast<size_t>(y)];
    });
    keys.resize(static_cast<size_t>(attention::integer_option(spec, "k", 1, static_cast<int64_t>(scores.size()))));
    return keys;
  }

  void attention() {
    const auto& a = node_->as<Attention>();
    if (!a.packed) throw std::logic_error("only packed attention is evaluated here");
    const AttentionSpec spec = AttentionSpec::parse(a.attention);
    std::optional<SupportSet> support;
    if (attention::find_mechanism(spec.name).support_set) support = attention::layer_support(spec, a.geometry);
    Array& qkv = in(0);  // [n,T,3,H,d]
    const int64_t tokens = qkv.sizes[1], heads = qkv.sizes[3], dim = qkv.sizes[4];
    std::fill(out().values.begin(), out().values.end(), 0.0);
    for (int64_t n = 0; n < qkv.sizes[0]; ++n) {
      for (int64_t h = 0; h < heads; ++h) {
        for (int64_t query = 0; query < tokens; ++query) {
          std::vector<double> scores(static_cast<size_t>(tokens));
          for (int64_t t = 0; t < tokens; ++t) {
            double& score = scores[static_cast<size_t>(t)];
            for (int64_t c = 0; c < dim; ++c) score += qkv({n, query, 0, h, c}) * qkv({n, t, 1, h, c});
            score *= a.geometry.score_scale();
          }
          double sum = 0;
          const auto keys = keys_of(a, support ? &*support : nullptr, h, query, scores);
          for (int64_t t : keys) sum += std::exp(scores[static_cast<size_t>(t)]);
          for (int64_t t : keys) {
            for (int64_t c = 0; c < dim; ++c)
              out()({n, query, h * dim + c}) += std::exp(scores[static_cast<size_t>(t)]) / sum * qkv({n, t, 2, h, c});
          }
        }
      }
    }
  }
};

}  // namespace

Graph transformer(const std::string& mechanism) {
  GraphBuilder b;
  constexpr int64_t kDim = 24, kTokens = 17, kHeads = 2;
  const std::vector<int64_t> tokens{1, kTokens, kDim};
  const ValueId image = b.input({1, 3, 16, 16});
  const ValueId patches = b.node(
      Op::conv2d, {image, b.constant("patch.weight", {kDim, 3, 4, 4}, 0.2), b.constant("patch.bias", {kDim}, 0.1)},
      {1, kDim, 4, 4}, Conv2d{{4, 4}, {0, 0}, 1});
  const ValueId flat = b.node(Op::reshape, {patches}, {1, kDim, 16});
  const ValueId rows = b.node(Op::permute, {flat}, {1, 16, kDim}, Permute{{0, 2, 1}});
  const ValueId cls = b.node(Op::expand, {b.constant("cls", {1, 1, kDim}, 0.5)}, {1, 1, kDim});
  const ValueId joined = b.node(Op::concat, {cls, rows}, tokens, Axis{1});
  const ValueId x = b.node(Op::add, {joined, b.constant("position", {1, kTokens, kDim}, 0.3)}, tokens);
  attention::Geometry layer;
  layer.heads = kHeads, layer.head_dim = layer.value_dim = kDim / kHeads, layer.cls = 1;
  layer.query_grid = layer.key_grid = {4, 4};
  const ValueId qkv_rows = b.linear("qkv", b.norm("norm1", x, tokens), tokens, kDim, 3 * kDim);
  const ValueId qkv = b.node(Op::reshape, {qkv_rows}, {1, kTokens, 3, kHeads, kDim / kHeads});
  const ValueId mixed = b.node(Op::attention, {qkv, kNoValue}, tokens, Attention{mechanism, layer, true});
  const ValueId y = b.node(Op::add, {x, b.linear("proj", mixed, tokens, kDim, kDim)}, tokens);
  const ValueId hidden = b.linear("fc1", b.norm("norm2", y, tokens), tokens, kDim, 1024);
  const ValueId bent = b.node(Op::gelu, {hidden}, {1, kTokens, 1024});
  const ValueId z = b.node(Op::add, {y, b.linear("fc2", bent, tokens, 1024, kDim)}, tokens);
  const ValueId first = b.node(Op::slice, {b.norm("norm", z, tokens)}, {1, 1, kDim}, Slice{1, 0});
  const ValueId row = b.node(Op::reshape, {first}, {1, kDim});
  b.graph.outputs = {b.linear("head", row, {1, kDim}, kDim, 10)};
  return b.graph;
}

Graph convolutional() {
  GraphBuilder b;
  const std::vector<int64_t> image{1, 32, 6, 6};
  const ValueId stem = b.node(
      Op::conv2d,
      {b.input({1, 3, 12, 12}), b.constant("stem.weight", {32, 3, 3, 3}, 0.3), b.constant("stem.bias", {32}, 0.1)},
      image, Conv2d{{2, 2}, {1, 1}, 1});
  const ValueId bent = b.node(Op::gelu, {stem}, image);
  const ValueId each = b.node(Op::conv2d, {bent, b.constant("each.weight", {32, 1, 3, 3}, 0.4), kNoValue}, image,
                              Conv2d{{1, 1}, {1, 1}, 32});
  const ValueId grouped = b.node(Op::conv2d, {each, b.constant("groups.weight", {32, 16, 1, 1}, 0.3), kNoValue}, image,
                                 Conv2d{{1, 1}, {0, 0}, 2});
  const ValueId pooled = b.node(Op::max_pool2d, {grouped}, image, Pool2d{{3, 3}, {1, 1}, {1, 1}});
  const ValueId gate = b.node(Op::sigmoid, {b.node(Op::mean, {each}, {1, 32}, Axes{{2, 3}})}, {1, 32});
  const ValueId wide = b.node(Op::reshape, {gate}, {1, 32, 1, 1});
  const ValueId gated = b.node(Op::mul, {b.node(Op::relu, {pooled}, image), wide}, image);
  const ValueId rest = b.node(Op::sub, {gated, each}, image);
  const ValueId moved = b.node(Op::roll, {rest}, image, Roll{{-2, 1}, {2, 3}});
  const ValueId tokens =
      b.node(Op::permute, {b.node(Op::reshape, {moved}, {1, 32, 36})}, {1, 36, 32}, Permute{{0, 2, 1}});
  const ValueId turned = b.node(Op::permute, {tokens}, {1, 32, 36}, Permute{{0, 2, 1}});
  const ValueId weights = b.node(Op::softmax, {tokens}, {1, 36, 32}, Axis{1});
  const ValueId mixed = b.node(Op::matmul, {turned, weights}, {1, 32, 32});
  const ValueId tail = b.node(Op::slice, {mixed}, {1, 5, 32}, Slice{1, 7});
  const ValueId both = b.node(Op::concat, {mixed, tail}, {1, 37, 32}, Axis{1});
  const ValueId pooled_tokens = b.node(Op::mean, {both}, {1, 32}, Axes{{1}});
  b.graph.outputs = {b.linear("head", pooled_tokens, {1, 32}, 32, 7)};
  return b.graph;
}

std::vector<double> evaluate(const Graph& graph, std::span<const float> image) { return Evaluator(graph, image).run(); }

}  // namespace fib::test
