// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/parallel.h"
#include "robots/pusht.h"

namespace fib::robots {
namespace {

double distance(Point a, Point b) { return std::hypot(a.x - b.x, a.y - b.y); }

double angle_between(double a, double b) { return std::abs(std::remainder(a - b, 2 * std::numbers::pi)); }

double mean_difference(std::span<const uint8_t> a, std::span<const uint8_t> b) {
  int64_t sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]);
  return static_cast<double>(sum) / static_cast<double>(a.size());
}

ReplayErrors errors_of(const Playback& playback, std::span<const PushTState> recorded,
                       std::span<const uint8_t> images) {
  constexpr size_t image_bytes = size_t{kImageSize} * kImageSize * 3;
  ReplayErrors errors;
  errors.score = playback.score;
  for (size_t t = 1; t < recorded.size(); ++t) {
    const PushTState &mine = playback.scenes[t].state, &theirs = recorded[t];
    errors.agent.push_back(distance(mine.agent, theirs.agent));
    errors.block.push_back(distance(mine.block.position, theirs.block.position));
    errors.angle.push_back(angle_between(mine.block.angle, theirs.block.angle));
    errors.image.push_back(
        mean_difference(draw_image(playback.scenes[t]), images.subspan(t * image_bytes, image_bytes)));
  }
  return errors;
}

std::span<const PushTState> states_of(const Demonstrations& demonstrations, const Episode& episode) {
  return std::span(demonstrations.states)
      .subspan(static_cast<size_t>(episode.begin), static_cast<size_t>(episode.length()));
}

}  // namespace

Playback play_again(const Demonstrations& demonstrations, const Episode& episode) {
  PushT world;
  world.start_from(demonstrations.states[static_cast<size_t>(episode.begin)]);
  Playback playback;
  for (int64_t row = episode.begin; row < episode.end; ++row) {
    playback.scenes.push_back(world.scene());
    playback.score = std::max(playback.score, world.step(demonstrations.actions[static_cast<size_t>(row)]).reward);
  }
  return playback;
}

std::vector<ReplayErrors> replay_all(const std::filesystem::path& folder, const Demonstrations& demonstrations,
                                     const std::function<void()>& played) {
  std::vector<ReplayErrors> all(demonstrations.episodes.size());
  parallel_tasks(static_cast<int64_t>(all.size()), [&](int64_t i) {
    const Episode& episode = demonstrations.episodes[static_cast<size_t>(i)];
    all[static_cast<size_t>(i)] = errors_of(play_again(demonstrations, episode), states_of(demonstrations, episode),
                                            read_images(folder, episode));
    played();
  });
  return all;
}

Playback play(uint32_t seed, const Chooser& choose) {
  PushT world;
  world.reset(seed);
  Playback playback{{world.scene()}, 0};
  for (int64_t i = 0; i < kPushTMaxSteps; ++i) {
    const PushTStep step = world.step(choose(world.state()));
    playback.scenes.push_back(world.scene());
    playback.score = std::max(playback.score, step.reward);
    if (step.done) break;
  }
  return playback;
}

}  // namespace fib::robots
