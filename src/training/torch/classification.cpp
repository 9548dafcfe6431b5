// SPDX-License-Identifier: Apache-2.0
#include "training/torch/classification.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>

#include "base/between_layers.h"
#include "base/stopwatch.h"
#include "data/open_dataset.h"
#include "data/transforms/mixup.h"
#include "models/torch/weights.h"
#include "training/recipe/model_options.h"
#include "training/torch/pruning.h"
#include "training/torch/trained_model.h"

namespace fib::training {
namespace {

/// Images, top-1 hits, top-5 hits, sum of losses: sums over batches and processes.
struct Sums {
  at::Tensor values = at::zeros({4}, at::kDouble);

  void add(const at::Tensor& logits, const at::Tensor& labels) {
    const int64_t k = std::min<int64_t>(5, logits.size(1));
    const at::Tensor hits = std::get<1>(logits.topk(k, 1)).eq(labels.unsqueeze(1));  // [B,k]
    double* sums = values.data_ptr<double>();
    sums[0] += static_cast<double>(labels.size(0));
    sums[1] += hits.select(1, 0).sum().item<double>();
    sums[2] += hits.sum().item<double>();
    sums[3] += at::cross_entropy_loss(logits.to(at::kDouble), labels, {}, at::Reduction::Sum).item<double>();
  }

  int64_t images() const { return static_cast<int64_t>(values.data_ptr<double>()[0]); }

  Accuracy result(double seconds) const {
    const double* sums = values.data_ptr<double>();
    return {.images = images(),
            .top1 = sums[1] / sums[0],
            .top5 = sums[2] / sums[0],
            .loss = sums[3] / sums[0],
            .seconds = seconds};
  }
};

void add_batch(Sums& sums, models::Model& model, Batch& batch, const LogitsObserver& seen) {
  if (batch.size() == 0) return;
  const at::Tensor labels = at::from_blob(batch.labels.data(), {static_cast<int64_t>(batch.size())}, at::kLong);
  const at::Tensor logits = scores_of(model, batch);
  sums.add(logits, labels);
  if (seen) seen(batch, logits);
}

at::Tensor targets_of(const Batch& batch, int64_t classes, double smoothing) {
  std::vector<float> targets = mixed_targets(batch.labels, classes, smoothing, batch.mix);
  return at::from_blob(targets.data(), {static_cast<int64_t>(batch.size()), classes}).clone();
}

/// The loader's batches with their mixing done.
class ClassificationStream final : public TaskStream {
 public:
  ClassificationStream(BatchStream stream, int64_t classes, double smoothing)
      : stream_(std::move(stream)), classes_(classes), smoothing_(smoothing) {}

  std::optional<TaskBatch> next() override {
    std::optional<Batch> read = stream_.next();
    if (!read) return std::nullopt;
    const at::Tensor targets = targets_of(*read, classes_, smoothing_);
    std::vector<std::string> skipped = read->skipped;
    return TaskBatch{{mixed_images(*std::move(read)), targets}, std::move(skipped)};
  }

