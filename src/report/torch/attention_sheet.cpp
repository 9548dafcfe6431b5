// SPDX-License-Identifier: Apache-2.0
#include "report/torch/attention_sheet.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/images/resize.h"

namespace fib::report {
namespace {

at::Tensor input_of(const training::TrainedModel& subject, const Image& image) {
  const Pipeline pipeline(subject.view);
  at::Tensor x = at::empty({1, pipeline.channels(), pipeline.input_size(), pipeline.input_size()});
  CounterRng unused(0);
  pipeline.apply(image, unused, x.data_ptr<float>());
  return x;
}

MapsOfQuery maps_of(const std::string& title, const at::Tensor& maps, std::optional<size_t> marked) {
  MapsOfQuery query{title, {}, marked};
  for (int64_t l = 0; l < maps.size(0); ++l) query.weights.push_back(number_rows(maps[l]));
  return query;
}

}  // namespace

SquareImage small_view(const training::TrainedModel& subject, const Image& image) {
  CounterRng unused(0);
  Image input = Pipeline(subject.view).transformed(image, unused);
  // Four pixels per patch are enough to see the image behind them.
  const int64_t enough = std::max<int64_t>(56, 4 * subject.module->dimensions().grid().width);
  if (enough < input.width) input = resize(input, {enough, enough}, Filter::bicubic);
  return {static_cast<uint32_t>(input.width), std::move(input.pixels)};
}

LookedAt look_at(const training::TrainedModel& subject, const Image& image, std::optional<int64_t> patch) {
  const at::NoGradGuard no_grad;
  const attention::Grid grid = subject.module->dimensions().grid();
  const at::Tensor x = input_of(subject, image);
  const at::Tensor probabilities = at::softmax(subject.module->forward(x)[0], 0);
  LookedAt looked;
  looked.predicted = probabilities.argmax().item<int64_t>();
  looked.probability = probabilities[looked.predicted].item<double>();
  looked.patch = patch.value_or(grid.height / 2 * grid.width + grid.width / 2);
  looked.maps = analysis::attention_maps(*subject.module, x, looked.patch);
  looked.image = small_view(subject, image);
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
