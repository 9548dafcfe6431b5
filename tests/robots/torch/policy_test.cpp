// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "golden_torch.h"
#include "robots/torch/diffusion_policy.h"
#include "robots/torch/mini_policy.h"

namespace fib::robots {
namespace {

int64_t parameters_of(const torch::nn::Module& module) {
  int64_t sum = 0;
  for (const at::Tensor& p : module.parameters()) sum += p.numel();
  return sum;
}

TEST(ConditionalUnet, is_the_published_one) {
  const auto want = golden::read_json("robots.json")["crossway_unet_mini"];
  ConditionalUnet unet(mini_task(), mini_unet(), 20);
  unet.to(at::kDouble);
  golden::fill(unet);
  EXPECT_EQ(parameters_of(unet), want["params"].get<int64_t>());
  const auto have = unet.named_parameters();
  EXPECT_EQ(have.size(), want["state_dict"].size());
  for (const auto& entry : want["state_dict"]) {
    const at::Tensor* found = have.find(entry[0].get<std::string>());
    ASSERT_NE(found, nullptr) << entry[0];
    EXPECT_EQ(found->sizes().vec(), entry[1].get<std::vector<int64_t>>()) << entry[0];
  }
  const at::Tensor sample = std::sqrt(3.0) * golden::tensor("sample", {2, 16, 2});
  const at::Tensor condition = std::sqrt(3.0) * golden::tensor("global_cond", {2, 20});
  const Denoised denoised = unet.forward(sample, at::tensor({3, 77}, at::kLong), condition);
  golden::expect_summary(denoised.noise, want["eps_pred"], 1e-10, "noise");
  const std::vector<at::Tensor> rebuilt = unet.decoder().forward(denoised.middle);
  golden::expect_summary(rebuilt[0], want["recon"]["agent_pos"], 1e-10, "agent_pos");
  golden::expect_summary(rebuilt[1], want["recon"]["image"], 1e-10, "image");
}

/// Parameters are made unset, so a network of a gigabyte costs nothing here.
TEST(ConditionalUnet, has_the_parameters_of_the_published_configurations) {
  const auto want = golden::read_json("robots.json")["crossway_unet_param_counts"];
  const std::pair<const char*, const char*> rows[] = {{"pusht_resnet18", "pusht_resnet18_cond132"},
                                                      {"pusht_vit_b8", "pusht_vitb_cond1540"},
                                                      {"arm_resnet18", "robomimic_resnet18_cond274"},
                                                      {"arm_vit_b8", "robomimic_vitb_cond3090"}};
  for (const auto& [name, key] : rows) {
    const Policy& policy = find_policy(name);
    const ConditionalUnet unet(policy.task, policy.unet, policy.condition());
    EXPECT_EQ(parameters_of(unet), want[key]["total"].get<int64_t>()) << name;
    EXPECT_EQ(parameters_of(unet.decoder()), want[key]["decoder_only"].get<int64_t>()) << name;
  }
}

/// White but for a dark square, as PushT is.
at::Tensor white_with_square(int64_t row, int64_t column) {
  const at::Tensor image = at::ones({1, 3, 42, 42});
  image.narrow(2, row, 6).narrow(3, column, 6).fill_(0);
  return image;
}

TEST(VitEncoder, sees_where_something_is_from_the_start_where_it_has_little_time) {
  const auto change = [](bool quick) {
    torch::manual_seed(1);
    VitEncoder encoder({.vit = "vit_micro_patch2_28", .patch = 6, .quick_start = quick}, 42,
                       AttentionSpec::parse("full"));
    const at::NoGradGuard no_grad;
    const at::Tensor a = encoder.forward(white_with_square(6, 6)), b = encoder.forward(white_with_square(30, 24));
    return ((a - b).norm() / a.norm()).item<double>();
  };
  EXPECT_GT(change(true), 5 * change(false));
}

/// torchvision's ResNet-18 without classifier has 11,176,512 parameters; then 512 → 32 maps, 64 → 64 features.
TEST(ResNetEncoder, is_a_resnet_18_with_keypoints) {
  const auto encoder = std::make_shared<ResNetEncoder>(EncoderSize{});
  EXPECT_EQ(parameters_of(*encoder), 11176512 + 512 * 32 + 32 + 64 * 64 + 64);
  initialize_like_torch(*encoder);
  EXPECT_EQ(encoder->forward(at::randn({2, 3, 84, 84})).sizes().vec(), (std::vector<int64_t>{2, 64}));
}

TEST(SpatialSoftmax, is_the_mean_place_of_each_map) {
  const at::Tensor maps = golden::tensor("maps", {2, 3, 4, 5});
  const at::Tensor got = spatial_softmax(maps).view({2, 3, 2});
  for (int64_t n = 0; n < 2; ++n) {
    for (int64_t c = 0; c < 3; ++c) {
      double sum = 0, x = 0, y = 0;
      for (int64_t i = 0; i < 4; ++i) {
        for (int64_t j = 0; j < 5; ++j) {
          const double weight = std::exp(maps[n][c][i][j].item<double>());
          sum += weight;
          x += weight * (-1 + 2.0 * static_cast<double>(j) / 4);
          y += weight * (-1 + 2.0 * static_cast<double>(i) / 3);
        }
      }
      EXPECT_NEAR(got[n][c][0].item<double>(), x / sum, 1e-12);
      EXPECT_NEAR(got[n][c][1].item<double>(), y / sum, 1e-12);
    }
  }
}

TEST(VitEncoder, averages_patch_tokens_with_any_mechanism) {
  const at::NoGradGuard no_grad;
  for (const char* attention : {"full", "fibottention-modified", "bigbird"}) {
    VitEncoder encoder({.vit = "mini_vit", .patch = 8}, 84, AttentionSpec::parse(attention));
    encoder.eval();
    at::Tensor images = at::randn({2, 3, 84, 84});
    const at::Tensor features = encoder.forward(images);
    EXPECT_EQ(features.sizes().vec(), (std::vector<int64_t>{2, 48}));
    const at::Tensor tokens = encoder.model().tokens(images.narrow(2, 0, 80).narrow(3, 0, 80));
    EXPECT_EQ(tokens.size(1), 101);
    EXPECT_TRUE(at::allclose(features, tokens.narrow(1, 1, 100).mean(1)));
    images.narrow(2, 80, 4).fill_(7);  // beyond the last whole patch
    EXPECT_TRUE(at::equal(encoder.forward(images), features));
  }
}

Demonstrated mini_batch(at::ScalarType type) {
  return {{golden::tensor("agent", {2, 2, 2}).to(type), golden::tensor("image", {2, 2, 3, 24, 24}).to(type)},
          golden::tensor("actions", {2, 16, 2}).to(type)};
}

/// The slope of the loss along a random direction, by central differences.
TEST(DiffusionPolicy, has_the_gradients_of_finite_differences) {
  torch::manual_seed(1);
  DiffusionPolicy policy(mini_policy(), AttentionSpec::parse("fibottention"));
  policy.to(at::kDouble);
  policy.eval();  // the same crop each time
  const Demonstrated batch = mini_batch(at::kDouble);
  const at::Tensor noise = golden::tensor("noise", {2, 16, 2}), times = at::tensor({5, 60}, at::kLong);
  policy.loss(batch, noise, times).total().backward();
  std::vector<at::Tensor> directions;
  double slope = 0;
  for (const at::Tensor& p : policy.parameters()) {
    directions.push_back(at::randn_like(p));
    if (p.grad().defined()) slope += (p.grad() * directions.back()).sum().item<double>();
  }
  const auto moved = [&](double by) {
    const at::NoGradGuard no_grad;
    const std::vector<at::Tensor> parameters = policy.parameters();
    for (size_t i = 0; i < parameters.size(); ++i) parameters[i].add_(directions[i], by);
    return policy.loss(batch, noise, times).total().item<double>();
  };
  constexpr double h = 1e-6;
  const double up = moved(h), down = moved(-2 * h);
  EXPECT_NEAR((up - down) / (2 * h), slope, 1e-5 * std::abs(slope) + 1e-6);
  EXPECT_GT(std::abs(slope), 1e-3);
}

/// A torch step is the scalar formula of tests/robots, element by element; a few of a sampler in a row too.
TEST(Samplers, agree_with_scalar_arithmetic) {
  const NoiseSchedule schedule(100);
  const at::Tensor predicted = golden::tensor("predicted", {6});
  for (const char* name : {"ddpm", "ddim:7"}) {
    at::Tensor x = golden::tensor("start", {6}) * 2;
    std::vector<double> slow(x.data_ptr<double>(), x.data_ptr<double>() + 6);
    for (const DenoisingStep& s : sampler_steps(name, schedule)) {
      const at::Tensor fresh = golden::tensor(fmt::format("fresh{}", s.time), {6});
      x = one_step_back(s, x, predicted * 0.3, fresh);
      for (int64_t i = 0; i < 6; ++i) {
        const double e = 0.3 * predicted[i].item<double>(), before = slow[static_cast<size_t>(i)];
        const double clean = std::min(1.0, std::max(-1.0, (before - s.noise * e) / s.signal));
        slow[static_cast<size_t>(i)] =
            s.clean * clean + s.sample * before + s.predicted * e + s.fresh * fresh[i].item<double>();
      }
    }
    for (int64_t i = 0; i < 6; ++i) EXPECT_NEAR(x[i].item<double>(), slow[static_cast<size_t>(i)], 1e-12) << name;
  }
}

}  // namespace
}  // namespace fib::robots
