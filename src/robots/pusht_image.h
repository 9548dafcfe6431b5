// SPDX-License-Identifier: Apache-2.0
// PushT as the demonstrations were recorded: drawn on 512 × 512 pixels, then reduced to 96 × 96.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "robots/pusht_geometry.h"

namespace fib::robots {

inline constexpr int kCanvasSize = 512;
inline constexpr int kImageSize = 96;

/// What is drawn and what is observed: agent, T.
struct PushTState {
  Point agent;
  Pose block;
};

/// Where two bodies touch: the mark that is drawn there.
struct Contact {
  Point from, to;
};

/// What is drawn.
struct PushTScene {
  PushTState state;
  std::vector<Contact> contacts = {};
};

/// [512, 512, 3] red, green, blue: what a person watches.
std::vector<uint8_t> draw_canvas(const PushTScene& scene);
/// [96, 96, 3]: what a policy sees.
std::vector<uint8_t> draw_image(const PushTScene& scene);

}  // namespace fib::robots
