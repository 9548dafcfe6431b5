// SPDX-License-Identifier: Apache-2.0
#include "training/torch/optimizer.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>

#include "files.h"

namespace fib::training {
namespace {

struct Net : torch::nn::Module {
  Net() {
    torch::manual_seed(1);
    fc = register_module("fc", torch::nn::Linear(7, 5));
    norm = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({5})));
    cls_token = register_parameter("cls_token", torch::randn({1, 1, 5}));
  }
  at::Tensor forward(const at::Tensor& x) { return norm(fc(x)) + cls_token.view({5}); }

  torch::nn::Linear fc{nullptr};
  torch::nn::LayerNorm norm{nullptr};
  at::Tensor cls_token;
};

struct WithBuffers : torch::nn::Module {
  WithBuffers() { norm = register_module("norm", torch::nn::BatchNorm1d(3)); }
  torch::nn::BatchNorm1d norm{nullptr};
};

at::Tensor loss_of(Net& net, int64_t seed) {
  torch::manual_seed(static_cast<uint64_t>(seed));
  return net.forward(torch::randn({6, 7})).pow(2).mean();
}

std::vector<Group> one_group(const FlatParameters& flat, double weight_decay = 0) {
  return {{.begin = 0, .end = flat.trained(), .lr_scale = 1, .weight_decay = weight_decay}};
}

TEST(FlatParameters, leave_the_model_as_it_was_and_share_its_memory) {
  Net net;
  const at::Tensor before = net.fc->weight.clone();
  FlatParameters flat(net);
  EXPECT_TRUE(net.fc->weight.equal(before));
  EXPECT_EQ(flat.parameters(), 5 * 7 + 5 + 5 + 5 + 5);
  flat.values().fill_(2);
  EXPECT_TRUE(net.cls_token.eq(2).all().item<bool>());
  loss_of(net, 3).backward();
  EXPECT_GT(flat.gradients().abs().sum().item<double>(), 0);
  flat.zero_gradients();
  EXPECT_EQ(net.fc->weight.grad().abs().sum().item<double>(), 0);
}

TEST(FlatParameters, begin_each_tensor_at_a_cache_line) {
  Net net;
  const FlatParameters flat(net);
  for (const Segment& segment : flat.segments()) EXPECT_EQ(segment.offset % 16, 0) << segment.name;
}

TEST(FlatParameters, hold_floating_buffers_after_the_parameters) {
  WithBuffers net;
  FlatParameters flat(net);
  EXPECT_TRUE(flat.has_buffers());
  EXPECT_EQ(flat.segments().size(), 4U) << "weight, bias, running_mean, running_var";
  net.norm->forward(torch::randn({8, 3}));
  EXPECT_TRUE(flat.values().narrow(0, flat.segments()[2].offset, 3).equal(net.norm->running_mean));
}

TEST(FlatParameters, exchange_values_and_give_them_back) {
  Net net;
  FlatParameters flat(net);
  const at::Tensor before = flat.values().clone();
  at::Tensor other = at::full({flat.size()}, 7.0F);
  {
    const ValuesInPlace swapped(flat, &other);
    EXPECT_TRUE(net.fc->bias.eq(7).all().item<bool>());
  }
  EXPECT_TRUE(flat.values().equal(before));
}

TEST(FlatParameters, refuse_other_types) {
  Net net;
  net.to(at::kDouble);
  EXPECT_TRUE(test::mentions(test::error_of([&] { FlatParameters flat(net); }), "float32 on the CPU"));
}

TEST(Groups, follow_the_recipe) {
  EXPECT_TRUE(decays("blocks.0.attn.qkv.weight", 2));
  EXPECT_TRUE(decays("patch_embed.proj.weight", 4));
  EXPECT_FALSE(decays("blocks.0.attn.qkv.bias", 1));
  EXPECT_FALSE(decays("blocks.0.norm1.weight", 1));
  EXPECT_FALSE(decays("pos_embed", 3));
  EXPECT_FALSE(decays("cls_token", 3));
  EXPECT_FALSE(decays("layers.0.blocks.1.attn.relative_position_bias_table", 2));
}

TEST(Groups, decay_everything_where_the_recipe_says_so) {
  Net net;
  const FlatParameters flat(net);
  const auto groups = parameter_groups(flat, {.weight_decay = 0.05, .decay_all = true, .stages = {1}});
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].weight_decay, 0.05);
}

