// SPDX-License-Identifier: Apache-2.0
#include "cli/engine/engine_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "models/card.h"

namespace fib::cli {
namespace {

/// One number stands for all channels.
void replace(std::vector<float>& values, const std::vector<float>& given, const char* name) {
  if (given.empty()) return;
  if (given.size() != 1 && given.size() != values.size())
    throw std::invalid_argument(fmt::format("{} takes one number or {}, got {}", name, values.size(), given.size()));
  values = given.size() == 1 ? std::vector<float>(values.size(), given.front()) : given;
}

}  // namespace

EngineModel::EngineModel(const std::string& file) : engine_(file) {
  const engine::Program& first = content().programs.front();
  const models::ModelCard card = models::read_card(content().card, file);
  model = card.model, attention = card.attention, class_names = card.class_names;
  const auto channels = static_cast<size_t>(first.channels());
  view.input_size = static_cast<int>(first.height());
  view.channels = static_cast<int>(first.channels());
  view.mean = card.mean.size() == channels ? card.mean : std::vector<float>(channels, 0.5f);
  view.std = card.std.size() == channels ? card.std : std::vector<float>(channels, 0.5f);
  view.crop_ratio = card.crop_ratio > 0 ? card.crop_ratio : 1.0;
  view.views = static_cast<int>(std::max<int64_t>(card.crops, 1));
  view.clip.frames = static_cast<int>(first.frames());
  if (card.sampling_rate > 0) view.clip.rate = static_cast<int>(card.sampling_rate);
  if (!class_names.empty() && static_cast<int64_t>(class_names.size()) != first.classes)
    throw std::runtime_error(
        fmt::format("{} names {} classes, its model has {}", file, class_names.size(), first.classes));
}

EngineModel::EngineModel(const std::string& file, const SubjectArguments& a) : EngineModel(file) {
  if (a.crop > 0) view.input_size = static_cast<int>(a.crop);
  program();  // says at once that there is none for this size
  if (a.resize > 0) {
    if (a.resize < view.input_size)
      throw std::invalid_argument(
          fmt::format("--resize must be at least the crop of {}, got {}", view.input_size, a.resize));
    // Rounding down must give the shorter side back.
    view.crop_ratio = static_cast<double>(view.input_size) / (static_cast<double>(a.resize) + 0.5);
  }
  replace(view.mean, a.mean, "--mean");
  replace(view.std, a.std, "--std");
  if (!a.mean.empty() || !a.std.empty()) view_source = "the command line";
}

std::string EngineModel::input_text() const {
  const std::string clip =
      view.clip.frames > 0 ? fmt::format("{} frames of each clip, one in {}/30 s, ", view.clip.frames, view.clip.rate)
                           : "";
  return fmt::format("{}{} x {}, crop ratio {:.3f}, mean {}, deviation {} (as {} says)", clip, view.input_size,
                     view.input_size, view.crop_ratio, fmt::join(view.mean, " "), fmt::join(view.std, " "),
                     view_source);
}

std::vector<float> EngineModel::logits(std::span<const float> samples) {
  const engine::Program& p = program();
  const auto per_view = static_cast<size_t>(p.sample_elements()), classes = static_cast<size_t>(p.classes);
  const auto views = static_cast<size_t>(view.views), most = static_cast<size_t>(content().most_samples);
  const size_t count = samples.size() / per_view;
  std::vector<float> of_views(count * classes);
  for (size_t i = 0; i < count; i += most) {
    const size_t now = std::min(most, count - i);
    engine_.run(p, samples.subspan(i * per_view, now * per_view),
                std::span(of_views).subspan(i * classes, now * classes));
  }
  if (views == 1) return of_views;
  std::vector<float> mean(count / views * classes);
  for (size_t i = 0; i < of_views.size(); ++i)
    mean[i / (views * classes) * classes + i % classes] += of_views[i] / static_cast<float>(views);
  return mean;
}

}  // namespace fib::cli