 private:
  BatchStream stream_;
  int64_t classes_;
  double smoothing_;
};

double packed_seconds(attention::Mechanism& mechanism, int64_t batch) {
  const attention::Geometry& g = mechanism.geometry();
  const at::Tensor qkv = torch::randn({batch, g.query_tokens(), 3, g.heads, g.head_dim}, torch::requires_grad());
  const at::Tensor gradient = torch::randn({batch, g.query_tokens(), g.heads * g.value_dim});
  const Stopwatch watch;
  mechanism.forward_packed(qkv).backward(gradient);
  return watch.seconds();
}

double separate_seconds(attention::Mechanism& mechanism, int64_t batch) {
  const attention::Geometry& g = mechanism.geometry();
  attention::Inputs in;
  in.q = torch::randn({batch, g.heads, g.query_tokens(), g.head_dim}, torch::requires_grad());
  in.k = torch::randn({batch, g.heads, g.key_tokens(), g.head_dim}, torch::requires_grad());
  in.v = torch::randn({batch, g.heads, g.key_tokens(), g.value_dim}, torch::requires_grad());
  const at::Tensor gradient = torch::randn({batch, g.query_tokens(), g.heads * g.value_dim});
  const Stopwatch watch;
  mechanism.forward(in).backward(gradient);
  return watch.seconds();
}

double seconds_of(attention::Mechanism& mechanism, int64_t batch) {
  const attention::Geometry& g = mechanism.geometry();
  const bool packed = g.square() && g.head_dim == g.value_dim;
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i)
    best = std::min(best, packed ? packed_seconds(mechanism, batch) : separate_seconds(mechanism, batch));
  return best;
}

PipelineConfig training_config(const Recipe& recipe, PipelineConfig config) {
  static const std::map<std::string, CropMode> kCrops = {{"resized", CropMode::random_resized},
                                                         {"padded", CropMode::padded},
                                                         {"jittered", CropMode::jittered},
                                                         {"none", CropMode::resize}};
  config.views = 1;
  config.clip.random_start = true;
  config.short_sides = {std::llround(recipe.crop_sides.low), std::llround(recipe.crop_sides.high)};
  config.crop = kCrops.at(recipe.crop);
  config.crop_range = {{recipe.crop_scale.low, recipe.crop_scale.high},
                       {recipe.crop_ratio.low, recipe.crop_ratio.high}};
  config.padding = static_cast<int>(recipe.crop_padding);
  config.flip = recipe.flip;
  config.rand_augment = recipe.rand_augment;
  config.color_jitter = recipe.color_jitter;
  config.erasing = recipe.random_erasing;
  return config;
}

LoaderOptions loader_options(const Recipe& recipe, const RankInfo& rank) {
  LoaderOptions options;
  options.sampler.batch = static_cast<size_t>(recipe.batch);
  options.sampler.rank = static_cast<size_t>(rank.rank);
  options.sampler.world = static_cast<size_t>(rank.world);
  options.sampler.seed = static_cast<uint64_t>(recipe.seed);
  options.workers =
      recipe.workers > 0 ? static_cast<int>(recipe.workers) : std::max(1, default_workers() / rank.local_world);
  options.prefetch = static_cast<int>(recipe.prefetch);
  options.skip_bad = recipe.skip_bad;
  return options;
}

std::unique_ptr<Loader> training_loader(const DatasetPtr& data, const Recipe& recipe, const PipelineConfig& view,
                                        const RankInfo& rank) {
  LoaderOptions options = loader_options(recipe, rank);
  options.sampler.repeats = static_cast<size_t>(recipe.repeated_augmentation);
  options.mix = {.mixup_alpha = recipe.mixup,
                 .cutmix_alpha = recipe.cutmix,
                 .probability = recipe.mix_probability,
                 .switch_probability = recipe.mix_switch};
  return std::make_unique<Loader>(data, Pipeline(training_config(recipe, view)), options);
}

std::unique_ptr<Loader> loader_in_order(const DatasetPtr& data, const Recipe& recipe, const PipelineConfig& view,
                                        const RankInfo& rank) {
  LoaderOptions options = loader_options(recipe, rank);
  if (recipe.eval_batch > 0) options.sampler.batch = static_cast<size_t>(recipe.eval_batch * rank.world);
  options.sampler.shuffle = false;
  options.sampler.drop_last = false;
  const bool all = recipe.eval_images == 0;
  return std::make_unique<Loader>(all ? data : evenly_chosen(data, static_cast<size_t>(recipe.eval_images)),
                                  Pipeline(view), options);
}

/// As the dataset's own mean and deviation, and the recipe, say.
PipelineConfig recipe_view(const Recipe& recipe, const DatasetInfo& data, const models::Dimensions& dims) {
  PipelineConfig config = evaluation_config(data, static_cast<int>(dims.height), recipe.eval_crop);
  config.clip = clip_sampling(dims, data, recipe.sampling_rate);
  config.views = static_cast<int>(recipe.eval_crops);
  return config;
}

models::ModelPtr make_model(const Recipe& recipe, const DatasetInfo& data) {
  torch::manual_seed(static_cast<uint64_t>(recipe.seed));
  const models::Options options = model_options(recipe, {data.classes, data.channels});
  if (recipe.weights.empty()) return models::make(recipe.model, options);
  return models::make_with_weights(recipe.model, recipe.weights, options, {.new_classifier = true});
}

}  // namespace

