// SPDX-License-Identifier: Apache-2.0
#include "prediction/engine_predictor.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "models/card.h"

namespace fib::prediction {
namespace {

/// One number stands for all channels.
void replace(std::vector<float>& values, const std::vector<float>& given, const char* name) {
  if (given.empty()) return;
  if (given.size() != 1 && given.size() != values.size())
    throw std::invalid_argument(fmt::format("{} takes one number or {}, got {}", name, values.size(), given.size()));
  values = given.size() == 1 ? std::vector<float>(values.size(), given.front()) : given;
}

ModelInfo info_of(const engine::FibContent& content, const std::string& file) {
  const engine::Program& first = content.programs.front();
  if (first.takes_numbers())
    throw std::runtime_error(fmt::format("'{}' is no classifier but a policy; fib rollout --engine plays it", file));
  const models::ModelCard card = models::read_card(content.card, file);
  ModelInfo info{.model = card.model,
                 .attention = card.attention,
                 .precision = name_of(content.precision),
                 .classes = first.classes,
                 .view = {},
                 .view_source = "the file"};
  const auto channels = static_cast<size_t>(first.channels());
  info.view.input_size = static_cast<int>(first.height());
  info.view.channels = static_cast<int>(first.channels());
  info.view.mean = card.mean.size() == channels ? card.mean : std::vector<float>(channels, 0.5f);
  info.view.std = card.std.size() == channels ? card.std : std::vector<float>(channels, 0.5f);
  info.view.crop_ratio = card.crop_ratio > 0 ? card.crop_ratio : 1.0;
  info.view.views = static_cast<int>(std::max<int64_t>(card.crops, 1));
  info.view.clip.frames = static_cast<int>(first.frames());
  if (card.sampling_rate > 0) info.view.clip.rate = static_cast<int>(card.sampling_rate);
  return info;
}

/// As the engine takes them.
std::vector<float> floats_of(const NpyArray& array) {
  if (array.type() == NpyType::float64) {
    const auto values = array.values<double>();
    return {values.begin(), values.end()};
  }
  const auto values = array.values<float>();
  return {values.begin(), values.end()};
}

}  // namespace

EnginePredictor::EnginePredictor(const std::string& file, const InputOverrides& o, const engine::Limits& limits)
    : Predictor({}), engine_(file, limits) {
  info_ = info_of(engine_.content(), file);
  try {
    set_class_names(models::read_card(engine_.content().card, file).class_names);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(file + ": " + error.what());
  }
  PipelineConfig& view = info_.view;
  if (o.crop > 0) view.input_size = static_cast<int>(o.crop);
  engine_.program(view.input_size, view.input_size);  // throws where there is none of this size
  if (o.resize > 0) view.crop_ratio = crop_ratio_for(o.resize, view.input_size);
  replace(view.mean, o.mean, "--mean");
  replace(view.std, o.std, "--std");
  if (!o.mean.empty() || !o.std.empty()) info_.view_source = "the command line";
}

std::vector<double> EnginePredictor::step_seconds(std::span<const float> sample) {
  std::vector<double> seconds(program().steps.size());
  std::vector<float> logits(static_cast<size_t>(program().classes));
  engine_.run(program(), sample.first(static_cast<size_t>(program().sample_elements())), logits, seconds);
  return seconds;
}

std::vector<int64_t> EnginePredictor::resolutions() const {
  std::vector<int64_t> sides;
  for (const engine::Program& program : engine_.content().programs) sides.push_back(program.height());
  return sides;
}

void EnginePredictor::run(const engine::Program& program, std::span<const float> inputs, std::span<float> logits,
                          int64_t batch) {
  const auto each = static_cast<size_t>(program.sample_elements()), classes = static_cast<size_t>(program.classes);
  const size_t count = inputs.size() / each, most = static_cast<size_t>(batch);
  for (size_t i = 0; i < count; i += most) {
    const size_t now = std::min(most, count - i);
    engine_.run(program, inputs.subspan(i * each, now * each), logits.subspan(i * classes, now * classes));
  }
}

std::vector<float> EnginePredictor::forward(std::span<const float> inputs) {
  std::vector<float> logits(inputs.size() / static_cast<size_t>(program().sample_elements()) *
                            static_cast<size_t>(program().classes));
  run(program(), inputs, logits, engine_.content().most_samples);
  return logits;
}

Logits EnginePredictor::infer(const NpyArray& input, int64_t batch) {
  const std::vector<int64_t>& shape = input.shape();
  const engine::Program& program = engine_.program(shape[shape.size() - 2], shape.back());
  const std::vector<int64_t> sample(shape.begin() + 1, shape.end());
  if (sample != program.sample)
    throw std::runtime_error(fmt::format("the input holds samples of {}, the model takes {}", fmt::join(sample, " x "),
                                         fmt::join(program.sample, " x ")));
  std::vector<float> logits(static_cast<size_t>(shape[0] * program.classes));
  run(program, floats_of(input), logits, batch);
  return {{shape[0], program.classes}, std::move(logits)};
}

}  // namespace fib::prediction
