// SPDX-License-Identifier: Apache-2.0
// Diffusion policies by name, without torch: a policy is a row of sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/table.h"

namespace fib::robots {

/// A camera, or a few numbers (`image_size` 0).
struct Observation {
  std::string name;
  int64_t channels = 3;    ///< of an image, or how many numbers
  int64_t image_size = 0;  ///< of its side, as recorded and as the decoder rebuilds it
  int64_t crop = 0;        ///< what of it the encoder sees
  bool limited = true;     ///< numbers are brought to [−1, 1] by their limits; else they are within already
  bool is_image() const { return image_size > 0; }
};

/// What a robot is seen as and told.
struct RobotTask {
  std::string name;
  std::vector<Observation> observations;  ///< in the order their features stand in the condition
  int64_t action = 2;                     ///< numbers of one action
  int64_t limited_action = 2;             ///< of them, those brought to [−1, 1] by their limits: the first
  int64_t observed = 2;                   ///< consecutive observations
  int64_t executed = 8;                   ///< actions before it looks again
};

/// What a camera's image becomes: a ViT of fib models whose patch tokens are averaged, or a ResNet-18.
struct EncoderSize {
  std::string vit;                        ///< its row; empty: ResNet-18 with spatial softmax
  int64_t patch = 8;                      ///< of a ViT
  int64_t keypoints = 32, features = 64;  ///< of a ResNet-18
  /// Not as published, for policies that learn in few steps. Pictures that are nearly all background make nearly equal
  /// features of a ViT as it is initialized, and for thousands of steps nothing is learned from them: so each image is
  /// brought to mean 0 and deviation 1, and positions begin as large as contents.
  bool quick_start = false;
};

/// The conditional U-Net over time, Crossway's decoder behind its middle.
struct UnetSize {
  std::vector<int64_t> widths{512, 1024, 2048};
  int64_t kernel = 5, groups = 8;
  int64_t step_embedding = 128;
  int64_t horizon = 16;
  int64_t decoder_width = 128;     ///< of an image on the way back
  int64_t decoder_positions = 64;  ///< channels that tell a pixel's place
  int64_t decoder_kernel = 5;
};

struct Policy {
  std::string name;
  RobotTask task;
  EncoderSize encoder;
  UnetSize unet;
  std::string sampler = "ddpm";  ///< how it acts unless someone says otherwise

  /// The first camera.
  const Observation& image() const;
  /// Numbers that one time's observations become.
  int64_t features() const;
  /// All observed times, side by side.
  int64_t condition() const { return task.observed * features(); }
};

/// The ViT of an encoder, for images of which it sees a square of `crop` pixels. Pixels beyond the last whole patch are
/// not seen.
models::Options encoder_options(const EncoderSize& size, int64_t crop, const AttentionSpec& attention);
/// The encoder as a model of images; none for a ResNet-18, which has no attention.
std::optional<models::Dimensions> encoder_model(const Policy& policy, const AttentionSpec& attention);

/// In the order they are listed to people.
const std::vector<Policy>& policies();
/// Throws std::invalid_argument with the nearest name and the list for an unknown one.
const Policy& find_policy(std::string_view name);

}  // namespace fib::robots
