// SPDX-License-Identifier: Apache-2.0
#include "training/torch/trained_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "data/open_dataset.h"
#include "models/torch/weights.h"
#include "prediction/accuracy.h"
#include "training/recipe/model_options.h"
#include "training/run/directory.h"
#include "training/torch/classification.h"

namespace fib::training {
namespace {

using models::ModelCard;

/// The best weights of a search are what it leaves; a run without a validation set has only its last ones.
std::filesystem::path best_of(const RunFiles& files, const Recipe& recipe) {
  if (recipe.prune.ratio > 0) return files.pruned();
  if (recipe.data.validation_fraction > 0) return files.best();
  return recipe.ema.decay > 0 ? files.ema() : files.model();
}

/// A file that should be there and is not is never replaced by another.
std::filesystem::path weights_of(const RunFiles& files, const Recipe& recipe, const std::string& checkpoint) {
  const std::map<std::string, std::filesystem::path> known = {
      {"best", best_of(files, recipe)}, {"model", files.model()}, {"ema", files.ema()}};
  const std::filesystem::path& file = known.at(checkpoint);
  if (std::filesystem::exists(file)) return file;
  std::string others;
  for (const auto& [name, other] : known)
    if (name != checkpoint && std::filesystem::exists(other)) others += (others.empty() ? "" : ", ") + name;
  throw std::runtime_error(fmt::format("the run in '{}' has no {}; --checkpoint accepts what it has: {}",
                                       files.root.string(), file.filename().string(),
                                       others.empty() ? "nothing yet" : others));
}

std::string name_of(const std::filesystem::path& directory) {
  return directory.has_filename() ? directory.filename() : directory.parent_path().filename();
}

/// Models of a dataset whose images have one size were trained with its own mean and deviation; those of a folder were
/// not, and of grey images nothing follows for models that take color.
ModelCard card_of(const DatasetInfo& info, int64_t channels) {
  ModelCard card;
  if (info.image_size == 0 || info.channels != channels) return card;
  card.mean = info.mean;
  card.std = info.std;
  return card;
}

ModelCard card_of(const ModelRequest& request) {
  ModelCard card;
  card.model = request.model;
  if (!request.attention.empty()) card.attention = AttentionSpec::parse(request.attention).to_string();
  card.attention_in = request.attention_in;
  card.attention_layers = models::layers_text(models::parse_layers(request.attention_layers));
  card.tokens = models::TokenReduction::parse(request.tokens).to_string();
  card.resolution = request.crop;
  card.mean = request.mean;
  card.std = request.std;
  return card;
}

/// One number stands for all channels.
std::vector<float> spread(const std::vector<float>& values, size_t channels) {
  return values.size() == 1 ? std::vector<float>(channels, values.front()) : values;
}

/// A line for each thing that is asked for and that the weights tell differently.
std::vector<std::string> contradictions(const ModelRequest& request, const ModelCard& weights) {
  std::vector<std::string> lines;
  const auto compare = [&](const char* what, const auto& asked, const auto& told) {
    using Value = std::decay_t<decltype(told)>;
    if (asked == Value() || told == Value() || asked == told) return;
    lines.push_back(fmt::format("{} {} is asked for, the weights say {}", what, asked, told));
  };
  const auto text = [](const std::vector<float>& values) { return fmt::format("{}", fmt::join(values, ",")); };
  const ModelCard asked = card_of(request);
  compare("model", asked.model, weights.model);
  compare("attention", asked.attention, weights.attention);
  compare("attention in layers", asked.attention_layers, weights.attention_layers);
  compare("tokens", asked.tokens, weights.tokens);
  compare("resolution", asked.resolution, weights.resolution);
  compare("mean", text(spread(asked.mean, weights.mean.size())), text(weights.mean));
  compare("std", text(spread(asked.std, weights.std.size())), text(weights.std));
  if (weights.crop_ratio > 0 && weights.resolution > 0)
    compare("shorter side", request.resize, prediction::shorter_side(weights.resolution, weights.crop_ratio));
  return lines;
}

/// Collects what is told of a model, the most trusted first, and who told how images are normalized.
struct Told {
  ModelCard card;
  std::string by;

