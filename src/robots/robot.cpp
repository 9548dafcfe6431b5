// SPDX-License-Identifier: Apache-2.0
#include "robots/robot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/nearest.h"
#include "robots/arm_task.h"
#include "robots/demonstrations.h"
#include "robots/pusht.h"

namespace fib::robots {

const std::vector<Robot>& robots() {
  static const std::vector<Robot> rows = {
      {"pusht", "demonstrations of PushT to a policy, judged by playing", "pusht", "zarr:DIR", kPushTMaxSteps, 10,
       24'000},
      {"lift", "demonstrations of an arm that lifts a cube", "arm", "hdf5:FILE", kArmMaxSteps, kArmHertz, 9'700},
      {"can", "demonstrations of an arm that carries a can", "arm", "hdf5:FILE", kArmMaxSteps, kArmHertz, 23'200},
  };
  return rows;
}

bool is_robot(const std::string& name) { return std::ranges::count(robots(), name, &Robot::name) > 0; }

const Robot& find_robot(std::string_view name) { return find_named(robots(), "robot", name, &Robot::name); }

std::filesystem::path recording_place(const Robot& robot, const std::string& source) {
  const std::string scheme = robot.source.substr(0, robot.source.find(':') + 1);
  if (source.starts_with(scheme) && source.size() > scheme.size()) return source.substr(scheme.size());
  throw std::invalid_argument(fmt::format("demonstrations '{}': accepted is {}", source, robot.source));
}

std::vector<std::string> robot_names() { return names_of(robots(), &Robot::name); }

// ---- Recordings

std::vector<Episode> episodes_from_ends(const std::vector<int64_t>& ends, int64_t rows, const std::string& name) {
  std::vector<Episode> episodes;
  int64_t begin = 0;
  for (const int64_t end : ends) {
    if (end <= begin) {
      throw std::runtime_error(fmt::format("{}: episode {} ends at {} and begins at {}; accepted: ends that ascend",
                                           name, episodes.size(), end, begin));
    }
    episodes.push_back({begin, end});
    begin = end;
  }
  if (begin != rows) {
    throw std::runtime_error(
        fmt::format("{}: the last episode ends at {} of {} rows; accepted: at the last", name, begin, rows));
  }
  return episodes;
}

std::filesystem::path demonstrations_folder(std::string_view source) {
  constexpr std::string_view kind = "zarr:";
  if (source.starts_with(kind) && source.size() > kind.size()) return source.substr(kind.size());
  throw std::invalid_argument(fmt::format("demonstrations '{}': accepted is zarr:DIR", source));
}

void reduce_image(std::span<const uint8_t> rgb, int64_t side, uint8_t* to) {
  const auto recorded = std::llround(std::sqrt(static_cast<double>(rgb.size()) / 3));
  const int64_t factor = recorded / side, row = recorded * 3;
  for (int64_t c = 0; c < 3; ++c) {
    for (int64_t y = 0; y < side; ++y) {
      for (int64_t x = 0; x < side; ++x) {
        const uint8_t* square = rgb.data() + y * factor * row + x * factor * 3 + c;
        int sum = 0;
        for (int64_t i = 0; i < factor * factor; ++i) sum += square[i / factor * row + i % factor * 3];
        *to++ = static_cast<uint8_t>(std::nearbyint(static_cast<float>(sum) / static_cast<float>(factor * factor)));
      }
    }
  }
}

}  // namespace fib::robots
