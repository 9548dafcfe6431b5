// SPDX-License-Identifier: Apache-2.0
#include "robots/policy.h"

#include <algorithm>
#include <stdexcept>

#include "base/nearest.h"
#include "models/table.h"

namespace fib::robots {
namespace {

/// Recorded are images of 96 pixels.
RobotTask pusht_task(int64_t side, int64_t crop) { return {"pusht", {{"agent_pos", 2}, {"image", 3, side, crop}}, 2}; }

/// Lift and Can of robomimic: two cameras, recorded with 84 pixels, and actions as position, rotation in six numbers
/// and gripper.
RobotTask arm_task(int64_t side, int64_t crop) {
  return {"arm",
          {{"agentview_image", 3, side, crop},
           {"robot0_eef_pos", 3},
           {.name = "robot0_eef_quat", .channels = 4, .limited = false},
           {"robot0_eye_in_hand_image", 3, side, crop},
           {"robot0_gripper_qpos", 2}},
          10,
          3};
}

const EncoderSize kVitBase{.vit = "vit_base_patch16_224"};
const EncoderSize kResNet{};
const EncoderSize kMicroVit{.vit = "vit_micro_patch2_28", .patch = 6, .quick_start = true};
const UnetSize kSmallUnet{
    .widths = {64, 128, 256}, .step_embedding = 64, .decoder_width = 8, .decoder_positions = 16, .decoder_kernel = 3};

}  // namespace

const Observation& Policy::image() const { return *std::ranges::find_if(task.observations, &Observation::is_image); }

int64_t Policy::features() const {
  int64_t sum = 0;
  for (const Observation& o : task.observations) {
    const int64_t of_image = encoder.vit.empty() ? encoder.features : models::find_row(encoder.vit).dim;
    sum += o.is_image() ? of_image : o.channels;
  }
  return sum;
}

models::Options encoder_options(const EncoderSize& size, int64_t crop, const AttentionSpec& attention) {
  models::Options options;
  options.attention = attention;
  options.resolution = crop / size.patch * size.patch;
  options.patch = size.patch;
  options.classes = 1;  // its classifier is unused
  return options;
}

std::optional<models::Dimensions> encoder_model(const Policy& policy, const AttentionSpec& attention) {
  const EncoderSize& size = policy.encoder;
  if (size.vit.empty()) return std::nullopt;
  return models::dimensions(size.vit, encoder_options(size, policy.image().crop, attention));
}

const std::vector<Policy>& policies() {
  static const std::vector<Policy> rows = {
      // The paper's, and the one its code is based on.
      {"pusht_vit_b8", pusht_task(96, 84), kVitBase, {}},
      {"pusht_resnet18", pusht_task(96, 84), kResNet, {}},
      {"arm_vit_b8", arm_task(84, 76), kVitBase, {}},
      {"arm_resnet18", arm_task(84, 76), kResNet, {}},
      // For two cores: half the resolution, patches of 6 pixels, and a crop that hides less of where things are: a
      // pixel of an arm's camera in front is a centimeter of the table.
      {"pusht_small", pusht_task(48, 45), kMicroVit, kSmallUnet, "ddim:10"},
      {"arm_small", arm_task(42, 40), kMicroVit, kSmallUnet, "ddim:10"},
  };
  return rows;
}

const Policy& find_policy(std::string_view name) { return find_named(policies(), "policy", name, &Policy::name); }

}  // namespace fib::robots