  void add(const ModelCard& more, const char* teller) {
    if (card.mean.empty() && !more.mean.empty()) by = teller;
    card = models::completed(std::move(card), more);
  }
};

void apply_resize(ModelCard& card, int64_t shorter) {
  if (shorter == 0) return;
  card.crop_ratio = prediction::crop_ratio_for(shorter, card.resolution);
}

PipelineConfig view_of(const ModelCard& card) {
  PipelineConfig view;
  view.input_size = static_cast<int>(card.resolution);
  view.channels = static_cast<int>(card.channels);
  view.mean = spread(card.mean, static_cast<size_t>(card.channels));
  view.std = spread(card.std, static_cast<size_t>(card.channels));
  view.crop_ratio = card.crop_ratio;
  view.views = static_cast<int>(std::max<int64_t>(card.crops, 1));
  return view;
}

models::ModelPtr load(const ModelCard& card, const std::filesystem::path& weights, const ModelRequest& request) {
  models::Options options = models::options_of(card);
  if (request.input) {
    options.channels = request.input->channels;
    options.resolution = request.input->height;
    options.width = request.input->width;
    options.frames = request.input->frames;
  }
  const models::LoadOptions how{.new_classifier = false, .type = request.double_precision ? at::kDouble : at::kFloat};
  models::ModelPtr module = models::make_with_weights(card.model, weights, options, how);
  module->eval();
  return module;
}

const models::ModelRow& row_of(const ModelCard& card, const std::filesystem::path& file) {
  if (card.model.empty())
    throw std::invalid_argument(file.string() + " does not say which model it is of: give --model");
  return models::find_row(card.model);
}

/// The weights know how many channels they take, whatever is told of them.
void take_channels(ModelCard& card, const ModelRequest& request, int64_t stored) {
  if (stored > 0) card.channels = stored;
  if (card.channels == 0) card.channels = 3;
  if (!request.input || request.input->channels == card.channels) return;
  throw std::runtime_error(
      fmt::format("the input has {} channels, the weights take {}", request.input->channels, card.channels));
}

void describe(TrainedModel& opened, const Told& told, const ModelRequest& request) {
  opened.model = told.card.model;
  opened.attention = told.card.attention;
  opened.name = request.run.empty() ? opened.attention : name_of(request.run);
  opened.view = view_of(told.card);
  opened.view_source = told.by;
  opened.class_names = told.card.class_names;
}

}  // namespace

TrainedModel open_model(const ModelRequest& request) {
  std::optional<Recipe> recipe;
  if (!request.run.empty()) recipe = RunFiles{request.run}.recipe();
  const std::filesystem::path file =
      recipe ? weights_of(RunFiles{request.run}, *recipe, request.checkpoint) : request.weights;
  const SafetensorsFile weights(file);
  const ModelCard stored = models::read_card(weights.metadata(), file.string());
  TrainedModel opened;
  opened.contradictions = contradictions(request, stored);

  Told told;
  told.add(card_of(request), "the command line");
  told.add(stored, "the weights");
  opened.data = request.data;
  if (recipe) {
    told.add(recipe_card(*recipe), "the run's recipe");
    if (opened.data.empty() && !request.without_images) opened.data = recipe->data.source;
  }
  const models::ModelRow& row = row_of(told.card, file);
  take_channels(told.card, request, models::stored_channels(weights, row));
  if (!opened.data.empty()) {
    opened.dataset = open_dataset(opened.data, DatasetPart::test);
    told.add(card_of(opened.dataset->info(), told.card.channels), "the dataset");
  }
  told.add(models::published_card(row, told.card.channels), "the model's published weights");
  apply_resize(told.card, request.resize);
  opened.module = load(told.card, file, request);
  describe(opened, told, request);
  const models::Dimensions& dims = opened.module->dimensions();
  if (opened.dataset) {
    opened.view.clip = clip_sampling(dims, opened.dataset->info(), told.card.sampling_rate);
  } else if (dims.takes_clips()) {
    opened.view.clip = {.frames = static_cast<int>(dims.frames()), .rate = static_cast<int>(told.card.sampling_rate)};
  }
  return opened;
}

std::unique_ptr<Loader> TrainedModel::loader(const DatasetPtr& images) const {
  return std::make_unique<Loader>(prediction::loader_in_order(images, view, batch));
}

prediction::ModelInfo TrainedModel::info() const {
  return {.model = model,
          .attention = attention,
          .classes = module->dimensions().row.classes,
          .view = view,
          .view_source = view_source,
          .class_names = class_names};
}

DatasetPtr evenly_chosen(const DatasetPtr& dataset, size_t count) {
  if (count >= dataset->size()) return dataset;
  std::vector<size_t> indices(count);
  for (size_t i = 0; i < count; ++i) indices[i] = i * dataset->size() / count;
  return std::make_shared<Subset>(dataset, std::move(indices));
}

TorchPredictor::TorchPredictor(models::Model& model, const PipelineConfig& view)
    : Predictor({.model = model.dimensions().row.name, .classes = model.dimensions().row.classes, .view = view}),
      model_(model) {}

TorchPredictor::TorchPredictor(const TrainedModel& trained) : Predictor(trained.info()), model_(*trained.module) {
  set_class_names(trained.class_names);
}

std::vector<float> TorchPredictor::forward(std::span<const float> inputs) {
  const at::NoGradGuard no_grad;
  std::vector<int64_t> shape = model_.dimensions().sample_shape();
  shape.insert(shape.begin(), static_cast<int64_t>(inputs.size()) / c10::multiply_integers(shape));
  // The data is only read: torch has no tensors of constants.
  const at::Tensor logits = model_.forward(at::from_blob(const_cast<float*>(inputs.data()), shape)).contiguous();
  return {logits.data_ptr<float>(), logits.data_ptr<float>() + logits.numel()};
}

prediction::Logits TorchPredictor::infer(const NpyArray& input, int64_t batch) {
  const at::NoGradGuard no_grad;
  const at::ScalarType type = model_.parameters().front().scalar_type();
  const auto view = [&](auto values, at::ScalarType stored) {
    return at::from_blob(const_cast<void*>(static_cast<const void*>(values.data())), input.shape(), stored);
  };
  const at::Tensor images = input.type() == NpyType::float64 ? view(input.values<double>(), at::kDouble)
                                                             : view(input.values<float>(), at::kFloat);
  std::vector<at::Tensor> parts;
  for (const at::Tensor& part : images.split(batch)) parts.push_back(model_.forward(part.to(type)));
  const at::Tensor logits = at::cat(parts).contiguous();
  const auto values = [&]<class T>(T /*type*/) {
    return std::vector<T>(logits.data_ptr<T>(), logits.data_ptr<T>() + logits.numel());
  };
  if (type == at::kDouble) return {logits.sizes().vec(), values(double())};
  return {logits.sizes().vec(), values(float())};
}

}  // namespace fib::training
