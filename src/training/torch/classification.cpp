// SPDX-License-Identifier: Apache-2.0
#include "training/torch/classification.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>

#include "attention/registry.h"
#include "base/measure.h"
#include "base/text.h"
#include "data/open_dataset.h"
#include "data/transforms/mixup.h"
#include "models/torch/weights.h"
#include "training/recipe/model_options.h"
#include "training/torch/pruning.h"
#include "training/torch/trained_model.h"

namespace fib::training {
namespace {

/// While it lives the model's layers throw Cancelled once that is asked for.
class CancelBetweenLayers {
 public:
  CancelBetweenLayers(const models::Model& model, const CancelToken& cancel) : mechanisms_(model.attentions()) {
    for (const auto& mechanism : mechanisms_) mechanism->set_cancel(cancel);
  }
  ~CancelBetweenLayers() {
    for (const auto& mechanism : mechanisms_) mechanism->set_cancel({});
  }
  CancelBetweenLayers(const CancelBetweenLayers&) = delete;
  CancelBetweenLayers& operator=(const CancelBetweenLayers&) = delete;

 private:
  std::vector<attention::MechanismPtr> mechanisms_;
};

/// How labels become targets [B,classes].
struct Targets {
  int64_t classes = 0;
  double smoothing = 0;
  at::Tensor class_weights = {};  ///< [classes]; undefined: all 1

  at::Tensor of(const Batch& batch) const {
    std::vector<float> targets = mixed_targets(batch.labels, classes, smoothing, batch.mix);
    const at::Tensor plain = at::from_blob(targets.data(), {static_cast<int64_t>(batch.size()), classes});
    return class_weights.defined() ? plain * class_weights : plain.clone();
  }
};

/// The loader's batches with their mixing done.
class ClassificationStream final : public TaskStream {
 public:
  ClassificationStream(BatchStream stream, Targets targets)
      : stream_(std::move(stream)), targets_(std::move(targets)) {}

  std::optional<TaskBatch> next() override {
    std::optional<Batch> read = stream_.next();
    if (!read) return std::nullopt;
    const at::Tensor targets = targets_.of(*read);
    std::vector<std::string> skipped = read->skipped;
    return TaskBatch{{mixed_images(*std::move(read)), targets}, std::move(skipped)};
  }

 private:
  BatchStream stream_;
  Targets targets_;
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
  config.short_sides = {std::llround(recipe.augment.crop_sides.low), std::llround(recipe.augment.crop_sides.high)};
  config.crop = kCrops.at(recipe.augment.crop);
  config.crop_range = {{recipe.augment.crop_scale.low, recipe.augment.crop_scale.high},
                       {recipe.augment.crop_ratio.low, recipe.augment.crop_ratio.high}};
  config.padding = static_cast<int>(recipe.augment.crop_padding);
  config.flip = recipe.augment.flip;
  config.rand_augment = recipe.augment.rand_augment;
  config.color_jitter = recipe.augment.color_jitter;
  config.erasing = recipe.augment.random_erasing;
  return config;
}

LoaderOptions loader_options(const Recipe& recipe, const RankInfo& rank) {
  LoaderOptions options;
  options.sampler.batch = static_cast<size_t>(recipe.optimizer.batch);
  options.sampler.rank = static_cast<size_t>(rank.rank);
  options.sampler.world = static_cast<size_t>(rank.world);
  options.sampler.seed = static_cast<uint64_t>(recipe.run.seed);
  options.workers = recipe.data.workers > 0 ? static_cast<int>(recipe.data.workers)
                                            : std::max(1, default_workers() / rank.local_world);
  options.prefetch = static_cast<int>(recipe.data.prefetch);
  options.skip_bad = recipe.data.skip_bad;
  return options;
}

std::unique_ptr<Loader> training_loader(const DatasetPtr& data, const Recipe& recipe, const PipelineConfig& view,
                                        const RankInfo& rank) {
  LoaderOptions options = loader_options(recipe, rank);
  options.sampler.repeats = static_cast<size_t>(recipe.augment.repeated_augmentation);
  options.mix = {.mixup_alpha = recipe.augment.mixup,
                 .cutmix_alpha = recipe.augment.cutmix,
                 .probability = recipe.augment.mixup_prob,
                 .switch_probability = recipe.augment.mixup_switch_prob};
  return std::make_unique<Loader>(data, Pipeline(training_config(recipe, view)), options);
}

std::unique_ptr<Loader> loader_in_order(const DatasetPtr& data, const Recipe& recipe, const PipelineConfig& view,
                                        const RankInfo& rank) {
  LoaderOptions options = loader_options(recipe, rank);
  if (recipe.run.eval_batch > 0) options.sampler.batch = static_cast<size_t>(recipe.run.eval_batch * rank.world);
  options.sampler.shuffle = false;
  options.sampler.drop_last = false;
  const bool all = recipe.run.eval_images == 0;
  return std::make_unique<Loader>(all ? data : evenly_chosen(data, static_cast<size_t>(recipe.run.eval_images)),
                                  Pipeline(view), options);
}

/// How an image becomes the input of the recipe's model, and who says so.
struct View {
  PipelineConfig config;
  std::string source = "the dataset";

