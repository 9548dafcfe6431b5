// SPDX-License-Identifier: Apache-2.0
// What is written is ONNX as its own checker and its shape inference see it; scripts/compare-onnxruntime.sh runs it.
#include "engine/onnx/export.h"

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "base/npy.h"
#include "engine/onnx/builder.h"
#include "engine/product.h"
#include "engine/torch/record.h"
#include "engine/torch/some_model.h"

namespace fib::engine {
namespace {

Graph recorded(const std::string& name, const std::string& attention) {
  return record(*test::some_model(name, attention));
}

onnx::ModelProto exported(const Graph& graph, const OnnxOptions& options = {}) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(to_onnx(graph, options)));
  // Strict: every shape that can be inferred must agree with those that are known.
  onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(), {true, 1, false});
  return model;
}

std::set<std::string> operators_of(const onnx::ModelProto& model) {
  std::set<std::string> types;
  for (const auto& node : model.graph().node()) types.insert(node.op_type());
  return types;
}

int constants_named(const onnx::ModelProto& model, const std::string& prefix) {
  int count = 0;
  for (const auto& constant : model.graph().initializer()) count += constant.name().rfind(prefix, 0) == 0;
  return count;
}

TEST(Onnx, takes_every_backbone_in_both_forms_of_attention) {
  for (const std::string& name : test::minis()) {
    const Graph graph = recorded(name, "fibottention");
    for (const AttentionForm form : {AttentionForm::smaller, AttentionForm::gather, AttentionForm::mask}) {
      SCOPED_TRACE(name);
      const onnx::ModelProto model = exported(graph, {17, {form}, {}});
      EXPECT_EQ(model.graph().input(0).type().tensor_type().shape().dim(0).dim_param(), "batch");
      EXPECT_EQ(model.graph().output(0).type().tensor_type().shape().dim(1).dim_value(), 10);
    }
  }
}

TEST(Onnx, takes_every_mechanism) {
  for (const attention::MechanismInfo& m : attention::mechanisms()) {
    SCOPED_TRACE(m.name);
    EXPECT_NO_THROW(exported(recorded("mini_vit", m.name)));
  }
  const Graph zero = recorded("mini_vit", "fibottention:masking=zero");
  EXPECT_TRUE(operators_of(exported(zero, {17, {AttentionForm::gather}, {}})).count("ReduceMax"));
  EXPECT_TRUE(operators_of(exported(zero, {17, {AttentionForm::mask}, {}})).count("Where"));
}

TEST(Onnx, takes_neighbors_and_summaries_in_both_forms) {
  for (const char* spec :
       {"fibottention:grid=3", "fibottention:grid=3,summaries=2x3", "random:ratio=1,summaries=3x3"}) {
    const Graph graph = recorded("mini_vit", spec);
    for (const AttentionForm form : {AttentionForm::smaller, AttentionForm::gather, AttentionForm::mask})
      EXPECT_NO_THROW(exported(graph, {17, {form}, {}})) << spec;
  }
}

TEST(Onnx, takes_fewer_tokens) {
  for (const auto& [attention, tokens] : test::reduced_attentions()) {
    const Graph graph = record(*test::some_model("mini_vit", attention, tokens));
    EXPECT_NO_THROW(exported(graph)) << attention << " " << tokens;
  }
}

TEST(Onnx, holds_a_mask_once_for_layers_that_share_it) {
  const OnnxOptions masks{17, {AttentionForm::mask}, {}};
  EXPECT_EQ(constants_named(exported(recorded("mini_vit", "fibottention:permute=none"), masks), "mask"), 1);
  // The heads of a layer may stand as those of another do.
  std::set<std::vector<int64_t>> orders;
  for (int64_t layer = 0; layer < 3; ++layer) orders.insert(published_permutation(3, layer));
  const auto distinct = static_cast<int>(orders.size());
  EXPECT_EQ(constants_named(exported(recorded("mini_vit", "fibottention"), masks), "mask"), distinct);
}

