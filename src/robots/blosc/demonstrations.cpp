// SPDX-License-Identifier: Apache-2.0
#include "robots/demonstrations.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <stdexcept>

#include "robots/zarr.h"

namespace fib::robots {
namespace {

constexpr int64_t kImageShape[] = {kImageSize, kImageSize, 3};
/// 28 hours at ten rows a second; the published recording has 25,650. A chunk of few bytes can announce any number.
constexpr int64_t kMaxRows = 1'000'000;
/// Of an episode whose images are read: 17 minutes, 276 MB.
constexpr int64_t kMaxEpisodeRows = 10'000;

template <class T>
std::vector<T> whole_array(const std::filesystem::path& folder, ZarrType type, std::span<const int64_t> row_shape) {
  ZarrArray array(folder, type, row_shape);
  if (array.rows() > kMaxRows)
    throw std::runtime_error(fmt::format("{}: {} rows; accepted: up to {}", folder.string(), array.rows(), kMaxRows));
  return array.read<T>(0, array.rows());
}

/// Values that are no numbers would turn into states that are none, far from here.
std::vector<float> finite_rows(const std::filesystem::path& folder, int64_t columns) {
  std::vector<float> values = whole_array<float>(folder, ZarrType::float32, {&columns, 1});
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    throw std::runtime_error(fmt::format("{}: row {} holds {}; accepted: finite numbers", folder.string(),
                                         i / static_cast<size_t>(columns), values[i]));
  }
  return values;
}

void require_rows(const std::filesystem::path& folder, size_t rows, size_t wanted) {
  if (rows == wanted) return;
  throw std::runtime_error(fmt::format("{}: {} rows; data/state has {}", folder.string(), rows, wanted));
}

std::vector<PushTState> read_states(const std::filesystem::path& folder) {
  const std::vector<float> values = finite_rows(folder, 5);
  std::vector<PushTState> states;
  for (size_t i = 0; i < values.size(); i += 5) {
    const float* v = values.data() + i;
    states.push_back({{v[0], v[1]}, {{v[2], v[3]}, v[4]}});
  }
  return states;
}

std::vector<Point> read_actions(const std::filesystem::path& folder) {
  const std::vector<float> values = finite_rows(folder, 2);
  std::vector<Point> actions;
  for (size_t i = 0; i < values.size(); i += 2) actions.push_back({values[i], values[i + 1]});
  return actions;
}

uint8_t as_byte(float value, const std::filesystem::path& where) {
  const auto byte = static_cast<uint8_t>(value >= 0 && value <= 255 ? value : 0);
  if (static_cast<float>(byte) == value) return byte;
  throw std::runtime_error(fmt::format("{}: a pixel is {}; accepted: whole numbers 0 to 255", where.string(), value));
}

}  // namespace

Demonstrations read_demonstrations(const std::filesystem::path& folder) {
  const auto data = folder / "data", ends = folder / "meta" / "episode_ends";
  Demonstrations all;
  all.states = read_states(data / "state");
  all.actions = read_actions(data / "action");
  require_rows(data / "action", all.actions.size(), all.states.size());
  require_rows(data / "img", static_cast<size_t>(ZarrArray(data / "img", ZarrType::float32, kImageShape).rows()),
               all.states.size());
  all.episodes = episodes_from_ends(whole_array<int64_t>(ends, ZarrType::int64, {}),
                                    static_cast<int64_t>(all.states.size()), ends.string());
  return all;
}

std::vector<uint8_t> read_images(const std::filesystem::path& folder, const Episode& episode) {
  const auto place = folder / "data" / "img";
  if (episode.length() > kMaxEpisodeRows)
    throw std::runtime_error(fmt::format("{}: an episode of {} images; accepted: up to {}", place.string(),
                                         episode.length(), kMaxEpisodeRows));
  ZarrArray array(place, ZarrType::float32, kImageShape);
  std::vector<uint8_t> pixels;
  pixels.reserve(static_cast<size_t>(episode.length() * kImageSize * kImageSize * 3));
  for (int64_t row = episode.begin; row < episode.end; ++row) {
    for (const float v : array.read<float>(row, row + 1)) pixels.push_back(as_byte(v, place));
  }
  return pixels;
}

}  // namespace fib::robots
