// SPDX-License-Identifier: Apache-2.0
#include "robots/policy.h"

#include <gtest/gtest.h>

#include <tuple>

#include "files.h"
#include "models/cost.h"

namespace fib::robots {
namespace {

/// Features of the published policies: numbers and one or two cameras, two times.
TEST(Policies, see_as_much_as_the_published_ones) {
  EXPECT_EQ(find_policy("pusht_resnet18").condition(), 132);
  EXPECT_EQ(find_policy("pusht_vit_b8").condition(), 1540);
  EXPECT_EQ(find_policy("arm_resnet18").condition(), 274);
  EXPECT_EQ(find_policy("arm_vit_b8").condition(), 3090);
  EXPECT_EQ(find_policy("pusht_small").condition(), 2 * (2 + 96));
  EXPECT_EQ(find_policy("arm_small").condition(), 2 * (2 * 96 + 3 + 4 + 2));
}

/// Images are reduced by taking the mean of squares of pixels.
TEST(Policies, see_images_reduced_by_whole_factors) {
  for (const Policy& policy : policies()) {
    const int64_t recorded = policy.task.name == "arm" ? 84 : 96;
    for (const Observation& o : policy.task.observations) {
      if (!o.is_image()) continue;
      EXPECT_EQ(recorded % o.image_size, 0) << policy.name;
      EXPECT_LT(o.crop, o.image_size) << policy.name;
    }
  }
}

TEST(Policies, for_two_cores_have_few_tokens) {
  for (const auto& [name, tokens] : {std::pair{"pusht_small", 49}, std::pair{"arm_small", 36}}) {
    const Policy& policy = find_policy(name);
    const models::Options options = encoder_options(policy.encoder, policy.image().crop, AttentionSpec::parse("full"));
    EXPECT_EQ(models::dimensions(policy.encoder.vit, options).grid().tokens(), tokens) << name;
  }
}

/// The published ViT-B with patches of 8, its unused classifier counted too.
TEST(Policies, have_the_published_image_encoder) {
  for (const auto& [side, tokens, parameters] : {std::tuple{80, 100, 86051560}, std::tuple{72, 81, 86036968}}) {
    models::Options options;
    options.resolution = side;
    options.patch = 8;
    const models::Dimensions dims = models::dimensions("vit_base_patch16_224", options);
    EXPECT_EQ(dims.grid().tokens(), tokens);
    EXPECT_EQ(models::cost(dims).parameters, parameters);
  }
}

TEST(Policies, are_known_by_name) {
  EXPECT_TRUE(test::mentions(test::error_of([] { find_policy("pusht_vitb8"); }), "pusht_vit_b8"));
}

}  // namespace
}  // namespace fib::robots
