// SPDX-License-Identifier: Apache-2.0
#include "report/torch/attention_sheet.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/images/resize.h"

namespace fib::report {
namespace {

/// Where evaluation sees several squares, the middle one.
Pipeline middle_view(const training::TrainedModel& subject) {
  PipelineConfig view = subject.view;
  view.views = 1;
  return Pipeline(view);
}

at::Tensor input_of(const training::TrainedModel& subject, const std::vector<Image>& frames) {
  std::vector<int64_t> shape = subject.module->dimensions().sample_shape();
  shape.insert(shape.begin(), 1);
  at::Tensor x = at::empty(shape);
  CounterRng unused(0);
  middle_view(subject).apply(frames, unused, x.data_ptr<float>());
  return x;
}

/// Images of one size, side by side.
SquareImage strip_of(const std::vector<Image>& images) {
  SquareImage strip{static_cast<uint32_t>(images.front().width), {}, static_cast<uint32_t>(images.size())};
  for (int64_t y = 0; y < images.front().height; ++y) {
    for (const Image& image : images) strip.rgb.insert(strip.rgb.end(), image.row(y), image.row(y) + 3 * image.width);
  }
  return strip;
}

MapsOfQuery maps_of(const std::string& title, const at::Tensor& maps, std::optional<size_t> marked) {
  MapsOfQuery query{title, {}, marked};
  for (int64_t l = 0; l < maps.size(0); ++l) query.weights.push_back(number_rows(maps[l]));
  return query;
}

}  // namespace

SquareImage small_view(const training::TrainedModel& subject, const std::vector<Image>& frames) {
  CounterRng unused(0);
  const Pipeline pipeline = middle_view(subject);
  // Four pixels per patch are enough to see the image behind them.
  const int64_t enough = std::max<int64_t>(56, 4 * subject.module->dimensions().grid().width);
  std::vector<Image> small;
  small.reserve(frames.size());
  for (const Image& frame : frames) {
    small.push_back(pipeline.transformed(frame, unused));
    if (enough < small.back().width) small.back() = resize(small.back(), {enough, enough}, Filter::bicubic);
  }
  return strip_of(small);
}

std::vector<Image> shown(const training::TrainedModel& subject, const Dataset& data, size_t index) {
  CounterRng unused(0);
  return data.frames(index, subject.view.clip, unused);
}

LookedAt look_at(const training::TrainedModel& subject, const std::vector<Image>& frames,
                 std::optional<int64_t> patch) {
  const at::NoGradGuard no_grad;
  const attention::Grid grid = subject.module->dimensions().grid();
  const at::Tensor x = input_of(subject, frames);
  const at::Tensor probabilities = at::softmax(subject.module->forward(x)[0], 0);
  LookedAt looked;
  looked.predicted = probabilities.argmax().item<int64_t>();
  looked.probability = probabilities[looked.predicted].item<double>();
  looked.patch = patch.value_or(grid.height / 2 * grid.width + grid.width / 2);
  looked.maps = analysis::attention_maps(*subject.module, x, looked.patch);
  looked.image = small_view(subject, frames);
  return looked;
}

std::string class_name(const DatasetInfo& info, int64_t index) {
  const auto i = static_cast<size_t>(index);
  return i < info.class_names.size() ? info.class_names[i] : fmt::format("class {}", index);
}

std::vector<double> numbers(const at::Tensor& map) {
  const at::Tensor wide = map.to(at::kDouble).contiguous();
  return {wide.data_ptr<double>(), wide.data_ptr<double>() + wide.numel()};
}

std::vector<std::vector<double>> number_rows(const at::Tensor& maps) {
  std::vector<std::vector<double>> rows;
  for (int64_t i = 0; i < maps.size(0); ++i) rows.push_back(numbers(maps[i]));
  return rows;
}

AttentionSheet attention_sheet(const training::TrainedModel& subject, const LookedAt& looked) {
  const DatasetInfo& info = subject.dataset->info();
  const int64_t columns = subject.module->dimensions().grid().width;
  std::string verdict =
      fmt::format("taken for {}, {:.0f} %", class_name(info, looked.predicted), 100 * looked.probability);
  if (looked.label) verdict = class_name(info, *looked.label) + ", " + verdict;
  return {fmt::format("{}: {} with {}", looked.name, subject.model, subject.attention),
          verdict,
          looked.image,
          numbers(looked.maps.rollout),
          {maps_of("where the class token looks", looked.maps.from_cls, std::nullopt),
           maps_of(fmt::format("where patch {},{} looks (row, column)", looked.patch / columns + 1,
                               looked.patch % columns + 1),
                   looked.maps.from_patch, static_cast<size_t>(looked.patch))}};
}

}  // namespace fib::report
