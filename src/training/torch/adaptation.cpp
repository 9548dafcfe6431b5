// SPDX-License-Identifier: Apache-2.0
#include "training/torch/adaptation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/atomic_file.h"
#include "models/torch/layers.h"
#include "models/torch/weights.h"
#include "ops/support.h"
#include "training/recipe/model_options.h"
#include "training/run/summary.h"
#include "training/torch/trained_model.h"

namespace fib::training {
namespace {

/// The weight of a pair that is left out shrinks as (1 - fade)^4. A straight line would leave most of it to the last
/// steps: at half of its weight, 98 % of the pairs still outweigh the other 2 %.
constexpr double kFadePower = 4;

/// The loader's images, and how far the pairs have faded in their step.
class AdaptationStream final : public TaskStream {
 public:
  AdaptationStream(BatchStream stream, int64_t first_step, int64_t steps, double share)
      : stream_(std::move(stream)), step_(first_step), steps_(steps), share_(share) {}

  std::optional<TaskBatch> next() override {
    std::optional<Batch> read = stream_.next();
    if (!read) return std::nullopt;
    std::vector<std::string> skipped = read->skipped;
    const at::Tensor fade =
        at::full({static_cast<int64_t>(read->size())}, fade_of(step_++, steps_, share_), at::kDouble);
    return TaskBatch{{mixed_images(*std::move(read)), fade}, std::move(skipped)};
  }

 private:
  BatchStream stream_;
  int64_t step_, steps_;
  double share_;
};

std::vector<std::shared_ptr<models::Block>> blocks_of(const models::Model& model) {
  std::vector<std::shared_ptr<models::Block>> blocks;
  for (const auto& part : model.modules(/*include_self=*/false))
    if (auto block = std::dynamic_pointer_cast<models::Block>(part)) blocks.push_back(std::move(block));
  return blocks;
}

/// Keeps the outputs of all blocks while it lives.
class BlockWatch {
 public:
  explicit BlockWatch(const models::Model& model) : blocks_(blocks_of(model)) {
    outputs.resize(blocks_.size());
    for (size_t i = 0; i < blocks_.size(); ++i) blocks_[i]->show_output_to(&outputs[i]);
  }
  ~BlockWatch() {
    for (const auto& block : blocks_) block->show_output_to(nullptr);
  }
  BlockWatch(const BlockWatch&) = delete;
  BlockWatch& operator=(const BlockWatch&) = delete;

  std::vector<at::Tensor> outputs;

 private:
  std::vector<std::shared_ptr<models::Block>> blocks_;
};

/// A token as the norm before the next branch sees it, but for the norm's own parameters: how long tokens are differs
/// by orders of magnitude and says little.
at::Tensor normed(const at::Tensor& tokens) { return at::layer_norm(tokens, {tokens.size(-1)}); }

/// While it lives the pairs have faded so far.
class FadeInPlace {
 public:
  FadeInPlace(const std::vector<std::unique_ptr<FadingAttention>>& layers, double fade) : layers_(layers) {
    for (const auto& layer : layers_) layer->begin(fade);
  }
  ~FadeInPlace() {
    for (const auto& layer : layers_) layer->end();
  }
  FadeInPlace(const FadeInPlace&) = delete;
  FadeInPlace& operator=(const FadeInPlace&) = delete;

