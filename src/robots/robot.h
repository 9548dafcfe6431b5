// SPDX-License-Identifier: Apache-2.0
// Robots that policies learn to move: what a world shows and takes, whatever simulator it runs on, and what was
// recorded of it, whatever file it is in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "robots/demonstrations.h"
#include "robots/policy.h"

namespace fib::robots {

/// A row for each robot; no other code asks for its name.
struct Robot {
  std::string name, help;
  std::string policy_task;    ///< the RobotTask of the policies that move it
  std::string source;         ///< how demonstrations are named: "zarr:DIR"
  int64_t max_steps = 300;    ///< of an episode
  int64_t hertz = 10;         ///< actions in a second
  int64_t recorded_rows = 0;  ///< of the published demonstrations, about
};

const std::vector<Robot>& robots();
/// Throws std::invalid_argument with the list for an unknown one.
const Robot& find_robot(std::string_view name);
bool is_robot(const std::string& name);
/// Where demonstrations are, of a source such as "zarr:DIR"; throws std::invalid_argument for another kind.
std::filesystem::path recording_place(const Robot& robot, const std::string& source);
std::vector<std::string> robot_names();

/// The state of a world: numbers enough to draw it.
using WorldState = std::vector<double>;

/// One observation at one time: numbers, or an image of square size, red, green, blue.
struct ObservedValue {
  std::vector<double> numbers;
  std::vector<uint8_t> image;
};

struct RobotStep {
  double reward = 0;
  bool done = false;
};

class RobotWorld {
 public:
  virtual ~RobotWorld() = default;
  virtual void reset(uint32_t seed) = 0;
  /// As many numbers as the task's actions have.
  virtual RobotStep step(std::span<const double> action) = 0;
  virtual WorldState state() const = 0;
  /// In the order of the task's observations.
  virtual std::vector<ObservedValue> observe(const WorldState& state) const = 0;
  /// A square image for people.
  virtual std::vector<uint8_t> frame(const WorldState& state) const = 0;
};

/// All rows of a recording stand one after the other, as its episodes say.
class RobotRecording {
 public:
  virtual ~RobotRecording() = default;
  virtual const std::vector<Episode>& episodes() const = 0;
  virtual std::vector<double> actions() const = 0;
  virtual std::vector<double> numbers(const Observation& observation) const = 0;
  /// [length, side, side, 3].
  virtual std::vector<uint8_t> images(const Observation& observation, const Episode& episode) const = 0;
};

/// In the simulators' library. Throw std::invalid_argument for a source of another kind, std::runtime_error with one
/// line for what is missing or damaged.
std::unique_ptr<RobotWorld> open_world(const Robot& robot);
std::unique_ptr<RobotRecording> open_recording(const Robot& robot, const std::string& source);

/// An episode that was played.
struct Played {
  std::vector<WorldState> states;  ///< the first included
  double score = 0;                ///< the best reward
};

/// A square image of red, green, blue, [s,s,3], to [3,side,side]: the mean of each square of pixels, halves rounded to
/// the even neighbor. `side` divides s.
void reduce_image(std::span<const uint8_t> rgb, int64_t side, uint8_t* to);

// ---- The simulators and files behind them, one kind of robot in each file of worlds/

std::unique_ptr<RobotWorld> pusht_world(const Robot& robot);
std::unique_ptr<RobotRecording> pusht_recording(const std::filesystem::path& folder);

std::unique_ptr<RobotWorld> arm_world(const Robot& robot);
std::unique_ptr<RobotRecording> arm_recording(const std::filesystem::path& file);

}  // namespace fib::robots
