// SPDX-License-Identifier: Apache-2.0
#include "cli/simulate_pusht.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>

#include "analysis/statistics.h"
#include "base/atomic_file.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "base/stopwatch.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/threads.h"
#include "report/png.h"
#include "report/table.h"
#include "robots/replay.h"
#include "robots/strip.h"
#include "robots/video.h"

namespace fib::cli {
namespace {

using report::Table;

using nlohmann::ordered_json;
using robots::Playback;
using robots::PushTScene;
using robots::PushTState;

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// ── images of one episode ────────────────────────────────────────────────────────────────────────────────────────────

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

void check_shown(const SimulatePushtArguments& a, size_t episodes) {
  if (static_cast<size_t>(a.shown) >= episodes) {
    throw std::invalid_argument(fmt::format("--episode {}: there are {}, counted from 0", a.shown, episodes));
  }
}

// ── replay ───────────────────────────────────────────────────────────────────────────────────────────────────────────

struct Place {
  int64_t episode = 0, step = 0;
};

struct ReplayResult {
  int64_t episodes = 0;
  std::vector<double> agent, block, angle, image, scores;  ///< errors sorted
  Place worst_image;
  double seconds = 0;
};

void append(std::vector<double>& to, const std::vector<double>& from) { to.insert(to.end(), from.begin(), from.end()); }

Place find_worst_image(const std::vector<robots::ReplayErrors>& all) {
  Place worst;
  double most = -1;
  for (size_t e = 0; e < all.size(); ++e) {
    const auto at = std::max_element(all[e].image.begin(), all[e].image.end());
    if (at == all[e].image.end() || *at <= most) continue;
    most = *at;
    worst = {static_cast<int64_t>(e), at - all[e].image.begin() + 1};
  }
  return worst;
}

ReplayResult summary_of(const std::vector<robots::ReplayErrors>& all, double seconds) {
  ReplayResult result;
  result.episodes = static_cast<int64_t>(all.size());
  result.worst_image = find_worst_image(all);
  result.seconds = seconds;
  for (const robots::ReplayErrors& e : all) {
    append(result.agent, e.agent);
    append(result.block, e.block);
    append(result.angle, e.angle);
    append(result.image, e.image);
    result.scores.push_back(e.score);
  }
  for (auto* errors : {&result.agent, &result.block, &result.angle, &result.image})
    std::sort(errors->begin(), errors->end());
  if (result.agent.empty()) throw std::runtime_error("the recording has no episode of two steps: nothing to compare");
  return result;
}

ordered_json quantiles_json(const std::vector<double>& sorted) {
  return {{"median", analysis::quantile(sorted, 0.5)},
          {"p90", analysis::quantile(sorted, 0.9)},
          {"p99", analysis::quantile(sorted, 0.99)},
          {"max", sorted.back()}};
}

ordered_json replay_json(const ReplayResult& r) {
  return {{"task", "pusht"},
          {"episodes", r.episodes},
          {"steps", r.agent.size()},
          {"agent_error", quantiles_json(r.agent)},
          {"block_error", quantiles_json(r.block)},
          {"angle_error", quantiles_json(r.angle)},
          {"image_error",
           {{"mean", mean_of(r.image)},
            {"p99", analysis::quantile(r.image, 0.99)},
            {"max", r.image.back()},
            {"worst", {{"episode", r.worst_image.episode}, {"step", r.worst_image.step}}}}},
          {"mean_score", mean_of(r.scores)},
          {"seconds", r.seconds}};
}

std::string replay_text(const ReplayResult& r) {
  using enum Table::Align;
  Table table({{"", left}, {"mean", right}, {"median", right}, {"p90", right}, {"p99", right}, {"max", right}});
  const auto add = [&](const char* name, const std::vector<double>& sorted) {
    const auto cell = [](double v) { return fmt::format("{:.6f}", v); };
    table.add_row({name, cell(mean_of(sorted)), cell(analysis::quantile(sorted, 0.5)),
                   cell(analysis::quantile(sorted, 0.9)), cell(analysis::quantile(sorted, 0.99)), cell(sorted.back())});
  };
  add("agent, pixels", r.agent);
  add("block, pixels", r.block);
  add("angle, radians", r.angle);
  add("image, of 255", r.image);
  return table.to_string() +
         fmt::format(
             "\n{} episodes, {} steps in {:.1f} s. The demonstrations' score is {:.3f}. The image that "
             "differs most: episode {}, step {}.\n",
             r.episodes, r.agent.size(), r.seconds, mean_of(r.scores), r.worst_image.episode, r.worst_image.step);
}

void print(const SimulatePushtArguments& a, const Globals& globals, const ordered_json& json, const std::string& text) {
  if (a.json) {
    fmt::print("{}\n", json.dump());
  } else if (!globals.quiet) {
    fmt::print("{}", text);
  }
}

void run_replay(const SimulatePushtArguments& a, const Globals& globals) {
  const std::filesystem::path folder = robots::demonstrations_folder(a.replay);
  const robots::Demonstrations all = robots::read_demonstrations(folder);
  check_shown(a, all.episodes.size());
  ProgressBar progress("episodes", static_cast<int64_t>(all.episodes.size()), globals.quiet);
  std::mutex mutex;
  int64_t done = 0;
  const Stopwatch watch;
  const auto errors = robots::replay_all(folder, all, [&] {
    const std::lock_guard lock(mutex);
    progress.show(++done);
  });
  const ReplayResult result = summary_of(errors, watch.seconds());
  print(a, globals, replay_json(result), replay_text(result));
  const robots::Episode& shown = all.episodes[static_cast<size_t>(a.shown)];
  show_episode(a, robots::play_again(all, shown).scenes,
               a.png.empty() ? std::vector<uint8_t>() : robots::read_images(folder, shown), globals.quiet);
}

// ── play ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

robots::Chooser chooser(const std::string& actions, uint32_t seed) {
  if (actions == "still") return [](const PushTState& state) { return state.agent; };
  const auto random = std::make_shared<CounterRng>(seed);
  return [random](const PushTState&) {
    const double x = random->uniform(), y = random->uniform();
    return robots::Point{x * robots::kFieldSize, y * robots::kFieldSize};
  };
}

void run_play(const SimulatePushtArguments& a, const Globals& globals) {
  check_shown(a, static_cast<size_t>(a.episodes));
  std::vector<Playback> played(static_cast<size_t>(a.episodes));
  const Stopwatch watch;
  parallel_tasks(a.episodes, [&](int64_t i) {
    const auto seed = static_cast<uint32_t>(a.seed + i);
    played[static_cast<size_t>(i)] = robots::play(seed, chooser(a.actions, seed));
    if (i != a.shown) played[static_cast<size_t>(i)].scenes.clear();
  });
  const double seconds = watch.seconds();
  std::vector<double> scores;
  scores.reserve(played.size());
  for (const Playback& p : played) scores.push_back(p.score);
  print(a, globals,
        {{"task", "pusht"},
         {"actions", a.actions},
         {"episodes", a.episodes},
         {"mean_score", mean_of(scores)},
         {"scores", scores},
         {"seconds", seconds}},
        fmt::format("Mean score of {} episodes from seed {}, {} actions: {:.4f}\n", a.episodes, a.seed, a.actions,
                    mean_of(scores)));
  show_episode(a, played[static_cast<size_t>(a.shown)].scenes, {}, globals.quiet);
}

}  // namespace

void simulate_pusht(const SimulatePushtArguments& a, const Globals& globals) {
  if (a.replay.empty() && !a.play) throw std::invalid_argument("fib simulate pusht needs --replay zarr:DIR or --play");
  check_output("--video", a.video, ".mp4");
  check_output("--png", a.png, ".png");
  use_threads(globals);
  a.play ? run_play(a, globals) : run_replay(a, globals);
}

}  // namespace fib::cli
