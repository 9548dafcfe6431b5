// SPDX-License-Identifier: Apache-2.0
// A recorded graph, carried out by the slow oracle, gives what the module gives.
#include "engine/torch/record.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/torch/some_model.h"
#include "engine/torch/translate.h"
#include "oracle/graph_oracle.h"

namespace fib::engine {
namespace {

test::Array array_of(const at::Tensor& t) {
  const at::Tensor numbers = t.to(at::kDouble).contiguous();
  return {numbers.sizes().vec(), {numbers.data_ptr<double>(), numbers.data_ptr<double>() + numbers.numel()}};
}

/// Over the largest logit.
double error_of(models::Model& model, const Graph& graph, int64_t batch) {
  const at::Tensor images = test::noise_for(model, batch);
  const at::NoGradGuard no_grad;
  const test::Array wanted = array_of(model.forward(images)), got = test::evaluate(graph, array_of(images));
  EXPECT_EQ(got.sizes, wanted.sizes);
  double worst = 0, largest = 0;
  for (size_t i = 0; i < wanted.data.size(); ++i) {
    worst = std::max(worst, std::abs(got.data[i] - wanted.data[i]));
    largest = std::max(largest, std::abs(wanted.data[i]));
  }
  return worst / largest;
}

size_t count_of(const Graph& graph, Op op) {
  const auto is = [op](const Node& node) { return node.op == op; };
  return static_cast<size_t>(std::count_if(graph.nodes.begin(), graph.nodes.end(), is));
}

TEST(Record, gives_the_module_s_logits_for_every_backbone) {
  for (const std::string& name : test::minis()) {
    for (const char* attention : {"full", "fibottention", "topk"}) {
      SCOPED_TRACE(name + " " + attention);
      const models::ModelPtr model = test::some_model(name, attention);
      EXPECT_LT(error_of(*model, record(*model), 1), 2e-5);
    }
  }
}

TEST(Record, gives_the_module_s_logits_for_every_mechanism) {
  for (const attention::MechanismInfo& m : attention::mechanisms()) {
    SCOPED_TRACE(m.name);
    const models::ModelPtr model = test::some_model("mini_vit", m.name);
    EXPECT_LT(error_of(*model, record(*model), 1), 2e-5);
  }
  const models::ModelPtr model = test::some_model("mini_vit", "fibottention-modified:masking=zero");
  EXPECT_LT(error_of(*model, record(*model), 1), 2e-5);
}

TEST(Record, gives_the_module_s_logits_with_fewer_tokens) {
  for (const auto& [attention, tokens] : test::reduced_attentions()) {
    SCOPED_TRACE(attention + " " + tokens);
    const models::ModelPtr model = test::some_model("mini_vit", attention, tokens);
    EXPECT_LT(error_of(*model, record(*model), 3), 2e-5);
  }
}

TEST(Record, leaves_the_number_of_images_open) {
  for (const std::string& name : test::minis()) {
    SCOPED_TRACE(name);
    const models::ModelPtr model = test::some_model(name, "fibottention");
    EXPECT_LT(error_of(*model, record(*model), 3), 2e-5);
  }
}

TEST(Record, holds_attention_as_what_it_is) {
  const models::ModelPtr model = test::some_model("mini_vit", "fibottention:wmin=2");
  const Graph graph = record(*model);
  const std::vector<attention::MechanismPtr> layers = model->attentions();
  ASSERT_EQ(count_of(graph, Op::attention), layers.size());
  size_t layer = 0;
  for (const Node& node : graph.nodes) {
    if (node.op != Op::attention) continue;
    EXPECT_EQ(node.as<Attention>().attention, "fibottention:wmin=2");
    EXPECT_EQ(node.as<Attention>().geometry, layers[layer++]->geometry());
    EXPECT_TRUE(node.as<Attention>().packed);
  }
}

TEST(Record, makes_batch_norms_part_of_what_stands_before) {
  const models::ModelPtr model = test::some_model("mini_iformer", "full");
  const Graph graph = record(*model);
  // What is left is the norm of the mean before the classifier, and the gates.
  const size_t layers = model->attentions().size();
  EXPECT_EQ(count_of(graph, Op::mul), layers + 1);
}

TEST(Record, names_constants_like_the_parameters) {
  const models::ModelPtr model = test::some_model("mini_vit", "full");
  const Graph graph = record(*model);
  for (const char* name :
       {"cls_token", "pos_embed", "patch_embed.proj.weight", "blocks.2.mlp.fc2.bias", "head.weight"}) {
    const auto named = [&](const Value& v) { return v.constant() && v.name == name; };
    EXPECT_EQ(std::count_if(graph.values.begin(), graph.values.end(), named), 1) << name;
  }
}

TEST(Record, leaves_the_model_as_it_was) {
  const models::ModelPtr model = test::some_model("mini_vit", "full");
  record(*model);
  for (const at::Tensor& p : model->parameters()) EXPECT_TRUE(p.requires_grad());
  const at::Tensor images = at::randn({1, 3, 64, 64});
  EXPECT_GT(model->forward(images).abs().sum().item<double>(), 0);
  model->train();
  EXPECT_THROW(record(*model), std::invalid_argument);
}

/// What a graph cannot hold.
class Odd final : public models::Model {
 public:
  using Body = at::Tensor (*)(const at::Tensor&);
  explicit Odd(Body body) : Model(models::dimensions("mini_vit")), body_(body) { eval(); }
  at::Tensor tokens(const at::Tensor& images) override { return images; }
  at::Tensor features(const at::Tensor& images) override { return body_(images); }
  at::Tensor classify(const at::Tensor& features) override { return features; }
  std::vector<attention::MechanismPtr> attentions() const override { return {}; }
  void set_resolution(int64_t, int64_t) override {}

 private:
  Body body_;
};

std::string refusal(Odd::Body body) {
  Odd model(body);
  try {
    record(model);
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "";
}

TEST(Record, computes_shapes_and_no_activations) {
  EXPECT_EQ(refusal([](const at::Tensor& x) {
              const at::Tensor sum = x + at::ones({1}, x.options());  // made on the device of the input: a constant
              EXPECT_TRUE(x.is_meta() && sum.is_meta());
              return sum.flatten(1);
            }),
            "");
}

TEST(Record, names_what_it_cannot_express) {
  EXPECT_EQ(refusal([](const at::Tensor& x) { return x.sin(); }), "recording: unsupported operator aten::sin");
  EXPECT_EQ(refusal([](const at::Tensor& x) { return (x + 1).mul_(2); }),
            "recording: aten::mul_ writes in place, which a graph cannot hold");
  EXPECT_EQ(refusal([](const at::Tensor& x) { return at::gelu(x, "tanh"); }),
            "recording: unsupported call of aten::gelu: it is approximate");
  EXPECT_EQ(refusal([](const at::Tensor& x) {
              return x.reshape({x.size(0) * x.size(0), -1});
            }),
            "recording: three images are computed with other shapes than two");
}

}  // namespace
}  // namespace fib::engine
