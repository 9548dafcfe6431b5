// SPDX-License-Identifier: Apache-2.0
// A policy that costs milliseconds: images of 24 pixels, a ViT of three blocks.
#pragma once

#include "robots/policy.h"

namespace fib::robots {

inline RobotTask mini_task() { return {"pusht", {{"agent_pos", 2}, {"image", 3, 24, 20}}, 2}; }

inline UnetSize mini_unet() {
  return {.widths = {16, 32, 128}, .step_embedding = 16, .decoder_width = 8, .decoder_positions = 8};
}

inline Policy mini_policy() { return {"mini", mini_task(), {.vit = "mini_vit", .patch = 4}, mini_unet(), "ddim:2"}; }

}  // namespace fib::robots
