// SPDX-License-Identifier: Apache-2.0
// What an arm can be asked to do. A task is one row: its scene, how an episode begins, when it is solved, and how one
// solves it who knows where everything is.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "robots/arm.h"
#include "robots/numpy_random.h"
#include "robots/robomimic.h"

namespace fib::robots {

inline constexpr int64_t kArmMaxSteps = 400;

/// One part of an expert's plan: the gripper is led to a goal, then held there.
struct ExpertStage {
  /// From the state in which the stage begins.
  std::function<Pose3(const ArmState&)> goal;
  double gripper = -1;
  double speed = 0.02;  ///< meters per action
  int64_t hold = 0;     ///< actions at the goal
};

struct ArmTask {
  std::string name, summary;
  std::string environment;  ///< robosuite's name of it
  ArmScene (*scene)(const std::filesystem::path& assets);
  /// As the published environment draws it after numpy.random.seed(seed).
  ArmStart (*start)(uint32_t seed);
  bool (*solved)(const ArmState& state);
  std::vector<ExpertStage> (*plan)(CounterRng& variation);
};

/// Lift: a cube on a table is lifted by 4 cm. Can: a can is carried from one bin to its quarter of another.
const std::vector<ArmTask>& arm_tasks();
/// Throws std::invalid_argument with the list for an unknown one.
const ArmTask& find_arm_task(std::string_view name);

/// What FIB_ROBOSUITE_ASSETS names, or nothing: then a plain arm of capsules with the same joints stands in. Throws
/// std::runtime_error where it names no folder of robosuite's assets.
std::filesystem::path robosuite_assets();

/// The gripper looking down, its fingers moving along y at yaw 0.
Matrix3 downward(double yaw);

/// Plays a plan, the same for the same seed.
class ArmExpert {
 public:
  ArmExpert(const ArmTask& task, uint32_t seed);
  ArmAction act(const ArmState& state);
  bool finished() const { return stage_ >= plan_.size(); }

 private:
  void begin_stage(const ArmState& state);
  void lead(double speed);

  std::vector<ExpertStage> plan_;
  CounterRng noise_;
  size_t stage_ = 0;
  bool begun_ = false;
  Pose3 goal_, led_;  ///< of the stage, and what is asked of the arm now
  int64_t waited_ = 0, held_ = 0;
};

/// One episode of an expert.
struct ArmEpisode {
  uint32_t seed = 0;
  std::vector<ArmAction> actions;
  std::vector<ArmSnapshot> snapshots;       ///< before each action, and after the last
  std::vector<std::vector<double>> states;  ///< before each action
  std::vector<double> rewards;              ///< after each: 1 where solved
  bool solved() const { return !rewards.empty() && rewards.back() > 0; }
};

/// To the end of the plan, or 400 steps; a solved episode goes on for `after` more.
ArmEpisode play_expert(ArmWorld& world, const ArmTask& task, uint32_t seed, int64_t after = 5);

/// As robomimic has it, with what was seen before each action.
RobomimicEpisode recorded_episode(const ArmWorld& world, const ArmTask& task, const ArmEpisode& episode);

/// Episodes of an expert, each with the next seed; those that are solved are written where there is a recording.
struct ExpertEpisodes {
  uint32_t first_seed = 0;
  int64_t count = 0;
  RobomimicWriter* recording = nullptr;
};
/// Side by side, a few for each thread at a time, so that those that wait to be written fit into memory; `played` is
/// told of each in order.
void play_experts(const ArmScene& scene, const ArmTask& task, const ExpertEpisodes& episodes,
                  const std::function<void(const ArmEpisode&)>& played);

/// The JSON text that tells robomimic's programs which environment it was.
std::string recorded_environment(const ArmTask& task);

// ---- The rows of arm_tasks(), and what they share

ArmTask lift_task();
ArmTask can_task();

/// Where every episode begins, with the published noise of 0.02 radians.
JointValues drawn_joints(NumpyRandom& random);
/// numpy.random.uniform(low, high).
inline double drawn_between(NumpyRandom& random, double low, double high) {
  return low + (high - low) * random.uniform();
}

}  // namespace fib::robots
