// SPDX-License-Identifier: Apache-2.0
#include "sequences/torch/text_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/measure.h"
#include "base/rng.h"
#include "sequences/torch/tasks.h"

namespace fib::sequences {
namespace {

using namespace training;

/// Keeps the draws of windows apart from all other uses of the seed.
constexpr uint64_t kWindowStream = 0x77696e64;

/// Windows of T + 1 symbols as tokens and what comes after each.
TaskBatch shifted(const std::vector<at::Tensor>& windows) {
  const at::Tensor all = at::stack(windows);
  const int64_t context = all.size(1) - 1;
  return {{all.narrow(1, 0, context), all.narrow(1, 1, context)}};
}

class WindowStream final : public TaskStream {
 public:
  struct Plan {
    int64_t batch = 1, context = 1, steps = 1;
    uint64_t seed = 0, epoch = 0;
    RankInfo rank{};
  };

  WindowStream(at::Tensor symbols, const Plan& plan, int64_t first_step)
      : symbols_(std::move(symbols)), plan_(plan), step_(first_step) {}

  std::optional<TaskBatch> next() override {
    if (step_ >= plan_.steps) return std::nullopt;
    const int64_t own = plan_.batch / plan_.rank.world;
    std::vector<at::Tensor> windows;
    for (int64_t i = plan_.rank.rank * own; i < (plan_.rank.rank + 1) * own; ++i) windows.push_back(window(i));
    ++step_;
    return shifted(windows);
  }

 private:
  at::Tensor window(int64_t sample) const {
    CounterRng rng(plan_.seed,
                   {kWindowStream, plan_.epoch, static_cast<uint64_t>(step_), static_cast<uint64_t>(sample)});
    const auto begin = rng.below(static_cast<uint64_t>(symbols_.size(0) - plan_.context));
    return symbols_.narrow(0, static_cast<int64_t>(begin), plan_.context + 1);
  }