TEST(Groups, number_layers_from_embeddings_to_head) {
  EXPECT_EQ(layer_of("cls_token", {12}), 0);
  EXPECT_EQ(layer_of("patch_embed.proj.bias", {12}), 0);
  EXPECT_EQ(layer_of("blocks.0.norm1.weight", {12}), 1);
  EXPECT_EQ(layer_of("blocks.11.mlp.fc2.bias", {12}), 12);
  EXPECT_EQ(layer_of("norm.weight", {12}), 13);
  EXPECT_EQ(layer_of("head.weight", {12}), 13);
  const std::vector<int64_t> swin = {2, 2, 6, 2};
  EXPECT_EQ(layer_of("patch_embed.norm.weight", swin), 0);
  EXPECT_EQ(layer_of("layers.0.blocks.1.attn.relative_position_bias_table", swin), 2);
  EXPECT_EQ(layer_of("layers.0.downsample.norm.weight", swin), 2);
  EXPECT_EQ(layer_of("layers.2.blocks.5.mlp.fc1.weight", swin), 10);
  EXPECT_EQ(layer_of("norm.bias", swin), 13);
  EXPECT_EQ(layer_of("stages.1.blocks.0.attn.rel_pos_h", {1, 2, 11, 2}), 2);
  EXPECT_EQ(layer_of("head.fc.weight", {1, 2, 11, 2}), 17);
  EXPECT_EQ(layer_of("stages.2.3.block.channel_mixer.m.0.c.weight", {2, 2, 16, 6}), 8);
  EXPECT_EQ(layer_of("downsample_layers.0.0.bn.weight", {2, 2, 16, 6}), 0);
  EXPECT_EQ(layer_of("downsample_layers.2.0.c.weight", {2, 2, 16, 6}), 5);
  EXPECT_EQ(layer_of("classifier.classifier.l.weight", {2, 2, 16, 6}), 27);
  EXPECT_EQ(layer_of("stage1.blocks.1.norm1.weight", {1, 2, 10}), 3);
  EXPECT_EQ(layer_of("stage0.patch_embed.proj.weight", {1, 2, 10}), 0);
  EXPECT_EQ(layer_of("stage2.cls_token", {1, 2, 10}), 4);
}

TEST(Groups, cover_every_parameter_once) {
  Net net;
  const FlatParameters flat(net);
  const auto groups = parameter_groups(flat, {.weight_decay = 0.05, .layer_decay = 1, .stages = {1}});
  ASSERT_FALSE(groups.empty());
  int64_t at = 0;
  for (const Group& group : groups) {
    EXPECT_EQ(group.begin, at);
    at = group.end;
  }
  EXPECT_LE(flat.trained() - at, 16) << "only padding may be left";
}

/// torch's own AdamW on a copy of the net.
TEST(AdamW, steps_as_torchs_does) {
  Net ours, theirs;
  FlatParameters flat(ours);
  Optimizer optimizer(flat, one_group(flat, 0.1), {.update = {.beta1 = 0.8, .beta2 = 0.95, .eps = 1e-6}});
  torch::optim::AdamW reference(theirs.parameters(),
                                torch::optim::AdamWOptions(0.01).betas({0.8, 0.95}).eps(1e-6).weight_decay(0.1));
  for (int64_t i = 0; i < 20; ++i) {
    flat.zero_gradients();
    loss_of(ours, i).backward();
    optimizer.step(0.01);
    reference.zero_grad();
    loss_of(theirs, i).backward();
    reference.step();
  }
  for (const auto& item : theirs.named_parameters())
    EXPECT_LT((item.value() - ours.named_parameters()[item.key()]).abs().max().item<double>(), 2e-6) << item.key();
}

TEST(AdamW, gives_groups_their_own_rate_and_decay) {
  Net net;
  FlatParameters flat(net);
  const at::Tensor before = flat.values().clone();
  Optimizer optimizer(flat, {{0, 16, 1.0, 0.5}, {16, 32, 0.5, 0.0}}, {});
  flat.gradients().fill_(1);
  optimizer.step(0.1);
  // The first step of Adam is lr in the direction of the gradient.
  EXPECT_TRUE(flat.values().narrow(0, 0, 16).allclose(before.narrow(0, 0, 16) * 0.95 - 0.1, 1e-5, 1e-6));
  EXPECT_TRUE(flat.values().narrow(0, 16, 16).allclose(before.narrow(0, 16, 16) - 0.05, 1e-5, 1e-6));
}

TEST(AdamW, clips_the_norm_of_the_whole_gradient) {
  Net net;
  FlatParameters flat(net);
  Optimizer clipped(flat, one_group(flat), {.update = {.beta1 = 0}, .grad_clip = 1});
  flat.gradients().fill_(3);
  const double norm = 3 * std::sqrt(static_cast<double>(flat.trained()));
  EXPECT_NEAR(clipped.step(0.1), norm, 1e-4) << "the norm before clipping";
  EXPECT_NEAR(l2_norm(clipped.state().memory[0].second), 1, 1e-5) << "what the optimizer saw";
  flat.gradients().fill_(1e-4F);
  clipped.step(0.1);
  EXPECT_NEAR(clipped.state().memory[0].second[0].item<double>(), 1e-4, 1e-9) << "small gradients are left alone";
}

