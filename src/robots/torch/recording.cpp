// SPDX-License-Identifier: Apache-2.0
#include "robots/torch/recording.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/json.h"
#include "base/parallel.h"

namespace fib::robots {
namespace {

using nlohmann::json;

json normalizer_json(const Normalizer& normalizer) {
  return {{"scale", std::vector<double>(normalizer.scale().begin(), normalizer.scale().end())},
          {"offset", std::vector<double>(normalizer.offset().begin(), normalizer.offset().end())}};
}

Normalizer normalizer_from(const json& told, int64_t dimensions) {
  return Normalizer::from(told.at("scale").get<std::vector<double>>(), told.at("offset").get<std::vector<double>>(),
                          static_cast<size_t>(dimensions));
}

/// The first `limited` numbers by their limits, the rest as they are.
Normalizer normalizer_of(const std::vector<double>& values, int64_t dimensions, int64_t limited) {
  const Normalizer all = Normalizer::of(values, static_cast<size_t>(dimensions));
  std::vector<double> scale(all.scale().begin(), all.scale().end()), offset(all.offset().begin(), all.offset().end());
  std::fill(scale.begin() + limited, scale.end(), 1);
  std::fill(offset.begin() + limited, offset.end(), 0);
  return Normalizer::from(std::move(scale), std::move(offset), static_cast<size_t>(dimensions));
}

std::vector<std::string> limited_names(const RobotTask& task) {
  std::vector<std::string> names;
  for (const Observation& o : task.observations)
    if (!o.is_image()) names.push_back(o.name);
  return names;
}

/// The rows of these episodes, one after the other.
std::vector<double> rows_of_episodes(const std::vector<double>& values, std::span<const Episode> episodes,
                                     int64_t columns) {
  std::vector<double> rows;
  for (const Episode& e : episodes)
    rows.insert(rows.end(), values.begin() + e.begin * columns, values.begin() + e.end * columns);
  return rows;
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

}  // namespace

RobotNormalizer RobotNormalizer::of(const RobotRecording& recording, const RobotTask& task) {
  RobotNormalizer normalizer;
  for (const Observation& o : task.observations) {
    if (!o.is_image())
      normalizer.observed[o.name] = normalizer_of(recording.numbers(o), o.channels, o.limited ? o.channels : 0);
  }
  normalizer.action = normalizer_of(recording.actions(), task.action, task.limited_action);
  return normalizer;
}

std::string RobotNormalizer::to_json() const {
  json told{{"action", normalizer_json(action)}};
  for (const auto& [name, normalizer] : observed) told[name] = normalizer_json(normalizer);
  return told.dump();
}

RobotNormalizer RobotNormalizer::from_json(const std::string& text, const RobotTask& task) {
  try {
    const json told = parse_json(text);
    RobotNormalizer normalizer;
    for (const Observation& o : task.observations)
      if (!o.is_image()) normalizer.observed[o.name] = normalizer_from(told.at(o.name), o.channels);
    normalizer.action = normalizer_from(told.at("action"), task.action);
    return normalizer;
  } catch (const json::exception&) {
    throw std::runtime_error(
        fmt::format("the weights do not tell the limits of {} and action", fmt::join(limited_names(task), ", ")));
  }
}

at::Tensor reduced_images(std::span<const uint8_t> rgb, int64_t count, int64_t side) {
  const at::Tensor images = at::empty({count, 3, side, side}, at::kByte);
  const size_t each = rgb.size() / static_cast<size_t>(count);
  auto* to = images.data_ptr<uint8_t>();
  for (int64_t n = 0; n < count; ++n, to += 3 * side * side)
    reduce_image(rgb.subspan(static_cast<size_t>(n) * each, each), side, to);
  return images;
}

at::Tensor normalized_images(const at::Tensor& bytes) { return bytes.to(at::kFloat) / 127.5 - 1; }

at::Tensor normalized_numbers(std::vector<double> values, const Normalizer& normalizer) {
  normalizer.normalize(values);
  return at::tensor(values, at::kDouble).to(at::kFloat).view({-1, static_cast<int64_t>(normalizer.scale().size())});
}

Recording::Recording(const RobotRecording& recording, std::span<const int64_t> chosen, const Policy& policy,
                     const RobotNormalizer& normalizer)
    : observed_(policy.task.observed), horizon_(policy.unet.horizon) {
  int64_t rows = 0;
  for (const int64_t i : chosen) {
    recorded_.push_back(recording.episodes()[static_cast<size_t>(i)]);
    episodes_.push_back({rows, rows + recorded_.back().length()});
    rows = episodes_.back().end;
  }
  windows_ = windows_of(
      episodes_, {.horizon = horizon_, .pad_before = policy.task.observed - 1, .pad_after = policy.task.executed - 1});
  for (const Observation& o : policy.task.observations) {
    observations_.push_back(o.is_image()
                                ? read_images(recording, o)
                                : normalized_numbers(rows_of_episodes(recording.numbers(o), recorded_, o.channels),
                                                     normalizer.observed.at(o.name)));
  }
  actions_ =
      normalized_numbers(rows_of_episodes(recording.actions(), recorded_, policy.task.action), normalizer.action);
}

at::Tensor Recording::read_images(const RobotRecording& recording, const Observation& camera) const {
  const int64_t side = camera.image_size;
  const at::Tensor images = at::empty({episodes_.empty() ? 0 : episodes_.back().end, 3, side, side}, at::kByte);
  parallel_tasks(static_cast<int64_t>(episodes_.size()), [&](int64_t i) {
    const Episode& here = episodes_[static_cast<size_t>(i)];
    const std::vector<uint8_t> rgb = recording.images(camera, recorded_[static_cast<size_t>(i)]);
    images.narrow(0, here.begin, here.length()).copy_(reduced_images(rgb, here.length(), side));
  });
  return images;
}

Demonstrated Recording::batch(std::span<const size_t> windows) const {
  const at::Tensor seen = rows_of(windows_, windows, observed_);
  Demonstrated batch;
  for (const at::Tensor& values : observations_) {
    const at::Tensor some = gathered(values, seen, observed_);
    batch.observations.push_back(some.scalar_type() == at::kByte ? normalized_images(some) : some);
  }
  batch.actions = gathered(actions_, rows_of(windows_, windows, horizon_), horizon_);
  return batch;
}

}  // namespace fib::robots
