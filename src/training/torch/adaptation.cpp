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
#include "training/torch/adaptation_layers.h"
#include "training/torch/trained_model.h"

namespace fib::training {
namespace {

/// The weight of a pair that is left out shrinks as (1 - fade)^4. A straight line would leave most of it to the last
/// steps: at half of its weight, 98 % of the pairs still outweigh the other 2 %.
constexpr double kFadePower = 4;

/// Stands where a batch says how far the pairs have faded: each attention follows the dense one by itself.
constexpr double kBranches = -1;

/// The loader's images, and how far the pairs have faded in their step.
class AdaptationStream final : public TaskStream {
 public:
  AdaptationStream(BatchStream stream, int64_t first_step, std::function<double(int64_t)> fade)
      : stream_(std::move(stream)), step_(first_step), fade_(std::move(fade)) {}

  std::optional<TaskBatch> next() override {
    std::optional<Batch> read = stream_.next();
    if (!read) return std::nullopt;
    std::vector<std::string> skipped = read->skipped;
    const at::Tensor fade = at::full({static_cast<int64_t>(read->size())}, fade_(step_++), at::kDouble);
    return TaskBatch{{mixed_images(*std::move(read)), fade}, std::move(skipped)};
  }

 private:
  BatchStream stream_;
  int64_t step_;
  std::function<double(int64_t)> fade_;
};

/// A token as the norm before the next branch sees it, but for the norm's own parameters: how long tokens are differs
/// by orders of magnitude and says little.
at::Tensor normed(const at::Tensor& tokens) {
  return at::layer_norm(tokens.to(at::promoteTypes(tokens.scalar_type(), at::kFloat)), {tokens.size(-1)});
}

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

std::vector<Metric> metrics_of(const Accuracy& a, double agreement) {
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

bool has_summaries(const models::Model& model) {
  const auto attentions = model.attentions();
  return std::ranges::any_of(attentions, [](const attention::MechanismPtr& m) {
    return m->info().support_set && attention::layer_support(m->spec(), m->geometry()).summaries();
  });
}

models::ModelPtr make_student(const Recipe& recipe, const models::Model& teacher) {
  const models::Dimensions& dims = teacher.dimensions();
  models::Options options = dims.options;
  options.resolution = dims.height;
  options.width = dims.width;
  options.classes = dims.row.classes;
  options.attention = AttentionSpec::parse(recipe.model.attention);
  options.attention_layers = models::parse_layers(recipe.model.attention_layers);
  options.tokens = models::TokenReduction::parse(recipe.model.tokens);
  options.dropout = recipe.model.dropout;
  options.attention_dropout = recipe.model.attention_dropout;
  options.drop_path = recipe.model.drop_path;
  return models::make_with_weights(recipe.model.name, recipe.model.weights, options);
}

/// Layers that are sparse, and what is left out over all of them.
void count_pairs(AdaptationResult& result, const models::Dimensions& dims) {
  for (const models::AttentionLayer& layer : models::attention_layers(dims)) {
    ++result.layers;
    if (attention::find_mechanism(layer.attention.name).dense) continue;
    ++result.sparse_layers;
    result.pruned_share += attention::cost(layer.attention, layer.geometry).pruning_ratio;
  }
  result.pruned_share /= static_cast<double>(result.layers);
}

}  // namespace

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
  sparse_->set_forward_hook(fade < 1 ? this : nullptr);
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
  Answer answer{model.forward(images), {}};
  for (const models::BlockView& view : watch.views) answer.blocks.push_back(view.output);
  return answer;
}

at::Tensor distance(const Answer& student, const Answer& teacher, const AnswerWeights& weights) {
  const double t = weights.temperature;
  const auto softened = [t](const at::Tensor& logits) {
    return at::log_softmax(logits.to(at::promoteTypes(logits.scalar_type(), at::kFloat)) / t, 1);
  };
  const at::Tensor wanted = softened(teacher.logits), got = softened(student.logits);
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
  const bool by_token = recipe.adapt.features > 0 || recipe.adapt.fade_fraction > 0 || recipe.adapt.ridge_images > 0 ||
                        recipe.adapt.branch_epochs > 0;
  if (!recipe.model.tokens.empty() && by_token)
    throw std::invalid_argument(
        "a model with fewer tokens follows the dense one by its logits alone: it needs adapt_features, "
        "adapt_fade_fraction, adapt_ridge and adapt_branch_epochs 0");
  if (recipe.adapt.fade_fraction > 0 && recipe.adapt.ridge_images > 0)
    throw std::invalid_argument(
        "adapt_ridge fits the projections to the sparse attention as it ends: it needs adapt_fade_fraction 0");
  if (recipe.adapt.fade_fraction > 0 && has_summaries(*model()))
    throw std::invalid_argument("summaries are there from the first step on: they need adapt_fade_fraction 0");
  for (const attention::MechanismPtr& mechanism : model()->attentions())
    if (recipe.adapt.fade_fraction > 0 && mechanism->info().support_set)
      fading_.push_back(std::make_unique<FadingAttention>(mechanism, recipe.model.attention_dropout));
}

TaskFacts AdaptationTask::facts() const {
  TaskFacts facts = ClassificationTask::facts();
  facts.score = {.name = "agreement", .higher_is_better = true};  // needs no labels
  return facts;
}

std::unique_ptr<TaskStream> AdaptationTask::epoch(int64_t epoch, int64_t first_step) {
  const int64_t first = recipe().adapt.branch_epochs * steps_per_epoch();
  const int64_t steps = recipe().schedule.epochs * steps_per_epoch() - first;
  const double share = recipe().adapt.fade_fraction;
  return std::make_unique<AdaptationStream>(
      training_data().epoch(static_cast<uint64_t>(epoch), static_cast<size_t>(first_step)),
      epoch * steps_per_epoch() + first_step,
      [=](int64_t step) { return step < first ? kBranches : fade_of(step - first, steps, share); });
}

/// Images of the first epoch, as they are shown in training but not mixed.
std::vector<at::Tensor> AdaptationTask::ridge_images() const {
  std::vector<at::Tensor> images;
  BatchStream stream = training_data().epoch(0);
  for (int64_t count = 0; count < recipe().adapt.ridge_images; count += images.back().size(0)) {
    std::optional<Batch> batch = stream.next();
    if (!batch) break;
    images.push_back(images_of(*batch).clone());
  }
  return images;
}

/// How the student stands before the first step, and after each stage that needs no step.
void AdaptationTask::begin(ProcessGroup& group, const EvaluationHooks& hooks,
                           const std::function<void(const std::string&)>& tell) {
  if (recipe().adapt.ridge_images == 0) return;
  const auto standing = [&] {
    if (facts().validation == 0) return std::string("no image is held out to judge it by");
    const Evaluation e = evaluate(Split::validation, group, hooks);
    return fmt::format("top-1 {:.2f} %, agrees with dense for {:.2f} % of {} images", 100 * e.value("top1"),
                       100 * e.value("agreement"), e.samples);
  };
  tell("the dense weights with sparse attention: " + standing());
  const std::vector<at::Tensor> images = ridge_images();
  const EvalMode eval_mode(*model());
  fit_projections(*model(), *teacher_.model, images, {}, [&] { hooks.cancel.throw_if_requested(); });
  tell("after fitting the projections: " + standing());
}

at::Tensor AdaptationTask::loss(const TaskBatch& batch) {
  const at::Tensor& images = batch.tensors[0];
  const double fade = batch.tensors[1][0].item<double>();
  if (fade == kBranches) return branch_distance(*model(), *teacher_.model, images);
  Answer wanted;
  {
    const at::NoGradGuard no_grad;
    wanted = answer_of(*teacher_.model, images);
  }
  const FadeInPlace faded(fading_, fade);
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
          .metrics = metrics_of(a, agreed.item<double>() / static_cast<double>(a.images)),
          .seconds = a.seconds};
}

Evaluation AdaptationTask::evaluate_teacher(ProcessGroup& group) {
  const Accuracy a = measure_accuracy(*teacher_.model, data_of(Split::test), group);
  return {.samples = a.images, .metrics = metrics_of(a, 1), .seconds = a.seconds};
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
  for (const DatasetPtr& evaluated : {splits.validation, splits.test})
    if (evaluated) prediction::check_labels(*evaluated, student->dimensions().row.classes);
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
    for (const Metric& metric : stage.evaluation.metrics) json[stage.name][metric.name] = metric.value;
  return json;
}

}  // namespace fib::training