at::Tensor images_of(Batch& batch) {
  std::vector<int64_t> shape = {static_cast<int64_t>(batch.size()) * batch.views, batch.channels, batch.height,
                                batch.width};
  if (batch.frames > 0) shape.insert(shape.begin() + 2, batch.frames);
  return at::from_blob(batch.images.data(), shape);
}

at::Tensor scores_of(models::Model& model, Batch& batch) {
  const at::Tensor logits = model.forward(images_of(batch));  // [B·views,classes]
  return batch.views == 1 ? logits : logits.view({-1, batch.views, logits.size(1)}).mean(1);
}

ClipSampling clip_sampling(const models::Dimensions& dims, const DatasetInfo& data, int64_t rate) {
  if (dims.takes_clips() != data.clips)
    throw std::invalid_argument(fmt::format("{} takes {}, {} has {}", dims.row.name,
                                            dims.takes_clips() ? "clips" : "images", data.name,
                                            data.clips ? "clips" : "images"));
  if (!dims.takes_clips()) return {};
  return {.frames = static_cast<int>(dims.frames()), .rate = static_cast<int>(rate)};
}

at::Tensor soft_cross_entropy(const at::Tensor& logits, const at::Tensor& targets) {
  return -(targets * at::log_softmax(logits, 1)).sum() / static_cast<double>(logits.size(0));
}

at::Tensor mixed_images(Batch given) {
  const auto batch = std::make_shared<Batch>(std::move(given));
  if (batch->mix.kind != Mix::Kind::none)
    mix_images(batch->images, batch->size(), {batch->width, batch->height}, batch->mix);
  const at::Tensor view = images_of(*batch);
  return at::from_blob(
      view.data_ptr(), view.sizes(), [batch](void*) {}, at::kFloat);
}

Accuracy measure_accuracy(models::Model& model, const Loader& loader, ProcessGroup& group, const EvaluationHooks& hooks,
                          const LogitsObserver& seen) {
  const Stopwatch watch;
  const EvalMode eval_mode(model);
  const auto total = static_cast<int64_t>(loader.dataset().size());
  Sums sums;
  const BetweenLayers heard([&] { hooks.between_layers(group); });
  BatchStream stream = loader.epoch(0);
  while (std::optional<Batch> batch = stream.next()) {
    add_batch(sums, model, *batch, seen);
    hooks.batch_done(group, sums.images(), total);
  }
  group.sum(sums.values);
  return sums.result(watch.seconds());
}

AttentionFacts attention_facts(models::Model& model, int64_t samples) {
  const std::vector<attention::MechanismPtr> mechanisms = model.attentions();
  const std::vector<models::AttentionLayer> layers = models::attention_layers(model.dimensions());
  const auto asked = std::ranges::find_if(layers, &models::AttentionLayer::replaced);
  const attention::Cost cost = mechanisms[static_cast<size_t>(asked - layers.begin()) % layers.size()]->cost();
  AttentionFacts facts{.pruning_ratio = cost.pruning_ratio, .pruning_ratio_with_cls = cost.pruning_ratio_with_cls};
  for (size_t i = 0; i < layers.size(); ++i) facts.seconds += seconds_of(*mechanisms[i], samples * layers[i].samples);
  return facts;
}

std::vector<int64_t> stages_of(const models::Model& model) {
  const models::ModelRow& row = model.dimensions().row;
  if (row.stages.empty()) return {row.depth};
  std::vector<int64_t> depths;
  for (const models::Stage& stage : row.stages) depths.push_back(stage.depth);
  return depths;
}

ClassificationTask::ClassificationTask(const Recipe& recipe, models::ModelPtr model, ClassificationData data)
    : recipe_(recipe), model_(std::move(model)), data_(std::move(data)) {}

