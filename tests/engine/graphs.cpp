// SPDX-License-Identifier: Apache-2.0
#include "graphs.h"

#include <cmath>

namespace fib::test {
namespace {

using namespace engine;

class GraphBuilder {
 public:
  Graph graph;
  bool repeated = false;  ///< nodes that are added now

  ValueId input(const std::vector<int64_t>& sizes) {
    const ValueId id = add_value("images", per_sample(sizes), nullptr);
    graph.inputs = {id};
    return id;
  }
  /// Nothing in a decoder's graph counts samples.
  ValueId tokens(int64_t count) {
    counts_samples_ = false;
    const ValueId id = add_value("tokens", {{count}}, nullptr);
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
    graph.nodes.push_back({op, std::move(inputs), out, std::move(attributes), repeated});
    return out;
  }
  /// What a loop gives its body, for each sample or once.
  ValueId value(const std::vector<int64_t>& sizes) { return add_value("", per_sample(sizes), nullptr); }
  ValueId fixed(const std::vector<int64_t>& sizes) {
    Shape shape;
    for (int64_t size : sizes) shape.push_back({size, false});
    return add_value("", shape, nullptr);
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
  Shape per_sample(const std::vector<int64_t>& sizes) const {
    Shape shape;
    for (int64_t size : sizes) shape.push_back({size, counts_samples_ && shape.empty()});
    return shape;
  }
  ValueId add_value(const std::string& name, const Shape& shape, std::shared_ptr<const float> data) {
    graph.values.push_back({name, shape, std::move(data)});
    return static_cast<ValueId>(graph.values.size() - 1);
  }
  int seed_ = 0;
  bool counts_samples_ = true;
};

}  // namespace

Graph transformer(const std::string& mechanism, const TransformerWidth& width) {
  GraphBuilder b;
  constexpr int64_t kTokens = 17, kHeads = 2;
  const auto [dim, hidden_dim] = width;
  const std::vector<int64_t> tokens{1, kTokens, dim};
  const ValueId image = b.input({1, 3, 16, 16});
  const ValueId patches =
      b.node(Op::conv2d, {image, b.constant("patch.weight", {dim, 3, 4, 4}, 0.2), b.constant("patch.bias", {dim}, 0.1)},
             {1, dim, 4, 4}, Conv2d{{4, 4}, {0, 0}, 1});
  const ValueId flat = b.node(Op::reshape, {patches}, {1, dim, 16});
  const ValueId rows = b.node(Op::permute, {flat}, {1, 16, dim}, Permute{{0, 2, 1}});
  const ValueId cls = b.node(Op::expand, {b.constant("cls", {1, 1, dim}, 0.5)}, {1, 1, dim});
  const ValueId joined = b.node(Op::concat, {cls, rows}, tokens, Axis{1});
  const ValueId x = b.node(Op::add, {joined, b.constant("position", {1, kTokens, dim}, 0.3)}, tokens);
  attention::Geometry layer;
  layer.heads = kHeads, layer.head_dim = layer.value_dim = dim / kHeads, layer.cls = 1;
  layer.query_grid = layer.key_grid = {4, 4};
  const ValueId qkv_rows = b.linear("qkv", b.norm("norm1", x, tokens), tokens, dim, 3 * dim);
  const ValueId qkv = b.node(Op::reshape, {qkv_rows}, {1, kTokens, 3, kHeads, dim / kHeads});
  const ValueId mixed = b.node(Op::attention, {qkv, kNoValue}, tokens, Attention{mechanism, layer, true});
  const ValueId y = b.node(Op::add, {x, b.linear("proj", mixed, tokens, dim, dim)}, tokens);
  const ValueId hidden = b.linear("fc1", b.norm("norm2", y, tokens), tokens, dim, hidden_dim);
  const ValueId bent = b.node(Op::gelu, {hidden}, {1, kTokens, hidden_dim});
  const ValueId z = b.node(Op::add, {y, b.linear("fc2", bent, tokens, hidden_dim, dim)}, tokens);
  const ValueId first = b.node(Op::slice, {b.norm("norm", z, tokens)}, {1, 1, dim}, Slice{1, 0});
  const ValueId row = b.node(Op::reshape, {first}, {1, dim});
  b.graph.outputs = {b.linear("head", row, {1, dim}, dim, 10)};
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

Graph mlp(int64_t side) {
  GraphBuilder b;
  constexpr int64_t kDim = 24, kHidden = 40;
  const int64_t tokens = side * side;
  const ValueId pixels = b.node(Op::reshape, {b.input({1, 3, side, side})}, {1, 3, tokens});
  const ValueId rows = b.node(Op::permute, {pixels}, {1, tokens, 3}, Permute{{0, 2, 1}});
  const ValueId x = b.linear("embed", rows, {1, tokens, 3}, 3, kDim);
  const ValueId hidden = b.linear("fc1", b.norm("norm", x, {1, tokens, kDim}), {1, tokens, kDim}, kDim, kHidden);
  const ValueId bent = b.node(Op::gelu, {hidden}, {1, tokens, kHidden});
  const ValueId y = b.node(Op::add, {x, b.linear("fc2", bent, {1, tokens, kHidden}, kHidden, kDim)}, {1, tokens, kDim});
  b.graph.outputs = {b.linear("head", b.node(Op::mean, {y}, {1, kDim}, Axes{{1}}), {1, kDim}, kDim, 5)};
  return b.graph;
}

Graph of_clips() {
  GraphBuilder b;
  const ValueId frames = b.node(Op::permute, {b.input({1, 3, 2, 8, 8})}, {1, 2, 3, 8, 8}, Permute{{0, 2, 1, 3, 4}});
  const ValueId images = b.node(Op::reshape, {frames}, {2, 3, 8, 8});
  const ValueId seen =
      b.node(Op::conv2d, {images, b.constant("stem.weight", {16, 3, 4, 4}, 0.2), b.constant("stem.bias", {16}, 0.1)},
             {2, 16, 2, 2}, Conv2d{{4, 4}, {0, 0}, 1});
  const ValueId by_frame = b.node(Op::reshape, {b.node(Op::mean, {seen}, {2, 16}, Axes{{2, 3}})}, {1, 2, 16});
  b.graph.outputs = {b.linear("head", b.node(Op::mean, {by_frame}, {1, 16}, Axes{{1}}), {1, 16}, 16, 3)};
  return b.graph;
}

Graph decoder(int64_t count, const DecoderShape& shape) {
  GraphBuilder b;
  constexpr int64_t kDim = 24, kHidden = 32, kSymbols = 19, kHeads = 2;
  const std::vector<int64_t> sizes{count, kDim};
  const ValueId tokens = b.tokens(count), table = b.constant("symbols", {kSymbols, kDim}, 1);
  const ValueId places = shape.rotary ? kNoValue : b.constant("positions", {40, kDim}, 0.7);
  const ValueId x = b.node(Op::embedding, {tokens, table, places}, sizes);
  CachedAttention layer{kHeads, kDim / kHeads, shape.rows, 0.6, shape.rotary ? 100.0 : 0.0, {{1, 2, 5, 13}, {0, 4, 7}}};
  if (shape.everything) layer.distances.clear();
  const ValueId qkv = b.linear("qkv", b.norm("norm1", x, sizes), sizes, kDim, 3 * kDim);
  const ValueId mixed = b.node(Op::cached_attention, {qkv}, sizes, layer);
  const ValueId y = b.node(Op::add, {x, b.linear("proj", mixed, sizes, kDim, kDim)}, sizes);
  const ValueId bent =
      b.node(Op::gelu, {b.linear("fc1", b.norm("norm2", y, sizes), sizes, kDim, kHidden)}, {count, kHidden});
  const ValueId z = b.node(Op::add, {y, b.linear("fc2", bent, {count, kHidden}, kHidden, kDim)}, sizes);
  const ValueId last = b.node(Op::slice, {b.norm("norm", z, sizes)}, {1, kDim}, Slice{0, count - 1});
  b.graph.outputs = {b.linear("head", last, {1, kDim}, kDim, kSymbols)};
  return b.graph;
}

Graph sampler() {
  GraphBuilder b;
  constexpr int64_t kTimes = 8, kWidth = 24, kSteps = 3;
  const ValueId sample = b.input({1, 4 + kSteps * kTimes * 2});
  const ValueId seen = b.node(Op::slice, {sample}, {1, 4}, Slice{1, 0});
  const ValueId flat = b.node(Op::slice, {sample}, {1, kSteps * kTimes * 2}, Slice{1, 4});
  const ValueId noise = b.node(Op::reshape, {flat}, {1, kSteps, kTimes, 2});
  const ValueId first_round = b.node(Op::slice, {noise}, {1, 1, kTimes, 2}, Slice{1, 0});
  const ValueId first = b.node(Op::reshape, {first_round}, {1, kTimes, 2});
  const ValueId told = b.node(Op::mish, {b.linear("told", seen, {1, 4}, 4, 2 * kWidth)}, {1, 2 * kWidth});
  const ValueId film_table = b.constant("films", {kSteps, 2 * kWidth}, 0.4);
  const ValueId coefficients = b.constant("coefficients", {kSteps, 6}, 0.9);
  const ValueId state = b.value({1, kTimes, 2}), film_row = b.fixed({2 * kWidth}), row = b.fixed({6}),
                fresh = b.value({1, kTimes, 2});
  b.repeated = true;
  const ValueId film = b.node(Op::add, {told, film_row}, {1, 2 * kWidth});
  const ValueId wide = b.node(Op::reshape, {film}, {1, 2 * kWidth, 1});
  const ValueId scale = b.node(Op::slice, {wide}, {1, kWidth, 1}, Slice{1, 0});
  const ValueId shift = b.node(Op::slice, {wide}, {1, kWidth, 1}, Slice{1, kWidth});
  const ValueId turned = b.node(Op::permute, {state}, {1, 2, kTimes}, Permute{{0, 2, 1}});
  const auto convolved = [&](const std::string& name, ValueId x, std::array<int64_t, 3> to, int64_t from, Conv1d how) {
    return b.node(
        Op::conv1d,
        {x, b.constant(name + ".weight", {to[1], from, how.kernel}, 0.3), b.constant(name + ".bias", {to[1]}, 0.1)},
        {to[0], to[1], to[2]}, how);
  };
  const ValueId y = convolved("first", turned, {1, kWidth, kTimes}, 2, {5, 1, 2});
  const ValueId normed =
      b.node(Op::group_norm, {y, b.constant("norm.weight", {kWidth}, 1.0), b.constant("norm.bias", {kWidth}, 0.1)},
             {1, kWidth, kTimes}, GroupNorm{3, 1e-5});
  const ValueId bent = b.node(Op::mish, {normed}, {1, kWidth, kTimes});
  const ValueId scaled = b.node(Op::mul, {bent, scale}, {1, kWidth, kTimes});
  const ValueId shifted = b.node(Op::add, {scaled, shift}, {1, kWidth, kTimes});
  const ValueId shorter = convolved("down", shifted, {1, kWidth, kTimes / 2}, kWidth, {3, 2, 1});
  const ValueId doubled = convolved("up", shorter, {1, 2 * kWidth, kTimes / 2}, kWidth, {3, 1, 1});
  const ValueId split = b.node(Op::reshape, {doubled}, {1, 2, kWidth, kTimes / 2});
  const ValueId mixed = b.node(Op::permute, {split}, {1, kWidth, kTimes / 2, 2}, Permute{{0, 2, 3, 1}});
  const ValueId longer = b.node(Op::reshape, {mixed}, {1, kWidth, kTimes});
  const ValueId both = b.node(Op::concat, {longer, shifted}, {1, 2 * kWidth, kTimes}, Axis{1});
  const ValueId plain = b.node(Op::group_norm, {both}, {1, 2 * kWidth, kTimes}, GroupNorm{1, 1e-5});
  const ValueId last = convolved("last", plain, {1, 2, kTimes}, 2 * kWidth, {1, 1, 0});
  const ValueId predicted = b.node(Op::permute, {last}, {1, kTimes, 2}, Permute{{0, 2, 1}});
  const ValueId next = b.node(Op::denoise, {state, predicted, row, fresh}, {1, kTimes, 2});
  b.repeated = false;
  b.graph.loop = GraphLoop{kSteps, state, first, next, {{film_row, film_table}, {row, coefficients}, {fresh, noise}}};
  const ValueId done = b.node(Op::slice, {state}, {1, 4, 2}, Slice{1, 1});
  b.graph.outputs = {b.node(Op::reshape, {done}, {1, 8})};
  return b.graph;
}

}  // namespace fib::test
