// SPDX-License-Identifier: Apache-2.0
#include "cli/simulate_pusht.h"

#include "cli/options.h"

namespace fib::cli {
namespace {

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
  command.add_flag("--json", a.json, "for machines");
  command.footer("Example: fib simulate pusht --replay zarr:pusht_cchi_v7_replay.zarr --png strip.png");
}

}  // namespace

Command simulate_pusht_command() {
  return make_command<SimulatePushtArguments>({"simulate pusht", "a disc pushes a T to its goal", Topic::measures},
                                              declare_simulate_pusht, simulate_pusht);
}

}  // namespace fib::cli