  void take(const models::ModelCard& card, const char* teller) {
    const auto channels = static_cast<size_t>(config.channels);
    if (card.mean.size() != channels || card.std.size() != channels) return;
    config.mean = card.mean, config.std = card.std, source = teller;
  }
};

/// Weights of images are normalized as they say, or as open_model (trained_model.h) decides where they do not.
void follow_weights(View& view, const Recipe& recipe, const DatasetInfo& data) {
  if (recipe.model.weights.empty() || data.clips) return;
  const models::ModelCard told =
      models::read_card(SafetensorsFile(recipe.model.weights).metadata(), recipe.model.weights);
  if (!told.mean.empty()) return view.take(told, "the weights");
  if (data.image_size > 0) return;
  view.take(models::published_card(models::find_row(recipe.model.name), data.channels),
            "the model's published weights");
}

View recipe_view(const Recipe& recipe, const DatasetInfo& data, const models::Dimensions& dims) {
  View view{evaluation_config(data, static_cast<int>(dims.height), recipe.augment.eval_crop)};
  view.config.clip = clip_sampling(dims, data, recipe.data.sampling_rate);
  view.config.views = static_cast<int>(recipe.augment.eval_crops);
  follow_weights(view, recipe, data);
  return view;
}

models::ModelPtr make_model(const Recipe& recipe, const DatasetInfo& data, models::LoadReport& report) {
  torch::manual_seed(static_cast<uint64_t>(recipe.run.seed));
  const models::Options options = model_options(recipe, {data.classes, data.channels});
  if (recipe.model.weights.empty()) return models::make(recipe.model.name, options);
  return models::make_with_weights(recipe.model.name, recipe.model.weights, options,
                                   {.new_classifier = true, .report = &report});
}

std::string classifier_text(const models::LoadReport& report, int64_t classes) {
  if (!report.new_classifier) return fmt::format("classifier: {} classes, from the weights", classes);
  return report.stored_classes > 0 ? fmt::format("classifier: {} → {} classes, new", report.stored_classes, classes)
                                   : fmt::format("classifier: {} classes, new", classes);
}

bool is_dense(const std::string& attention) {
  return attention::find_mechanism(AttentionSpec::parse(attention).name).dense;
}

/// What attention the weights had before, and how to get another.
std::string attention_text(const Recipe& recipe) {
  const models::ModelCard card =
      models::read_card(SafetensorsFile(recipe.model.weights).metadata(), recipe.model.weights);
  const std::string before = card.attention.empty() ? "full" : card.attention;
  const std::string& now = recipe.model.attention;
  if (before == now && is_dense(now))
    return fmt::format("attention: {}, as in the weights; --attention fibottention makes it sparse", now);
  if (before == now) return fmt::format("attention: {}, as in the weights", now);
  if (is_dense(before) && !is_dense(now))
    return fmt::format(
        "attention: {}, but the weights are dense, so accuracy falls at first: --attention full keeps them dense, fib "
        "adapt replaces their attention step by step",
        now);
  return fmt::format("attention: {}, the weights had {}", now, before);
}

/// What a run that begins with weights takes from them; nothing of one that does not.
std::vector<std::string> beginning(const Recipe& recipe, const models::Model& model, const models::LoadReport& report,
                                   const View& view) {
  if (recipe.model.weights.empty()) return {};
  const prediction::ModelInfo info{.view = view.config, .view_source = view.source};
  return {
      fmt::format("weights {}: {} of {} tensors taken", in_quotes(recipe.model.weights), report.taken, report.tensors),
      classifier_text(report, model.dimensions().row.classes), attention_text(recipe), "input: " + info.input_text()};
}

/// As the option says; the line about it, if it does.
std::vector<std::string> freeze_as_asked(const Recipe& recipe, models::Model& model) {
  const auto blocks = frozen_blocks(recipe.model.freeze);
  if (!blocks) return {};
  const int64_t kept = freeze(model, *blocks, stages_of(model), model.dimensions().row.kind->classifier);
  int64_t all = 0;
  for (const at::Tensor& parameter : model.parameters()) all += parameter.numel();
  const std::string what = *blocks == kAllFrozen ? "all but the classifier"
                           : *blocks == 1        ? "embeddings and the first block"
                                                 : fmt::format("embeddings and the first {} blocks", *blocks);
  return {fmt::format("frozen: {}, {:.1f} % of the parameters", what,
                      100 * static_cast<double>(kept) / static_cast<double>(all))};
}

}  // namespace

std::vector<float> balanced_weights(const std::vector<int64_t>& labels, int64_t classes) {
  std::vector<int64_t> counts(static_cast<size_t>(classes));
  for (const int64_t label : labels) ++counts[static_cast<size_t>(label)];
  std::vector<float> weights(counts.size());
  const auto present = static_cast<double>(std::ranges::count_if(counts, [](int64_t count) { return count > 0; }));
  for (size_t c = 0; c < counts.size(); ++c)
    if (counts[c] > 0)
      weights[c] = static_cast<float>(static_cast<double>(labels.size()) / (present * static_cast<double>(counts[c])));
  return weights;
}

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
  prediction::check_takes(dims.row.name, dims.takes_clips(), data);
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
                          const prediction::LogitsSeen& seen) {
  const EvalMode eval_mode(model);
  // Within a batch, which may take long, one process can stop alone; several have to agree after it.
  const CancelBetweenLayers cancellable(model, group.world() == 1 ? hooks.cancel : CancelToken());
  TorchPredictor predictor(model, loader.pipeline().config());
  const auto total = static_cast<int64_t>(loader.dataset().size());
  return prediction::measure_accuracy(
      predictor, loader,
      {.done = [&](int64_t images) { hooks.batch_done(group, images, total); },
       .seen = seen,
       .sum_over_processes =
           [&](std::span<double> sums) {
             group.sum(at::from_blob(sums.data(), {static_cast<int64_t>(sums.size())}, at::kDouble));
           }});
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
  std::vector<std::string> notices = data_.beginning;
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
  const int64_t classes = model_->dimensions().row.classes;
  Targets targets{.classes = classes, .smoothing = recipe_.optimizer.label_smoothing};
  if (recipe_.optimizer.class_weights == "balanced")
    targets.class_weights = at::tensor(balanced_weights(data_.train->dataset().labels(), classes));
  return std::make_unique<ClassificationStream>(
      data_.train->epoch(static_cast<uint64_t>(epoch), static_cast<size_t>(first_step)), std::move(targets));
}

