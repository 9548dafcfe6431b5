// SPDX-License-Identifier: Apache-2.0
#include "engine/graph.h"

#include <gtest/gtest.h>

#include <functional>

namespace fib::engine {
namespace {

std::shared_ptr<const float> zeros(const Shape& shape) {
  const auto owner = std::make_shared<std::vector<float>>(static_cast<size_t>(elements(shape, 1)));
  return {owner, owner->data()};
}

/// images [B,2,4,4] -> tokens [B,16,2] -> linear [B,16,24] -> qkv -> attention [B,16,8] -> mean [B,8]
Graph small_graph() {
  Graph g;
  const auto value = [&](const char* name, const Shape& shape, bool constant = false) {
    g.values.push_back({name, shape, constant ? zeros(shape) : nullptr});
    return static_cast<ValueId>(g.values.size() - 1);
  };
  const Dim B{1, true};
  const ValueId images = value("images", {B, {2}, {4}, {4}}), flat = value("", {B, {2}, {16}});
  const ValueId tokens = value("", {B, {16}, {2}}), weight = value("qkv.weight", {{24}, {2}}, true);
  const ValueId rows = value("", {B, {16}, {24}}), qkv = value("", {B, {16}, {3}, {2}, {4}});
  const ValueId mixed = value("", {B, {16}, {8}}), pooled = value("", {B, {8}});
  attention::Geometry layer;
  layer.heads = 2;
  layer.head_dim = layer.value_dim = 4;
  layer.cls = 0;
  layer.query_grid = layer.key_grid = {4, 4};
  g.inputs = {images};
  g.outputs = {pooled};
  g.nodes = {{Op::reshape, {images}, flat, {}},
             {Op::permute, {flat}, tokens, Permute{{0, 2, 1}}},
             {Op::linear, {tokens, weight, kNoValue}, rows, {}},
             {Op::reshape, {rows}, qkv, {}},
             {Op::attention, {qkv, kNoValue}, mixed, Attention{"fibottention", layer, true}},
             {Op::mean, {mixed}, pooled, Axes{{1}}}};
  return g;
}

std::string refusal(const std::function<void(Graph&)>& spoil) {
  Graph g = small_graph();
  spoil(g);
  try {
    validate(g);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "";
}

TEST(Graph, is_accepted_where_all_shapes_agree) { EXPECT_NO_THROW(validate(small_graph())); }

TEST(Graph, writes_shapes_with_the_samples_left_open) {
  EXPECT_EQ(to_string(Shape{{64, true}, {49}, {96}}), "[64B,49,96]");
  EXPECT_EQ(to_string(Shape{{1, true}, {10}}), "[B,10]");
  EXPECT_EQ(sizes(Shape{{64, true}, {49}}, 3), (std::vector<int64_t>{192, 49}));
}

TEST(Graph, refuses_indices_outside) {
  EXPECT_EQ(refusal([](Graph& g) { g.nodes[2].inputs[1] = 99; }), "graph: node 2 (linear): input 1 is value 99, of 8");
  EXPECT_EQ(refusal([](Graph& g) { g.outputs = {-1}; }), "graph: output value -1 is not computed");
  EXPECT_EQ(refusal([](Graph& g) { g.nodes[1].output = 100; }), "graph: node 1 (permute) and others name value 100");
}

TEST(Graph, refuses_what_is_read_before_it_is_computed_or_computed_twice) {
  EXPECT_EQ(refusal([](Graph& g) { std::swap(g.nodes[0], g.nodes[1]); }),
            "graph: node 0 (permute): input 0 is not computed yet");
  EXPECT_EQ(refusal([](Graph& g) { g.nodes[3].output = g.nodes[2].output; }),
            "graph: node 3 (reshape) and others compute value 4 a second time");
}

TEST(Graph, refuses_attributes_of_another_operator) {
  EXPECT_EQ(refusal([](Graph& g) { g.nodes[1].attributes = Axis{1}; }),
            "graph: node 1 (permute): its attributes are of another operator");
}

TEST(Graph, refuses_shapes_that_do_not_agree) {
  const auto shape = [](ValueId id, Shape s) {
    return refusal([&](Graph& g) { g.values[static_cast<size_t>(id)].shape = s; });
  };
  EXPECT_NE(shape(1, {{1, true}, {2}, {15}}).find("node 0 (reshape): the elements are not as many"), std::string::npos);
  EXPECT_NE(shape(1, {{2}, {16, true}}).find("node 1 (permute): the order has another length"), std::string::npos);
  EXPECT_NE(shape(3, {{24}, {3}}).find("node 2 (linear): weights do not fit; inputs [B,16,2] [24,3] none"),
            std::string::npos);
  EXPECT_NE(shape(6, {{1, true}, {16}, {9}}).find("node 4 (attention): the output does not fit"), std::string::npos);
  EXPECT_EQ(shape(0, {{0}}), "graph: value 0 cannot be [0]");
}

}  // namespace
}  // namespace fib::engine