 private:
  const std::vector<std::unique_ptr<FadingAttention>>& layers_;
};

std::vector<Figure> figures_of(const Accuracy& a, double agreement) {
  return {{"agreement", agreement}, {"top1", a.top1}, {"top5", a.top5}, {"loss", a.loss}};
}

void require_fading(const AttentionSpec& spec) {
  const attention::MechanismInfo& info = attention::find_mechanism(spec.name);
  const auto refuse = [&](const std::string& reason) {
    throw std::invalid_argument(
        fmt::format("attention {}: {}; adapting takes one that leaves pairs out by their "
                    "positions, such as fibottention",
                    spec.to_string(), reason));
  };
  if (info.dense) refuse("it leaves no pair out");
  if (!info.support_set) refuse(info.summary);
  if (attention::masking_of(spec) == Masking::zero) refuse("with masking=zero no pair loses its weight");
}

/// The dense model, and how its weights see images.
TrainedModel open_teacher(const Recipe& recipe) {
  if (recipe.model.weights.empty())
    throw std::invalid_argument("adapting begins with the weights of a dense model: give --weights F.safetensors");
  ModelRequest request;
  request.weights = recipe.model.weights;
  request.model = recipe.model.name;
  request.crop = recipe.model.resolution;
  request.data = recipe.data.source;
  TrainedModel teacher = open_model(request);
  if (!attention::find_mechanism(AttentionSpec::parse(teacher.attention).name).dense)
    throw std::invalid_argument(fmt::format("the weights in '{}' were trained with {}: adapting begins with dense ones",
                                            recipe.model.weights, teacher.attention));
  return teacher;
}

models::ModelPtr make_student(const Recipe& recipe, const models::Model& teacher) {
  const models::Dimensions& dims = teacher.dimensions();
  models::Options options = dims.options;
  options.resolution = dims.height;
  options.width = dims.width;
  options.classes = dims.row.classes;
  options.attention = AttentionSpec::parse(recipe.model.attention);
  options.attention_layers = models::parse_layers(recipe.model.attention_layers);
  options.dropout = recipe.model.dropout;
  options.attention_dropout = recipe.model.attention_dropout;
  options.drop_path = recipe.model.drop_path;
  return models::make_with_weights(recipe.model.name, recipe.model.weights, options);
}

/// Layers that are sparse, and what is left out over all of them.
void count_pairs(AdaptationResult& result, const models::Dimensions& dims) {
  for (const models::AttentionLayer& layer : models::attention_layers(dims)) {
    ++result.layers;
    if (!layer.replaced) continue;
    ++result.sparse_layers;
    result.pruned_share += attention::cost(layer.attention, layer.geometry).pruning_ratio;
  }
  result.pruned_share /= static_cast<double>(result.layers);
}

}  // namespace

double fade_of(int64_t step, int64_t steps, double share) {
  const double fading = share * static_cast<double>(steps);
  return fading < 1 ? 1.0 : std::min(1.0, static_cast<double>(step + 1) / std::floor(fading));
}

FadingAttention::FadingAttention(attention::MechanismPtr sparse, double dropout)
    : sparse_(std::move(sparse)),
      dense_(attention::make({"full", {}}, sparse_->geometry(), dropout)),
      outside_(ops::support_mask(attention::layer_support(sparse_->spec(), sparse_->geometry()))
                   .logical_not()
                   .unsqueeze(0)) {}

void FadingAttention::begin(double fade) {
  sparse_->set_stand_in(fade < 1 ? this : nullptr);
  dense_->train(sparse_->is_training());
  bias_ = fade > 0 ? at::zeros(outside_.sizes()).masked_fill(outside_, kFadePower * std::log1p(-fade)) : at::Tensor();
}

at::Tensor FadingAttention::with_fading(const at::Tensor& bias) const {
  return bias.defined() && bias_.defined() ? bias + bias_ : bias.defined() ? bias : bias_;
}

at::Tensor FadingAttention::forward(const attention::Mechanism&, const attention::Inputs& in) {
  return dense_->forward({in.q, in.k, in.v, with_fading(in.bias)});
}

at::Tensor FadingAttention::forward_packed(const attention::Mechanism&, const at::Tensor& qkv, const at::Tensor& bias) {
  return dense_->forward_packed(qkv, with_fading(bias));
}

Answer answer_of(models::Model& model, const at::Tensor& images) {
  const BlockWatch watch(model);
  const at::Tensor logits = model.forward(images);
  return {logits, watch.outputs};
}

at::Tensor distance(const Answer& student, const Answer& teacher, const AnswerWeights& weights) {
  const double t = weights.temperature;
  const at::Tensor wanted = at::log_softmax(teacher.logits / t, 1), got = at::log_softmax(student.logits / t, 1);
  at::Tensor sum = (wanted.exp() * (wanted - got)).sum() * (t * t / static_cast<double>(got.size(0)));
  const double each = weights.features / static_cast<double>(std::max<size_t>(1, student.blocks.size()));
  for (size_t i = 0; i < student.blocks.size() && each > 0; ++i)
    sum = sum + each * at::mse_loss(normed(student.blocks[i]), normed(teacher.blocks[i]));
  return sum;
}

AdaptationTask::AdaptationTask(const Recipe& recipe, models::ModelPtr student, Teacher teacher, ClassificationData data)
    : ClassificationTask(recipe, std::move(student), std::move(data)), teacher_(std::move(teacher)) {
  if (recipe.adapt.features > 0 && blocks_of(*model()).empty())
    throw std::invalid_argument(fmt::format("the blocks of {} cannot be compared: adapt_features must be 0, got {}",
                                            recipe.model.name, recipe.adapt.features));
  for (const attention::MechanismPtr& mechanism : model()->attentions())
    if (mechanism->info().support_set)
      fading_.push_back(std::make_unique<FadingAttention>(mechanism, recipe.model.attention_dropout));
}

TaskFacts AdaptationTask::facts() const {
  TaskFacts facts = ClassificationTask::facts();
  facts.score = {.name = "agreement", .higher_is_better = true};  // needs no labels
  return facts;
}

std::unique_ptr<TaskStream> AdaptationTask::epoch(int64_t epoch, int64_t first_step) {
  return std::make_unique<AdaptationStream>(
      training_data().epoch(static_cast<uint64_t>(epoch), static_cast<size_t>(first_step)),
      epoch * steps_per_epoch() + first_step, recipe().schedule.epochs * steps_per_epoch(),
      recipe().adapt.fade_fraction);
}

at::Tensor AdaptationTask::loss(const TaskBatch& batch) {
  const at::Tensor& images = batch.tensors[0];
  Answer wanted;
  {
    const at::NoGradGuard no_grad;
    wanted = answer_of(*teacher_.model, images);
  }
  const FadeInPlace fade(fading_, batch.tensors[1][0].item<double>());
  return distance(answer_of(*model(), images), wanted, {recipe().adapt.temperature, recipe().adapt.features});
}

Evaluation AdaptationTask::evaluate(Split split, ProcessGroup& group, const EvaluationHooks& hooks) {
  const at::Tensor agreed = at::zeros({1}, at::kDouble);
  const Accuracy a =
      measure_accuracy(*model(), data_of(split), group, hooks, [&](Batch& batch, std::span<const float> logits) {
        const at::Tensor wanted = scores_of(*teacher_.model, batch);
        const at::Tensor given = at::from_blob(const_cast<float*>(logits.data()), wanted.sizes());
        agreed.add_(wanted.argmax(1).eq(given.argmax(1)).sum());
      });
  group.sum(agreed);
  return {.samples = a.images,
          .figures = figures_of(a, agreed.item<double>() / static_cast<double>(a.images)),
          .seconds = a.seconds};
}

Evaluation AdaptationTask::evaluate_teacher(ProcessGroup& group) {
  const Accuracy a = measure_accuracy(*teacher_.model, data_of(Split::test), group);
  return {.samples = a.images, .figures = figures_of(a, 1), .seconds = a.seconds};
}

/// Preprocessing and classes are the teacher's: the images that it was shown here tell nothing of either.
TensorMetadata AdaptationTask::metadata() const {
  models::ModelCard card = model_card(recipe(), *model(), data_of(Split::test));
  const PipelineConfig& view = data_of(Split::test).pipeline().config();
  card.pool = model()->dimensions().options.pool == models::Pool::mean ? "mean" : "token";
  card.crops = view.views > 1 || view.clip.frames > 0 ? view.views : 0;
  if (view.clip.frames > 0) card.sampling_rate = view.clip.rate;
  card.class_names = teacher_.class_names;
  TensorMetadata said = models::to_metadata(card);
  said["data"] = recipe().data.source;
  return said;
}

Experiment prepare_adaptation(const Recipe& recipe, const RankInfo& rank) {
  require_fading(AttentionSpec::parse(recipe.model.attention));
  const TrainedModel teacher = open_teacher(recipe);
  const models::ModelPtr student = make_student(recipe, *teacher.module);
  const DataSplits splits = open_splits(recipe);
  for (const DatasetPtr& judged_by : {splits.validation, splits.test})
    if (judged_by) prediction::check_labels(*judged_by, student->dimensions().row.classes);
  Experiment experiment{.recipe = recipe};
  experiment.task =
      std::make_unique<AdaptationTask>(recipe, student, AdaptationTask::Teacher{teacher.module, teacher.class_names},
                                       open_classification_data(recipe, splits, teacher.view, rank));
  return experiment;
}

AdaptationResult finish_adaptation(const Recipe& recipe, const RunFiles& files) {
  const Experiment begun = prepare_adaptation(recipe, {});
  auto& task = dynamic_cast<AdaptationTask&>(*begun.task);
  ProcessGroup alone;
  AdaptationResult result{.stages = {{"dense", task.evaluate_teacher(alone)},
                                     {"before", task.evaluate(Split::test, alone, {})},
                                     {"after", read_summary(files).test.evaluation}}};
  count_pairs(result, task.model()->dimensions());
  write_file_atomically(files.root / "adaptation.json", to_json(result, recipe).dump(2) + "\n");
  return result;
}

nlohmann::ordered_json to_json(const AdaptationResult& result, const Recipe& recipe) {
  nlohmann::ordered_json json = {{"model", recipe.model.name},
                                 {"attention", recipe.model.attention},
                                 {"attention_layers", recipe.model.attention_layers},
                                 {"data", recipe.data.source},
                                 {"sparse_layers", result.sparse_layers},
                                 {"layers", result.layers},
                                 {"pruned_share", result.pruned_share},
                                 {"images", result.stages.front().evaluation.samples}};
  for (const AdaptationResult::Stage& stage : result.stages)
    for (const Figure& figure : stage.evaluation.figures) json[stage.name][figure.name] = figure.value;
  return json;
}

}  // namespace fib::training