at::Tensor ClassificationTask::loss(const TaskBatch& batch) {
  return soft_cross_entropy(model_->forward(batch.tensors[0]), batch.tensors[1]);
}

Evaluation ClassificationTask::evaluate(Split split, ProcessGroup& group, const EvaluationHooks& hooks) {
  const Accuracy a = measure_accuracy(*model_, data_of(split), group, hooks);
  return {.samples = a.images, .metrics = {{"top1", a.top1}, {"top5", a.top5}, {"loss", a.loss}}, .seconds = a.seconds};
}

TensorMetadata ClassificationTask::metadata() const {
  TensorMetadata said =
      models::to_metadata(data_.test ? model_card(recipe_, *model_, *data_.test) : recipe_card(recipe_));
  said["data"] = recipe_.data.source;
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
  return loader_in_order(data, recipe, recipe_view(recipe, data->info(), dims).config, rank);
}

DataSplits open_splits(const Recipe& recipe) {
  return open_data_splits(recipe.data.source, {.validation_fraction = recipe.data.validation_fraction,
                                               .train_fraction = recipe.data.train_fraction,
                                               .limit_per_class = recipe.data.limit_per_class,
                                               .seed = static_cast<uint64_t>(recipe.data.split_seed)});
}

ClassificationData open_classification_data(const Recipe& recipe, const DataSplits& splits, const PipelineConfig& view,
                                            const RankInfo& rank) {
  ClassificationData data{.train = training_loader(splits.train, recipe, view, rank)};
  if (splits.validation) data.validation = loader_in_order(splits.validation, recipe, view, rank);
  data.test = loader_in_order(splits.test, recipe, view, rank);
  return data;
}

Experiment prepare_classification(const Recipe& recipe, const RankInfo& rank) {
  const DataSplits splits = open_splits(recipe);
  models::LoadReport report;
  const models::ModelPtr model = make_model(recipe, splits.train->info(), report);
  const View view = recipe_view(recipe, splits.train->info(), model->dimensions());
  ClassificationData data = open_classification_data(recipe, splits, view.config, rank);
  data.beginning = beginning(recipe, *model, report, view);
  std::ranges::copy(freeze_as_asked(recipe, *model), std::back_inserter(data.beginning));
  Experiment experiment{.recipe = recipe};
  if (recipe.prune.ratio > 0) experiment.hook = std::make_shared<PruningSearch>(model, recipe.prune);
  experiment.task = std::make_unique<ClassificationTask>(recipe, model, std::move(data));
  return experiment;
}

}  // namespace fib::training