TEST(AdamW, changes_nothing_for_a_gradient_that_is_not_finite) {
  Net net;
  FlatParameters flat(net);
  Optimizer optimizer(flat, one_group(flat), {.average = {.most = 0.9}});
  const at::Tensor before = flat.values().clone();
  flat.gradients()[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(std::isfinite(optimizer.step(0.1)));
  EXPECT_TRUE(flat.values().equal(before));
  EXPECT_EQ(optimizer.steps(), 0);
}

TEST(Optimizer, does_not_depend_on_the_number_of_threads) {
  const auto trained = [](const std::string& name, int threads) {
    const int before = at::get_num_threads();
    at::set_num_threads(threads);
    torch::nn::Linear net(300, 400);
    torch::manual_seed(5);
    torch::NoGradGuard no_grad;
    net->weight.normal_();
    net->bias.normal_();
    FlatParameters flat(*net);
    Optimizer optimizer(flat, one_group(flat, 0.1), {.name = name, .grad_clip = 0.5, .average = {.most = 0.99}});
    for (int i = 0; i < 3; ++i) {
      flat.gradients().normal_();
      optimizer.step(0.01);
    }
    at::set_num_threads(before);
    return at::cat({flat.values(), optimizer.average()});
  };
  for (const OptimizerRow& row : optimizers())
    EXPECT_TRUE(trained(row.name, 1).equal(trained(row.name, 2))) << row.name;
}

/// torch's own SGD on a copy of the net.
TEST(Sgd, steps_as_torchs_does) {
  Net ours, theirs;
  FlatParameters flat(ours);
  Optimizer optimizer(flat, one_group(flat, 0.1), {.name = "sgd", .update = {.momentum = 0.8}});
  torch::optim::SGD reference(theirs.parameters(),
                              torch::optim::SGDOptions(0.05).momentum(0.8).nesterov(true).weight_decay(0.1));
  for (int64_t i = 0; i < 20; ++i) {
    flat.zero_gradients();
    loss_of(ours, i).backward();
    optimizer.step(0.05);
    reference.zero_grad();
    loss_of(theirs, i).backward();
    reference.step();
  }
  for (const auto& item : theirs.named_parameters())
    EXPECT_LT((item.value() - ours.named_parameters()[item.key()]).abs().max().item<double>(), 2e-6) << item.key();
}

TEST(Optimizer, continues_from_its_state_and_refuses_anothers) {
  for (const OptimizerRow& row : optimizers()) {
    Net net, again;
    FlatParameters flat(net), copy(again);
    Optimizer first(flat, one_group(flat, 0.1), {.name = row.name, .average = {.most = 0.9}});
    Optimizer second(copy, one_group(copy, 0.1), {.name = row.name, .average = {.most = 0.9}});
    const auto step = [](Optimizer& optimizer, FlatParameters& parameters, int64_t i) {
      torch::manual_seed(static_cast<uint64_t>(i));
      parameters.gradients().normal_();
      optimizer.step(0.1);
    };
    for (int64_t i = 0; i < 3; ++i) step(first, flat, i);
    copy.restore(flat.values());
    second.restore(first.state());
    for (int64_t i = 3; i < 6; ++i) {
      step(first, flat, i);
      step(second, copy, i);
    }
    EXPECT_TRUE(flat.values().equal(copy.values())) << row.name;
    EXPECT_TRUE(first.average().equal(second.average())) << row.name;
  }
  Net net;
  FlatParameters flat(net);
  const Optimizer sgd(flat, one_group(flat), {.name = "sgd"});
  Optimizer adamw(flat, one_group(flat), {});
  EXPECT_TRUE(test::mentions(test::error_of([&] { adamw.restore(sgd.state()); }), "no mean of adamw"));
}

TEST(Ema, averages_parameters_and_buffers) {
  WithBuffers net;
  FlatParameters flat(net);
  Optimizer optimizer(flat, one_group(flat), {.average = {.name = "constant", .most = 0.75}});
  const at::Tensor first = flat.values().clone();
  net.norm->running_mean.fill_(8);
  flat.gradients().fill_(1);
  optimizer.step(0.5);
  EXPECT_TRUE(optimizer.average().allclose(first * 0.75 + flat.values() * 0.25));
  EXPECT_EQ(optimizer.average()[flat.segments()[2].offset].item<float>(), 2);
}

TEST(L2Norm, is_exact_where_floats_would_lose_digits) {
  EXPECT_NEAR(l2_norm(at::full({1 << 20}, 0.1F)), 0.1F * 1024, 1e-9);
}

}  // namespace
}  // namespace fib::training