TaskFacts ClassificationTask::facts() const {
  const auto size = [](const std::unique_ptr<Loader>& loader) {
    return loader ? static_cast<int64_t>(loader->dataset().size()) : 0;
  };
  std::vector<std::string> notices;
  for (const auto* loader : {&data_.train, &data_.test})
    if (*loader) std::ranges::copy((*loader)->dataset().info().notices, std::back_inserter(notices));
  return {.samples = model_->dimensions().takes_clips() ? "clips" : "images",
          .train = size(data_.train),
          .validation = size(data_.validation),
          .test = size(data_.test),
          .score = {.name = "top1", .higher_is_better = true},
          .notices = std::move(notices)};
}

std::unique_ptr<TaskStream> ClassificationTask::epoch(int64_t epoch, int64_t first_step) {
  return std::make_unique<ClassificationStream>(
      data_.train->epoch(static_cast<uint64_t>(epoch), static_cast<size_t>(first_step)),
      model_->dimensions().row.classes, recipe_.smoothing);
}

at::Tensor ClassificationTask::loss(const TaskBatch& batch) {
  return soft_cross_entropy(model_->forward(batch.tensors[0]), batch.tensors[1]);
}

Evaluation ClassificationTask::evaluate(Split split, ProcessGroup& group, const EvaluationHooks& hooks) {
  const Accuracy a = measure_accuracy(*model_, data_of(split), group, hooks);
  return {.samples = a.images, .figures = {{"top1", a.top1}, {"top5", a.top5}, {"loss", a.loss}}, .seconds = a.seconds};
}

TensorMetadata ClassificationTask::metadata() const {
  TensorMetadata said =
      models::to_metadata(data_.test ? model_card(recipe_, *model_, *data_.test) : recipe_card(recipe_));
  said["data"] = recipe_.data;
  return said;
}

models::ModelCard model_card(const Recipe& recipe, const models::Model& model, const Loader& test) {
  models::ModelCard card = recipe_card(recipe);
  const models::Dimensions& dims = model.dimensions();
  card.resolution = dims.height;
  card.patch = dims.row.patch;
  if (dims.takes_clips()) card.frames = dims.frames();
  const PipelineConfig& view = test.pipeline().config();
  card.channels = view.channels;
  card.mean = view.mean;
  card.std = view.std;
  card.crop_ratio = view.crop_ratio;
  card.class_names = test.dataset().info().class_names;
  return card;
}

std::unique_ptr<Loader> evaluation_loader(const DatasetPtr& data, const Recipe& recipe, const models::Dimensions& dims,
                                          const RankInfo& rank) {
  return loader_in_order(data, recipe, recipe_view(recipe, data->info(), dims), rank);
}

DataSplits open_splits(const Recipe& recipe) {
  return open_data_splits(recipe.data, {.validation_fraction = recipe.validation_fraction,
                                        .train_fraction = recipe.train_fraction,
                                        .limit_per_class = recipe.limit_per_class,
                                        .seed = static_cast<uint64_t>(recipe.split_seed)});
}

ClassificationData open_classification_data(const Recipe& recipe, const DataSplits& splits, const PipelineConfig& view,
                                            const RankInfo& rank) {
  ClassificationData data{.train = training_loader(splits.train, recipe, view, rank)};
  if (splits.validation) data.validation = loader_in_order(splits.validation, recipe, view, rank);
  data.test = loader_in_order(splits.test, recipe, view, rank);
  return data;
}

Experiment prepare_classification(const Recipe& recipe, const RankInfo& rank) {
  const DataSplits data = open_splits(recipe);
  const models::ModelPtr model = make_model(recipe, data.train->info());
  Experiment experiment{.recipe = recipe};
  if (recipe.prune_ratio > 0) experiment.hook = std::make_shared<PruningSearch>(model, recipe);
  const PipelineConfig view = recipe_view(recipe, data.train->info(), model->dimensions());
  experiment.task =
      std::make_unique<ClassificationTask>(recipe, model, open_classification_data(recipe, data, view, rank));
  return experiment;
}

}  // namespace fib::training
