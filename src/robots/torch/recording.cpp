// SPDX-License-Identifier: Apache-2.0
#include "robots/torch/recording.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/parallel.h"

namespace fib::robots {
namespace {

using nlohmann::json;

std::vector<double> coordinates(std::span<const Point> places) {
  std::vector<double> values;
  values.reserve(2 * places.size());
  for (const Point& p : places) values.insert(values.end(), {p.x, p.y});
  return values;
}

std::vector<Point> agents_of(std::span<const PushTState> states) {
  std::vector<Point> places;
  places.reserve(states.size());
  for (const PushTState& s : states) places.push_back(s.agent);
  return places;
}

json limits_json(const Limits& limits) {
  return {{"scale", std::vector<double>(limits.scale().begin(), limits.scale().end())},
          {"offset", std::vector<double>(limits.offset().begin(), limits.offset().end())}};
}

Limits limits_from(const json& told) {
  return Limits::from(told.at("scale").get<std::vector<double>>(), told.at("offset").get<std::vector<double>>(), 2);
}

template <class T>
void append_rows(std::vector<T>& to, const std::vector<T>& from, const Episode& episode) {
  to.insert(to.end(), from.begin() + episode.begin, from.begin() + episode.end);
}

/// The recording's rows of elements 0 … count − 1 of each window.
at::Tensor rows_of(std::span<const Window> windows, std::span<const size_t> chosen, int64_t count) {
  const at::Tensor rows = at::empty({static_cast<int64_t>(chosen.size()) * count}, at::kLong);
  auto* at = rows.data_ptr<int64_t>();
  for (const size_t w : chosen)
    for (int64_t k = 0; k < count; ++k) *at++ = windows[w].row(k);
  return rows;
}

/// values[rows] as [B,count,…].
at::Tensor gathered(const at::Tensor& values, const at::Tensor& rows, int64_t count) {
  return values.index_select(0, rows).unflatten(0, {-1, count});
}

/// One image [96,96,3] to [3,S,S]; halves are rounded to the even neighbor.
void reduce_image(const uint8_t* rgb, int64_t side, uint8_t* to) {
  const int64_t factor = kImageSize / side, row = int64_t{kImageSize} * 3;
  for (int64_t c = 0; c < 3; ++c) {
    for (int64_t y = 0; y < side; ++y) {
      for (int64_t x = 0; x < side; ++x) {
        const uint8_t* square = rgb + y * factor * row + x * factor * 3 + c;
        int sum = 0;
        for (int64_t i = 0; i < factor * factor; ++i) sum += square[i / factor * row + i % factor * 3];
        *to++ = static_cast<uint8_t>(std::nearbyint(static_cast<float>(sum) / static_cast<float>(factor * factor)));
      }
    }
  }
}

}  // namespace

PushTLimits PushTLimits::of(const Demonstrations& demonstrations) {
  return {Limits::of(coordinates(agents_of(demonstrations.states)), 2),
          Limits::of(coordinates(demonstrations.actions), 2)};
}

std::string PushTLimits::to_json() const {
  return json{{"agent_pos", limits_json(agent)}, {"action", limits_json(action)}}.dump();
}

PushTLimits PushTLimits::from_json(const std::string& text) {
  try {
    const json told = json::parse(text);
    return {limits_from(told.at("agent_pos")), limits_from(told.at("action"))};
  } catch (const json::exception&) {
    throw std::runtime_error("the weights do not tell the limits of agent_pos and action");
  }
}

at::Tensor reduced_images(std::span<const uint8_t> rgb, int64_t side) {
  const auto count = static_cast<int64_t>(rgb.size()) / (int64_t{kImageSize} * kImageSize * 3);
  const at::Tensor images = at::empty({count, 3, side, side}, at::kByte);
  auto* to = images.data_ptr<uint8_t>();
  for (int64_t n = 0; n < count; ++n, to += 3 * side * side) {
    reduce_image(rgb.data() + n * kImageSize * kImageSize * 3, side, to);
  }
  return images;
}

at::Tensor normalized_images(const at::Tensor& bytes) { return bytes.to(at::kFloat) / 127.5 - 1; }

at::Tensor normalized_places(std::span<const Point> places, const Limits& limits) {
  std::vector<double> values = coordinates(places);
  limits.normalize(values);
  return at::tensor(values, at::kDouble).to(at::kFloat).view({-1, 2});
}

Recording::Recording(const std::filesystem::path& folder, const Demonstrations& demonstrations,
                     std::span<const int64_t> chosen, const Policy& policy, const PushTLimits& limits)
    : observed_(policy.task.observed), horizon_(policy.unet.horizon) {
  std::vector<Episode> episodes, recorded;  // here, and in the recording
  std::vector<PushTState> states;
  std::vector<Point> actions;
  for (const int64_t i : chosen) {
    recorded.push_back(demonstrations.episodes[static_cast<size_t>(i)]);
    const auto begin = static_cast<int64_t>(actions.size());
    append_rows(states, demonstrations.states, recorded.back());
    append_rows(actions, demonstrations.actions, recorded.back());
    episodes.push_back({begin, static_cast<int64_t>(actions.size())});
  }
  windows_ = windows_of(
      episodes, {.horizon = horizon_, .pad_before = policy.task.observed - 1, .pad_after = policy.task.executed - 1});
  agents_ = normalized_places(agents_of(states), limits.agent);
  actions_ = normalized_places(actions, limits.action);
  const int64_t side = policy.image().image_size;
  images_ = at::empty({agents_.size(0), 3, side, side}, at::kByte);
  parallel_tasks(static_cast<int64_t>(episodes.size()), [&](int64_t i) {
    const Episode& here = episodes[static_cast<size_t>(i)];
    const at::Tensor read = reduced_images(read_images(folder, recorded[static_cast<size_t>(i)]), side);
    images_.narrow(0, here.begin, here.length()).copy_(read);
  });
}

Demonstrated Recording::batch(std::span<const size_t> windows) const {
  const at::Tensor seen = rows_of(windows_, windows, observed_);
  return {{gathered(agents_, seen, observed_), normalized_images(gathered(images_, seen, observed_))},
          gathered(actions_, rows_of(windows_, windows, horizon_), horizon_)};
}

}  // namespace fib::robots