/// Three terabytes: they are counted, not made.
TEST(Onnx, refuses_a_mask_that_no_file_holds_before_it_is_made) {
  attention::Geometry geometry;
  geometry.heads = 3;
  geometry.query_grid = geometry.key_grid = {1024, 1024};
  const Shape tokens{{1, true}, {3}, {geometry.query_tokens()}, {64}};
  Graph graph;
  graph.values = {{"q", tokens, nullptr}, {"k", tokens, nullptr}, {"v", tokens, nullptr}, {"", tokens, nullptr}};
  graph.nodes = {{Op::attention, {0, 1, 2}, 3, Attention{"local", geometry, false}}};
  OnnxBuilder builder(17);
  OnnxNode node(graph, {AttentionForm::mask}, builder);
  for (const ValueId id : {0, 1, 2}) node.set_name(id, graph.values[static_cast<size_t>(id)].name);
  try {
    node.write(graph.nodes[0]);
    FAIL() << "a mask of all pairs of a million tokens";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "the model has more than 2130000000 bytes, and an ONNX file holds no more");
  }
}

TEST(Onnx, gathers_where_that_is_smaller) {
  EXPECT_EQ(constants_named(exported(recorded("mini_vit", "random:ratio=0.1")), "keys"), 0);
  EXPECT_GT(constants_named(exported(recorded("mini_vit", "local:w=2")), "keys"), 0);
}

TEST(Onnx, writes_layer_norms_in_their_parts_for_older_operators) {
  const Graph graph = recorded("mini_vit", "full");
  EXPECT_TRUE(operators_of(exported(graph)).count("LayerNormalization"));
  EXPECT_FALSE(operators_of(exported(graph, {13, {AttentionForm::smaller}, {}})).count("LayerNormalization"));
  EXPECT_THROW(to_onnx(graph, {12, {AttentionForm::smaller}, {}}), std::invalid_argument);
  EXPECT_THROW(to_onnx(graph, {18, {AttentionForm::smaller}, {}}), std::invalid_argument);
}

TEST(Onnx, multiplies_bytes_where_a_layer_has_more_than_one_row) {
  const onnx::ModelProto model = exported(recorded("mini_vit", "full"), {17, {AttentionForm::smaller, true}, {}});
  std::map<std::string, int> count;
  for (const auto& node : model.graph().node()) ++count[node.op_type()];
  const int layers = static_cast<int>(test::some_model("mini_vit", "full")->dimensions().row.depth) * 4 + 1;
  EXPECT_EQ(count["MatMulInteger"], layers)
      << "patches, then qkv, projection and two of the MLP in each block; the classifier has one row";
  EXPECT_EQ(count["DynamicQuantizeLinear"], layers);
  const onnx::ModelProto float32 = exported(recorded("mini_vit", "full"));
  EXPECT_FALSE(operators_of(float32).count("MatMulInteger"));
}

TEST(Onnx, writes_the_bytes_of_what_several_layers_read_once) {
  const onnx::ModelProto model = exported(recorded("mini_cvt", "full"), {17, {AttentionForm::smaller, true}, {}});
  std::set<std::string> read;
  for (const auto& node : model.graph().node()) {
    if (node.op_type() != "DynamicQuantizeLinear") continue;
    EXPECT_TRUE(read.insert(node.input(0)).second) << node.input(0);
  }
  EXPECT_FALSE(read.empty());
}

TEST(Onnx, bytes_of_weights_are_half_a_step_off_at_most) {
  const std::vector<float> weights = {1.0f, -0.5f, 0.26f, 0.0f, 0.0f, 0.0f};
  const QuantizedWeights quantized = quantize_weights(weights, 2, 3);
  EXPECT_EQ(quantized.values, (std::vector<int8_t>{127, -64, 33, 0, 0, 0}));
  EXPECT_EQ(quantized.scale, (std::vector<float>{1.0f / 127.0f, 0.0f}));
}

TEST(Onnx, tells_what_it_holds) {
  const onnx::ModelProto model =
      exported(recorded("mini_vit", "full"), {17, {AttentionForm::smaller}, {{"model", "x"}}});
  ASSERT_EQ(model.metadata_props_size(), 1);
  EXPECT_EQ(model.metadata_props(0).value(), "x");
}

}  // namespace
}  // namespace fib::engine
