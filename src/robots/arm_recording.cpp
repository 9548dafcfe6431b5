// SPDX-License-Identifier: Apache-2.0
#include <omp.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/parallel.h"
#include "robots/arm_task.h"

namespace fib::robots {
namespace {

template <class To, class From>
void append(To& to, const From& from) {
  to.insert(to.end(), from.begin(), from.end());
}

struct RecordedEpisode {
  ArmEpisode episode;
  RobomimicEpisode recorded;  ///< empty where nothing is written
};

RecordedEpisode play_and_record(const ArmScene& scene, const ArmTask& task, uint32_t seed, bool record) {
  const auto world = open_arm_world(scene);
  RecordedEpisode all{play_expert(*world, task, seed), {}};
  if (record && all.episode.solved()) all.recorded = recorded_episode(*world, task, all.episode);
  return all;
}

}  // namespace

RobomimicEpisode recorded_episode(const ArmWorld& world, const ArmTask& task, const ArmEpisode& episode) {
  RobomimicEpisode all;
  all.length = static_cast<int64_t>(episode.actions.size());
  all.rewards = episode.rewards;
  all.model = task.scene({}).physics;  // of the plain arm: it names no file of this machine
  for (size_t t = 0; t < episode.actions.size(); ++t) {
    append(all.actions, episode.actions[t]);
    append(all.states, episode.states[t]);
    const ArmObservation seen = world.observe(episode.snapshots[t]);
    append(all.agentview, seen.agentview);
    append(all.eye_in_hand, seen.eye_in_hand);
    append(all.eef_pos, seen.eef_pos);
    append(all.eef_quat, seen.eef_quat);
    append(all.gripper, seen.gripper_qpos);
  }
  return all;
}

void play_experts(const ArmScene& scene, const ArmTask& task, const ExpertEpisodes& episodes,
                  const std::function<void(const ArmEpisode&)>& played) {
  const int64_t at_once = int64_t{2} * omp_get_max_threads();
  for (int64_t first = 0; first < episodes.count; first += at_once) {
    std::vector<RecordedEpisode> some(static_cast<size_t>(std::min(at_once, episodes.count - first)));
    parallel_tasks(static_cast<int64_t>(some.size()), [&](int64_t i) {
      const uint32_t seed = episodes.first_seed + static_cast<uint32_t>(first + i);
      some[static_cast<size_t>(i)] = play_and_record(scene, task, seed, episodes.recording != nullptr);
    });
    for (const RecordedEpisode& one : some) {
      if (episodes.recording != nullptr && one.episode.solved()) episodes.recording->add(one.recorded);
      played(one.episode);
    }
  }
}

std::string recorded_environment(const ArmTask& task) {
  using nlohmann::ordered_json;
  const ordered_json controller = {{"type", "OSC_POSE"},      {"kp", 150},
                                   {"damping_ratio", 1},      {"impedance_mode", "fixed"},
                                   {"control_delta", false},  {"uncouple_pos_ori", true},
                                   {"interpolation", nullptr}};
  const ordered_json settings = {{"robots", {"Panda"}},
                                 {"controller_configs", controller},
                                 {"control_freq", kArmHertz},
                                 {"camera_names", {"agentview", "robot0_eye_in_hand"}},
                                 {"camera_heights", kArmImageSize},
                                 {"camera_widths", kArmImageSize},
                                 {"reward_shaping", false}};
  return ordered_json{{"env_name", task.environment}, {"type", 1}, {"env_kwargs", settings}}.dump();
}

}  // namespace fib::robots
