// SPDX-License-Identifier: Apache-2.0
// fib simulate: PushT, and the tasks of an arm, which are one command each.
#include <fmt/format.h>

#include <memory>
#include <mutex>
#include <stdexcept>

#include "base/measure.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "cli/commands/command_table.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "report/simulation_report.h"
#include "robots/pusht.h"

namespace fib::cli {
namespace {

using robots::ArmEpisode;
using robots::ArmTask;
using robots::Playback;
using robots::PushTScene;

/// The episode of which images are written.
struct ShownEpisode {
  std::string video, png;
  int64_t index = 0;
};

void add_shown_options(CLI::App& command, ShownEpisode& shown, const std::string& video, const std::string& png) {
  command.add_option("--video", shown.video, "write one episode as a video" + video)->type_name("F.mp4");
  command.add_option("--png", shown.png, "write one episode as a strip of frames" + png)->type_name("F.png");
  add_integer(command, "--episode", shown.index, {0, 1'000'000}, "which one --video and --png show, from 0");
}

void check_shown(const ShownEpisode& shown) {
  check_output("--video", shown.video, ".mp4");
  check_output("--png", shown.png, ".png");
}

void check_index(const ShownEpisode& shown, int64_t episodes) {
  if (shown.index >= episodes)
    throw std::invalid_argument(fmt::format("--episode {}: there are {}, counted from 0", shown.index, episodes));
}

void say_shown(const ShownEpisode& shown, bool quiet) {
  for (const std::string& file : {shown.video, shown.png})
    if (!file.empty()) say_written(file, quiet, fmt::format("(episode {})", shown.index));
}

// ---- PushT

struct SimulatePushtArguments {
  std::string replay;  ///< zarr:DIR
  bool play = false;
  std::string actions = "random";
  int64_t episodes = 50, seed = 100000;
  ShownEpisode shown;
  bool json = false;
};

void write_shown(const SimulatePushtArguments& a, const std::vector<PushTScene>& scenes,
                 const std::vector<uint8_t>& recorded, bool quiet) {
  if (!a.shown.video.empty()) robots::write_pusht_video(a.shown.video, scenes);
  if (!a.shown.png.empty()) report::write_strip(a.shown.png, robots::pusht_strip(scenes, recorded));
  say_shown(a.shown, quiet || a.json);
}

/// Recorded actions played again.
void run_replay(const SimulatePushtArguments& a, const Globals& globals) {
  const std::filesystem::path folder = robots::demonstrations_folder(a.replay);
  const robots::Demonstrations all = robots::read_demonstrations(folder);
  check_index(a.shown, static_cast<int64_t>(all.episodes.size()));
  ProgressBar progress("episodes", static_cast<int64_t>(all.episodes.size()), globals.quiet);
  std::mutex mutex;
  int64_t done = 0;
  const Stopwatch watch;
  report::ReplayReport result{analysis::summarize_replay(robots::replay_all(folder, all, [&] {
    const std::lock_guard lock(mutex);
    progress.show(++done);
  }))};
  result.seconds = watch.seconds();
  show(
      globals, a.json, [&] { return report::replay_json(result); }, [&] { return report::replay_text(result); });
  const robots::Episode& shown = all.episodes[static_cast<size_t>(a.shown.index)];
  write_shown(a, robots::play_again(all, shown).scenes,
              a.shown.png.empty() ? std::vector<uint8_t>() : robots::read_images(folder, shown), globals.quiet);
}

robots::Chooser chooser(const std::string& actions, uint32_t seed) {
  if (actions == "still") return [](const robots::PushTState& state) { return state.agent; };
  const auto random = std::make_shared<CounterRng>(seed);
  return [random](const robots::PushTState&) {
    const double x = random->uniform(), y = random->uniform();
    return robots::Point{x * robots::kFieldSize, y * robots::kFieldSize};
  };
}

/// Episodes from seeds.
void run_play(const SimulatePushtArguments& a, const Globals& globals) {
  check_index(a.shown, a.episodes);
  std::vector<Playback> played(static_cast<size_t>(a.episodes));
  const Stopwatch watch;
  parallel_tasks(a.episodes, [&](int64_t i) {
    const auto seed = static_cast<uint32_t>(a.seed + i);
    played[static_cast<size_t>(i)] = robots::play(seed, chooser(a.actions, seed));
    if (i != a.shown.index) played[static_cast<size_t>(i)].scenes.clear();
  });
  report::PlayReport result{a.actions, a.seed, {}, watch.seconds()};
  for (const Playback& p : played) result.scores.push_back(p.score);
  show(
      globals, a.json, [&] { return report::play_json(result); }, [&] { return report::play_text(result); });
  write_shown(a, played[static_cast<size_t>(a.shown.index)].scenes, {}, globals.quiet);
}

void simulate_pusht(const SimulatePushtArguments& a, const Globals& globals) {
  if (a.replay.empty() && !a.play) throw std::invalid_argument("fib simulate pusht needs --replay zarr:DIR or --play");
  check_shown(a.shown);
  use_threads(globals);
  a.play ? run_play(a, globals) : run_replay(a, globals);
}

void declare_simulate_pusht(CLI::App& command, SimulatePushtArguments& a) {
  auto* replay =
      command.add_option("--replay", a.replay, "play recorded actions, compare with the recorded states and images")
          ->type_name("zarr:DIR");
  auto* play = command.add_flag("--play", a.play, "play episodes from seeds")->excludes(replay);
  add_choice(command, "--actions", a.actions, {"random", "still"}, "with --play: move to random targets, or not at all")
      ->capture_default_str()
      ->needs(play);
  add_integer(command, "--episodes", a.episodes, {1, 1'000'000}, "with --play: number of episodes")->needs(play);
  add_integer(command, "--seed", a.seed, {0, 4'000'000'000},
              "with --play: seed of the first episode; each has the next one")
      ->needs(play);
  add_shown_options(command, a.shown, "", "; of a replay, the recording above");
  command.add_flag("--json", a.json, "print JSON");
  command.footer("Example: fib simulate pusht --replay zarr:pusht_cchi_v7_replay.zarr --png strip.png");
}

// ---- Arms

struct SimulateArmArguments {
  const ArmTask* task = nullptr;
  std::string record;
  int64_t episodes = 50, seed = 0;
  ShownEpisode shown;
  bool json = false;
};

void declare_simulate_arm(CLI::App& command, SimulateArmArguments& a) {
  command.add_option("--record", a.record, "write the solved episodes as robomimic's files are")->type_name("F.hdf5");
  add_integer(command, "--episodes", a.episodes, {1, 1'000'000}, "number of episodes that a scripted expert plays")
      ->capture_default_str();
  add_integer(command, "--seed", a.seed, {0, 4'000'000'000}, "seed of the first episode; each has the next one")
      ->capture_default_str();
  add_shown_options(command, a.shown, ", both cameras", ", both cameras");
  command.add_flag("--json", a.json, "print JSON");
  command.footer(
      fmt::format("Example: fib simulate {0} --record {0}.hdf5 --episodes 200 --video {0}.mp4\n"
                  "With FIB_ROBOSUITE_ASSETS=DIR, robosuite's models/assets, it looks as published.",
                  a.task->name));
}

struct ArmResult {
  report::ExpertReport report;
  ArmEpisode shown;
};

ArmResult play_episodes(const SimulateArmArguments& a, const robots::ArmScene& scene, bool quiet) {
  const auto recording =
      a.record.empty() ? nullptr : robots::write_robomimic(a.record, robots::recorded_environment(*a.task));
  ProgressBar progress("episodes", a.episodes, quiet);
  ArmResult result{{.task = a.task->name, .first_seed = a.seed, .recorded = !a.record.empty()}, {}};
  const Stopwatch watch;
  robots::play_experts(scene, *a.task, {static_cast<uint32_t>(a.seed), a.episodes, recording.get()},
                       [&](const ArmEpisode& episode) {
                         if (result.report.episodes++ == a.shown.index) result.shown = episode;
                         result.report.solved += episode.solved() ? 1 : 0;
                         result.report.steps += static_cast<int64_t>(episode.actions.size());
                         progress.show(result.report.episodes);
                       });
  if (recording) recording->finish();
  result.report.seconds = watch.seconds();
  return result;
}

void simulate_arm(const SimulateArmArguments& a, const Globals& globals) {
  check_index(a.shown, a.episodes);
  check_output("--record", a.record, ".hdf5");
  check_shown(a.shown);
  use_threads(globals);
  const robots::ArmScene scene = a.task->scene(robots::robosuite_assets());
  const auto [result, shown] = play_episodes(a, scene, globals.quiet);
  show(
      globals, a.json, [&r = result] { return report::expert_json(r); },
      [&r = result] { return report::expert_text(r); });
  const bool quiet = globals.quiet || a.json;
  if (!a.record.empty()) say_written(a.record, quiet, fmt::format("({} episodes)", result.solved));
  if (a.shown.video.empty() && a.shown.png.empty()) return;
  const auto world = robots::open_arm_world(scene);
  if (!a.shown.video.empty()) robots::write_arm_video(a.shown.video, *world, shown);
  if (!a.shown.png.empty()) report::write_strip(a.shown.png, robots::arm_strip(*world, shown));
  say_shown(a.shown, quiet);
}

/// A command for each task of an arm.
Command simulate_arm_command(const ArmTask& task) {
  return {{"simulate " + task.name, task.summary, Topic::measures}, [&task](CLI::App& command, const Globals& globals) {
            const auto arguments = std::make_shared<SimulateArmArguments>();
            arguments->task = &task;
            declare_simulate_arm(command, *arguments);
            command.callback([arguments, &globals] { simulate_arm(*arguments, globals); });
          }};
}

}  // namespace

std::vector<Command> simulate_commands() {
  std::vector<Command> commands = {
      make_group(
          {"simulate", "a robot's world: recorded actions played again, or episodes from seeds", Topic::measures},
          "Example: fib simulate pusht --replay zarr:DIR"),
      make_command<SimulatePushtArguments>({"simulate pusht", "a disc pushes a T to its goal", Topic::measures},
                                           declare_simulate_pusht, simulate_pusht)};
  for (const ArmTask& task : robots::arm_tasks()) commands.push_back(simulate_arm_command(task));
  return commands;
}

}  // namespace fib::cli
