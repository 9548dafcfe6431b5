// SPDX-License-Identifier: Apache-2.0
// fib simulate: PushT, and the tasks of an arm, which are one command each.
#include <fmt/format.h>

#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "analysis/replay_summary.h"
#include "base/atomic_file.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "base/stopwatch.h"
#include "cli/commands/command_table.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "report/png.h"
#include "report/table.h"
#include "robots/arm_task.h"
#include "robots/replay.h"
#include "robots/strip.h"
#include "robots/video.h"

namespace fib::cli {
namespace {

using analysis::ErrorSpread;
using analysis::ReplaySummary;
using nlohmann::ordered_json;
using report::Table;
using robots::ArmCamera;
using robots::ArmEpisode;
using robots::ArmTask;
using robots::ArmWorld;
using robots::Playback;
using robots::PushTScene;
using robots::PushTState;

void check_shown(int64_t shown, int64_t episodes) {
  if (shown >= episodes)
    throw std::invalid_argument(fmt::format("--episode {}: there are {}, counted from 0", shown, episodes));
}

// ---- PushT: one episode as a video or a strip

struct SimulatePushtArguments {
  std::string replay;  ///< zarr:DIR
  bool play = false;
  std::string actions = "random";
  int64_t episodes = 50, seed = 100000;
  int64_t shown = 0;  ///< the episode of --video and --png
  std::string video, png;
  bool json = false;
};

constexpr int kHertz = 10;
constexpr size_t kSide = robots::kImageSize, kImageBytes = kSide * kSide * 3;

/// Above, where there is one, the recording.
void write_strip(const std::string& file, const std::vector<PushTScene>& scenes, const std::vector<uint8_t>& recorded) {
  const std::vector<std::vector<uint8_t>> drawn = robots::strip_images(scenes);
  std::vector<uint8_t> rgb;
  if (!recorded.empty()) {
    std::vector<std::vector<uint8_t>> above;
    for (const size_t t : robots::strip_steps(scenes.size())) {
      const auto from = recorded.begin() + static_cast<std::ptrdiff_t>(t * kImageBytes);
      above.emplace_back(from, from + kImageBytes);
    }
    robots::append_strip(rgb, above);
  }
  robots::append_strip(rgb, drawn);
  const auto width = static_cast<uint32_t>(drawn.size() * kSide),
             height = static_cast<uint32_t>(rgb.size() / 3 / width);
  write_file_atomically(file, report::encode_png(rgb, width, height));
}

void show_episode(const SimulatePushtArguments& a, const std::vector<PushTScene>& scenes,
                  const std::vector<uint8_t>& recorded, bool quiet) {
  if (!a.video.empty()) {
    std::vector<std::vector<uint8_t>> frames;
    frames.reserve(scenes.size());
    for (const PushTScene& scene : scenes) frames.push_back(robots::draw_canvas(scene));
    robots::write_video(a.video, frames, kHertz);
  }
  if (!a.png.empty()) write_strip(a.png, scenes, recorded);
  for (const std::string& file : {a.video, a.png})
    if (!file.empty()) say_written(file, quiet || a.json, fmt::format("(episode {})", a.shown));
}

// ---- PushT: recorded actions played again

ordered_json spread_json(const ErrorSpread& e) {
  return {{"median", e.median}, {"p90", e.p90}, {"p99", e.p99}, {"max", e.max}};
}

ordered_json replay_json(const ReplaySummary& r, double seconds) {
  return {{"task", "pusht"},
          {"episodes", r.episodes},
          {"steps", r.steps},
          {"agent_error", spread_json(r.agent)},
          {"block_error", spread_json(r.block)},
          {"angle_error", spread_json(r.angle)},
          {"image_error",
           {{"mean", r.image.mean},
            {"p99", r.image.p99},
            {"max", r.image.max},
            {"worst", {{"episode", r.worst_episode}, {"step", r.worst_step}}}}},
          {"mean_score", r.mean_score},
          {"seconds", seconds}};
}

std::string replay_text(const ReplaySummary& r, double seconds) {
  using enum Table::Align;
  Table table({{"", left}, {"mean", right}, {"median", right}, {"p90", right}, {"p99", right}, {"max", right}});
  const auto add = [&](const char* name, const ErrorSpread& e) {
    std::vector<std::string> row = {name};
    for (const double v : {e.mean, e.median, e.p90, e.p99, e.max}) row.push_back(fmt::format("{:.6f}", v));
    table.add_row(std::move(row));
  };
  add("agent, pixels", r.agent);
  add("block, pixels", r.block);
  add("angle, radians", r.angle);
  add("image, of 255", r.image);
  return table.to_string() +
         fmt::format(
             "\n{} episodes, {} steps in {:.1f} s. The demonstrations' score is {:.3f}. The image that "
             "differs most: episode {}, step {}.\n",
             r.episodes, r.steps, seconds, r.mean_score, r.worst_episode, r.worst_step);
}

void run_replay(const SimulatePushtArguments& a, const Globals& globals) {
  const std::filesystem::path folder = robots::demonstrations_folder(a.replay);
  const robots::Demonstrations all = robots::read_demonstrations(folder);
  check_shown(a.shown, static_cast<int64_t>(all.episodes.size()));
  ProgressBar progress("episodes", static_cast<int64_t>(all.episodes.size()), globals.quiet);
  std::mutex mutex;
  int64_t done = 0;
  const Stopwatch watch;
  const ReplaySummary result = analysis::summarize_replay(robots::replay_all(folder, all, [&] {
    const std::lock_guard lock(mutex);
    progress.show(++done);
  }));
  const double seconds = watch.seconds();
  if (a.json)
    print_json(replay_json(result, seconds));
  else if (!globals.quiet)
    fmt::print("{}", replay_text(result, seconds));
  const robots::Episode& shown = all.episodes[static_cast<size_t>(a.shown)];
  show_episode(a, robots::play_again(all, shown).scenes,
               a.png.empty() ? std::vector<uint8_t>() : robots::read_images(folder, shown), globals.quiet);
}

// ---- PushT: episodes from seeds

robots::Chooser chooser(const std::string& actions, uint32_t seed) {
  if (actions == "still") return [](const PushTState& state) { return state.agent; };
  const auto random = std::make_shared<CounterRng>(seed);
  return [random](const PushTState&) {
    const double x = random->uniform(), y = random->uniform();
    return robots::Point{x * robots::kFieldSize, y * robots::kFieldSize};
  };
}

void run_play(const SimulatePushtArguments& a, const Globals& globals) {
  check_shown(a.shown, a.episodes);
  std::vector<Playback> played(static_cast<size_t>(a.episodes));
  const Stopwatch watch;
  parallel_tasks(a.episodes, [&](int64_t i) {
    const auto seed = static_cast<uint32_t>(a.seed + i);
    played[static_cast<size_t>(i)] = robots::play(seed, chooser(a.actions, seed));
    if (i != a.shown) played[static_cast<size_t>(i)].scenes.clear();
  });
  const double seconds = watch.seconds();
  std::vector<double> scores;
  double sum = 0;
  for (const Playback& p : played) scores.push_back(p.score), sum += p.score;
  const double mean = sum / static_cast<double>(a.episodes);
  if (a.json)
    print_json({{"task", "pusht"},
                {"actions", a.actions},
                {"episodes", a.episodes},
                {"mean_score", mean},
                {"scores", scores},
                {"seconds", seconds}});
  else if (!globals.quiet)
    fmt::print("Mean score of {} episodes from seed {}, {} actions: {:.4f}\n", a.episodes, a.seed, a.actions, mean);
  show_episode(a, played[static_cast<size_t>(a.shown)].scenes, {}, globals.quiet);
}

void simulate_pusht(const SimulatePushtArguments& a, const Globals& globals) {
  if (a.replay.empty() && !a.play) throw std::invalid_argument("fib simulate pusht needs --replay zarr:DIR or --play");
  check_output("--video", a.video, ".mp4");
  check_output("--png", a.png, ".png");
  use_threads(globals);
  a.play ? run_play(a, globals) : run_replay(a, globals);
}

void declare_simulate_pusht(CLI::App& command, SimulatePushtArguments& a) {
  auto* replay =
      command.add_option("--replay", a.replay, "play recorded actions, compare with the recorded states and images")
          ->type_name("zarr:DIR");
  auto* play = command.add_flag("--play", a.play, "play episodes from seeds")->excludes(replay);
  add_choice(command, "--actions", a.actions, {"random", "still"}, "of --play: random targets, or none")
      ->capture_default_str()
      ->needs(play);
  add_integer(command, "--episodes", a.episodes, {1, 1'000'000}, "of --play")->needs(play);
  add_integer(command, "--seed", a.seed, {0, 4'000'000'000}, "of the first episode of --play")->needs(play);
  command.add_option("--video", a.video, "write one episode as a video")->type_name("F.mp4");
  command.add_option("--png", a.png, "write one episode as a strip of frames; of a replay, the recording above")
      ->type_name("F.png");
  add_integer(command, "--episode", a.shown, {0, 1'000'000}, "which one --video and --png show, from 0");
  command.add_flag("--json", a.json, "print JSON");
  command.footer("Example: fib simulate pusht --replay zarr:pusht_cchi_v7_replay.zarr --png strip.png");
}

// ---- Arms

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
  command.add_flag("--json", a.json, "print JSON");
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
  check_shown(a.shown, a.episodes);
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
