// SPDX-License-Identifier: Apache-2.0
#include "engine/simplify.h"

#include <gtest/gtest.h>

#include "oracle/graph_oracle.h"

namespace fib::engine {
namespace {

/// Builds a graph line by line.
class Builder {
 public:
  ValueId value(const Shape& shape) {
    graph.values.push_back({"", shape, nullptr});
    return static_cast<ValueId>(graph.values.size() - 1);
  }
  ValueId constant(const std::string& name, const Shape& shape, std::vector<float> numbers) {
    const auto owner = std::make_shared<std::vector<float>>(std::move(numbers));
    graph.values.push_back({name, shape, {owner, owner->data()}});
    return static_cast<ValueId>(graph.values.size() - 1);
  }
  ValueId node(Op op, std::vector<ValueId> inputs, const Shape& shape, Attributes attributes = {}) {
    const ValueId out = value(shape);
    graph.nodes.push_back({op, std::move(inputs), out, std::move(attributes)});
    return out;
  }

  Graph graph;
};

const Dim kBatch{1, true};

std::vector<Op> ops_of(const Graph& graph) {
  std::vector<Op> ops;
  for (const Node& node : graph.nodes) ops.push_back(node.op);
  return ops;
}

TEST(Simplify, folds_factors_and_terms_of_channels_into_a_convolution) {
  Builder b;
  const ValueId x = b.value({kBatch, {2}, {2}, {2}});
  const ValueId w = b.constant("w", {{3}, {2}, {1}, {1}}, {1, 2, 3, 4, 5, 6});
  const ValueId conv = b.node(Op::conv2d, {x, w, kNoValue}, {kBatch, {3}, {2}, {2}}, Conv2d{});
  const ValueId factor = b.constant("f", {{3}, {1}, {1}}, {2, 3, 4}),
                term = b.constant("t", {{3}, {1}, {1}}, {7, 8, 9});
  const ValueId scaled = b.node(Op::mul, {conv, factor}, b.graph.shape(conv));
  const ValueId out = b.node(Op::add, {scaled, term}, b.graph.shape(conv));
  b.graph.inputs = {x};
  b.graph.outputs = {out};
  const test::Array images{{1, 2, 2, 2}, {1, -2, 3, -4, 5, -6, 7, -8}};
  const Graph simple = simplified(b.graph);
  validate(simple);
  EXPECT_EQ(ops_of(simple), std::vector<Op>{Op::conv2d});
  EXPECT_EQ(test::evaluate(simple, images).data, test::evaluate(b.graph, images).data);
}

TEST(Simplify, keeps_a_factor_apart_where_the_map_is_read_twice) {
  Builder b;
  const ValueId x = b.value({kBatch, {2}});
  const ValueId y = b.node(Op::linear, {x, b.constant("w", {{2}, {2}}, {1, 2, 3, 4}), kNoValue}, {kBatch, {2}});
  const ValueId scaled = b.node(Op::mul, {y, b.constant("f", {{2}}, {2, 3})}, {kBatch, {2}});
  const ValueId out = b.node(Op::add, {scaled, y}, {kBatch, {2}});
  b.graph.inputs = {x};
  b.graph.outputs = {out};
  const Graph simple = simplified(b.graph);
  EXPECT_EQ(ops_of(simple), (std::vector<Op>{Op::linear, Op::mul, Op::add}));
}

TEST(Simplify, makes_one_view_of_several_and_drops_what_is_not_read) {
  Builder b;
  const ValueId x = b.value({kBatch, {2}, {3}, {4}});
  const ValueId first = b.node(Op::permute, {x}, {kBatch, {4}, {2}, {3}}, Permute{{0, 3, 1, 2}});
  const ValueId back = b.node(Op::permute, {first}, {kBatch, {2}, {3}, {4}}, Permute{{0, 2, 3, 1}});
  const ValueId flat = b.node(Op::reshape, {back}, {kBatch, {24}});
  b.node(Op::gelu, {flat}, {kBatch, {24}});
  const ValueId square = b.node(Op::reshape, {flat}, {kBatch, {6}, {4}});
  const ValueId all = b.node(Op::slice, {square}, {kBatch, {6}, {4}}, Slice{1, 0});
  const ValueId out = b.node(Op::sigmoid, {all}, {kBatch, {6}, {4}});
  b.graph.inputs = {x};
  b.graph.outputs = {out};
  const Graph simple = simplified(b.graph);
  validate(simple);
  EXPECT_EQ(ops_of(simple), (std::vector<Op>{Op::reshape, Op::sigmoid}));
  EXPECT_EQ(simple.values.size(), 3U);
}

}  // namespace
}  // namespace fib::engine