  at::Tensor symbols_;
  Plan plan_;
  int64_t step_;
};

at::Tensor to_tensor(const std::vector<int32_t>& symbols) {
  return at::tensor(at::ArrayRef<int32_t>(symbols), at::kInt).to(at::kLong);
}

at::Tensor next_symbol_loss(const at::Tensor& logits, const at::Tensor& next, double smoothing) {
  return at::cross_entropy_loss(logits.flatten(0, 1), next.flatten(), {}, at::Reduction::Mean, -100, smoothing);
}

Experiment prepare_text(const Recipe& recipe, const RankInfo& rank) {
  TextSource source = text_source(recipe.data.source);
  source.options.validation_share = recipe.data.validation_fraction;
  source.options.context = decoder_of(recipe, source.context).row.context;
  Text text = read_text(source.file, source.options);
  Experiment experiment{.recipe = recipe};
  experiment.task = std::make_unique<TextTask>(recipe, rank, std::move(text));
  return experiment;
}

}  // namespace

DecoderDimensions decoder_of(const Recipe& recipe, int64_t context) {
  if (recipe.model.attention_dropout > 0)
    throw std::invalid_argument(
        fmt::format("decoders have no attention_dropout, got {}; dropout is theirs", recipe.model.attention_dropout));
  DecoderOptions options{.attention = AttentionSpec::parse(recipe.model.attention), .dropout = recipe.model.dropout};
  if (context > 0) options.context = context;
  return decoder_dimensions(recipe.model.name, options);
}

TextTask::TextTask(const Recipe& recipe, const RankInfo& rank, Text text)
    : recipe_(recipe),
      rank_(rank),
      source_(text_source(recipe.data.source)),
      text_(std::move(text)),
      symbols_(to_tensor(text_.symbols)) {
  torch::manual_seed(static_cast<uint64_t>(recipe.run.seed));
  model_ = std::make_shared<TextDecoder>(decoder_of(recipe, source_.context), text_.vocabulary.size());
}

int64_t TextTask::windows(const TextPart& part, int64_t context) const {
  const int64_t all = (part.size() - 1) / context;
  return recipe_.run.eval_images > 0 ? std::min(all, recipe_.run.eval_images) : all;
}

TaskFacts TextTask::facts() const {
  const int64_t context = dimensions().row.context;
  const char* const kind = text_.vocabulary.symbols() == Symbols::bytes ? "bytes" : "characters";
  return {.samples = "windows",
          .train = steps_per_epoch() * recipe_.optimizer.batch,
          .validation = text_.validation.size() > 0 ? windows(text_.validation, context) : 0,
          .test = windows(text_.test, context),
          .score = {.name = "loss", .higher_is_better = false},
          .notices = {fmt::format("{} {}, {} different ones; a window is {} of them", text_.symbols.size(), kind,
                                  text_.vocabulary.size(), context)}};
}

/// As many as see as many symbols as the text has, unless the recipe says otherwise.
int64_t TextTask::steps_per_epoch() const {
  if (source_.epoch_steps > 0) return source_.epoch_steps;
  return std::max<int64_t>(1, text_.train.size() / (recipe_.optimizer.batch * dimensions().row.context));
}

std::unique_ptr<TaskStream> TextTask::epoch(int64_t epoch, int64_t first_step) {
  const WindowStream::Plan plan{.batch = recipe_.optimizer.batch,
                                .context = dimensions().row.context,
                                .steps = steps_per_epoch(),
                                .seed = static_cast<uint64_t>(recipe_.run.seed),
                                .epoch = static_cast<uint64_t>(epoch),
                                .rank = rank_};
  return std::make_unique<WindowStream>(symbols_.narrow(0, 0, text_.train.end), plan, first_step);
}

at::Tensor TextTask::loss(const TaskBatch& batch) {
  return next_symbol_loss(model_->forward(batch.tensors[0]), batch.tensors[1], recipe_.optimizer.label_smoothing);
}

double TextTask::mean_loss(const TextPart& part, int64_t context, ProcessGroup& group, const EvaluationHooks& hooks) {
  const int64_t all = (part.size() - 1) / context, count = windows(part, context);
  const int64_t batch = recipe_.run.eval_batch > 0 ? recipe_.run.eval_batch : recipe_.optimizer.batch;
  const int64_t rounds = (count + group.world() * batch - 1) / (group.world() * batch);
  double sum = 0;
  int64_t seen = 0;
  for (int64_t round = 0; round < rounds; ++round) {
    std::vector<at::Tensor> own;
    for (int64_t i = 0; i < batch; ++i) {
      const int64_t index = (round * batch + i) * group.world() + group.rank();
      if (index >= count) break;
      own.push_back(symbols_.narrow(0, part.begin + index * all / count * context, context + 1));  // spread evenly
    }
    if (!own.empty()) {
      const TaskBatch round_of = shifted(own);
      sum += next_symbol_loss(model_->forward(round_of.tensors[0]), round_of.tensors[1], 0).item<double>() *
             static_cast<double>(own.size());
      seen += static_cast<int64_t>(own.size());
    }
    hooks.batch_done(group, (round + 1) * batch, count);
  }
  const at::Tensor sums = at::tensor({sum, static_cast<double>(seen)}, at::kDouble);
  group.sum(sums);
  return sums[0].item<double>() / sums[1].item<double>();
}

Evaluation TextTask::evaluate(Split split, ProcessGroup& group, const EvaluationHooks& hooks) {
  const Stopwatch watch;
  const EvalMode eval_mode(*model_);
  const TextPart& part = split == Split::test ? text_.test : text_.validation;
  const int64_t context = dimensions().row.context;
  Evaluation result{.samples = windows(part, context)};
  const double loss = mean_loss(part, context, group, hooks);
  result.metrics = {{"loss", loss},
                    {"bits_per_byte", loss / std::numbers::ln2 / text_.bytes_per_symbol()},
                    {"perplexity", std::exp(loss)}};
  const bool any_length = dimensions().row.positions == Positions::rotary;
  for (const int64_t times : {2, 4})
    if (split == Split::test && any_length && part.size() > times * context)
      result.metrics.push_back(
          {fmt::format("loss_{}x_context", times), mean_loss(part, times * context, group, hooks)});
  result.seconds = watch.seconds();
  return result;
}

TensorMetadata TextTask::metadata() const {
  return {{"task", recipe_.run.task},
          {"model", recipe_.model.name},
          {"attention", AttentionSpec::parse(recipe_.model.attention).to_string()},
          {"vocabulary", text_.vocabulary.text()}};
}

std::optional<AttentionFacts> TextTask::attention(int64_t samples) { return attention_facts(model_->trunk(), samples); }

AttentionFacts attention_facts(DecoderTrunk& trunk, int64_t samples) {
  const DecoderDimensions& dims = trunk.dimensions();
  AttentionFacts facts{.pruning_ratio = dims.pruning_ratio(), .pruning_ratio_with_cls = dims.pruning_ratio()};
  const at::Tensor qkv = at::randn({samples, dims.row.context, 3, dims.row.heads, dims.head_dim()}).requires_grad_();
  for (const auto& attention : trunk.attentions()) {
    CausalAttention mechanism = attention->attention();
    mechanism.forward(qkv).sum().backward();
    const Stopwatch watch;
    mechanism.forward(qkv).sum().backward();
    facts.seconds += watch.seconds();
  }
  return facts;
}

TaskRow text_task() { return {"text", "the next symbol of a text", prepare_text}; }

}  // namespace fib::sequences
