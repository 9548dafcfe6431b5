// SPDX-License-Identifier: Apache-2.0
#include "cli/simulate_arm.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/atomic_file.h"
#include "base/stopwatch.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/threads.h"
#include "report/png.h"
#include "robots/arm_task.h"
#include "robots/strip.h"
#include "robots/video.h"

namespace fib::cli {
namespace {

using robots::ArmCamera;
using robots::ArmEpisode;
using robots::ArmTask;
using robots::ArmWorld;

struct SimulateArmArguments {
  const ArmTask* task = nullptr;
  std::string record, video, png;
  int64_t episodes = 50, seed = 0, shown = 0;
  bool json = false;
};

/// Of the images of --png and of each half of --video.
constexpr int kStripSide = 128, kVideoSide = 256;

void declare_simulate_arm(CLI::App& command, SimulateArmArguments& a) {
  command.add_option("--record", a.record, "write the solved episodes as robomimic's files are")->type_name("F.hdf5");
  add_integer(command, "--episodes", a.episodes, {1, 1'000'000}, "that a scripted expert plays")->capture_default_str();
  add_integer(command, "--seed", a.seed, {0, 4'000'000'000}, "of the first episode; each has the next one")
      ->capture_default_str();
  command.add_option("--video", a.video, "write one episode as a video, both cameras")->type_name("F.mp4");
  command.add_option("--png", a.png, "write one episode as a strip of frames, both cameras")->type_name("F.png");
  add_integer(command, "--episode", a.shown, {0, 1'000'000}, "which one --video and --png show, from 0");
  command.add_flag("--json", a.json, "for machines");
  command.footer(
      fmt::format("Example: fib simulate {0} --record {0}.hdf5 --episodes 200 --video {0}.mp4\n"
                  "With FIB_ROBOSUITE_ASSETS=DIR, robosuite's models/assets, it looks as published.",
                  a.task->name));
}

/// Two images of one height side by side.
std::vector<uint8_t> beside(const std::vector<uint8_t>& left, const std::vector<uint8_t>& right) {
  std::vector<uint8_t> both;
  both.reserve(left.size() + right.size());
  const std::vector<std::vector<uint8_t>> images{left, right};
  robots::append_strip(both, images);
  return both;
}

void write_arm_video(const std::string& file, const ArmWorld& world, const ArmEpisode& episode) {
  const auto video =
      robots::open_video(file, {.width = 2 * kVideoSide, .height = kVideoSide, .frames_per_second = robots::kArmHertz});
  for (const auto& snapshot : episode.snapshots) {
    video->add(beside(world.image(snapshot, ArmCamera::agentview, kVideoSide),
                      world.image(snapshot, ArmCamera::eye_in_hand, kVideoSide)));
  }
  video->finish();
}

void write_arm_strip(const std::string& file, const ArmWorld& world, const ArmEpisode& episode) {
  std::vector<uint8_t> rgb;
  const std::vector<size_t> steps = robots::strip_steps(episode.snapshots.size());
  for (const ArmCamera camera : {ArmCamera::agentview, ArmCamera::eye_in_hand}) {
    std::vector<std::vector<uint8_t>> images;
    images.reserve(steps.size());
    for (const size_t t : steps) images.push_back(world.image(episode.snapshots[t], camera, kStripSide));
    robots::append_strip(rgb, images);
  }
  write_file_atomically(file,
                        report::encode_png(rgb, static_cast<uint32_t>(steps.size()) * kStripSide, 2 * kStripSide));
}

struct ArmResult {
  int64_t episodes = 0, solved = 0, steps = 0;
  double seconds = 0;
  ArmEpisode shown;
  double times_real_time() const { return static_cast<double>(steps) / robots::kArmHertz / seconds; }
};

ArmResult play_episodes(const SimulateArmArguments& a, const robots::ArmScene& scene, bool quiet) {
  const auto recording =
      a.record.empty() ? nullptr : robots::write_robomimic(a.record, robots::recorded_environment(*a.task));
  ProgressBar progress("episodes", a.episodes, quiet);
  ArmResult result;
  const Stopwatch watch;
  robots::play_experts(scene, *a.task, {static_cast<uint32_t>(a.seed), a.episodes, recording.get()},
                       [&](const ArmEpisode& episode) {
                         if (result.episodes++ == a.shown) result.shown = episode;
                         result.solved += episode.solved() ? 1 : 0;
                         result.steps += static_cast<int64_t>(episode.actions.size());
                         progress.show(result.episodes);
                       });
  if (recording) recording->finish();
  result.seconds = watch.seconds();
  return result;
}

void print_result(const SimulateArmArguments& a, const Globals& globals, const ArmResult& r) {
  const double share = static_cast<double>(r.solved) / static_cast<double>(r.episodes);
  if (a.json) {
    print_json({{"task", a.task->name},
                {"actions", "expert"},
                {"episodes", r.episodes},
                {"seed", a.seed},
                {"mean_score", share},
                {"steps", r.steps},
                {"recorded", a.record.empty() ? 0 : r.solved},
                {"seconds", r.seconds},
                {"times_real_time", r.times_real_time()}});
  } else if (!globals.quiet) {
    fmt::print("The expert solved {} of {} episodes from seed {}: {} steps in {:.1f} s, {:.1f} times real time.\n",
               r.solved, r.episodes, a.seed, r.steps, r.seconds, r.times_real_time());
  }
}

void simulate_arm(const SimulateArmArguments& a, const Globals& globals) {
  if (a.shown >= a.episodes)
    throw std::invalid_argument(fmt::format("--episode {}: there are {}, counted from 0", a.shown, a.episodes));
  check_output("--record", a.record, ".hdf5");
  check_output("--video", a.video, ".mp4");
  check_output("--png", a.png, ".png");
  use_threads(globals);
  const robots::ArmScene scene = a.task->scene(robots::robosuite_assets());
  const ArmResult result = play_episodes(a, scene, globals.quiet);
  print_result(a, globals, result);
  const bool quiet = globals.quiet || a.json;
  if (!a.record.empty()) say_written(a.record, quiet, fmt::format("({} episodes)", result.solved));
  if (a.video.empty() && a.png.empty()) return;
  const auto world = robots::open_arm_world(scene);
  if (!a.video.empty()) write_arm_video(a.video, *world, result.shown);
  if (!a.png.empty()) write_arm_strip(a.png, *world, result.shown);
  for (const std::string& file : {a.video, a.png})
    if (!file.empty()) say_written(file, quiet, fmt::format("(episode {})", a.shown));
}

}  // namespace

Command simulate_arm_command(const char* title) {
  const std::string_view name = std::string_view(title).substr(std::string_view("simulate ").size());
  const ArmTask& task = robots::find_arm_task(name);
  return {{title, task.summary.c_str(), Topic::measures}, [&task](CLI::App& command, const Globals& globals) {
            const auto arguments = std::make_shared<SimulateArmArguments>();
            arguments->task = &task;
            declare_simulate_arm(command, *arguments);
            command.callback([arguments, &globals] { simulate_arm(*arguments, globals); });
          }};
}

}  // namespace fib::cli
