// SPDX-License-Identifier: Apache-2.0
#include "sequences/torch/series_task.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/measure.h"
#include "base/safetensors.h"
#include "data/sampler.h"
#include "sequences/torch/tasks.h"
#include "sequences/torch/text_task.h"
#include "sequences/torch/trained_text.h"
#include "training/run/directory.h"

namespace fib::sequences {
namespace {

using namespace training;

/// Of a window's own deviation, so that one in which nothing happens is not divided by zero.
constexpr double kLeastVariance = 1e-5;

/// What windows look back at [B,C,L] and what follows [B,C,h].
TaskBatch windows_at(const at::Tensor& values, const std::vector<int64_t>& firsts, const SeriesOptions& options) {
  std::vector<at::Tensor> before, after;
  for (const int64_t first : firsts) {
    before.push_back(values.narrow(1, first - options.look_back, options.look_back));
    after.push_back(values.narrow(1, first, options.horizon));
  }
  return {{at::stack(before), at::stack(after)}};
}

SamplerOptions sampler_options(const Recipe& recipe, const RankInfo& rank) {
  return {.batch = static_cast<size_t>(recipe.optimizer.batch),
          .rank = static_cast<size_t>(rank.rank),
          .world = static_cast<size_t>(rank.world),
          .seed = static_cast<uint64_t>(recipe.run.seed)};
}

class SeriesStream final : public TaskStream {
 public:
  SeriesStream(at::Tensor values, const SeriesOptions& options, int64_t first_window, const Sampler& sampler,
               int64_t epoch, int64_t first_step)
      : values_(std::move(values)),
        options_(options),
        first_window_(first_window),
        sampler_(sampler),
        order_(sampler_.order(static_cast<uint64_t>(epoch))),
        step_(static_cast<size_t>(first_step)) {}

  std::optional<TaskBatch> next() override {
    if (step_ >= sampler_.steps_per_epoch()) return std::nullopt;
    std::vector<int64_t> firsts;
    for (const size_t index : sampler_.part(order_, step_++))
      firsts.push_back(first_window_ + static_cast<int64_t>(index));
    return windows_at(values_, firsts, options_);
  }

 private:
  at::Tensor values_;
  SeriesOptions options_;
  int64_t first_window_;
  Sampler sampler_;
  std::vector<size_t> order_;
  size_t step_;
};

/// [R,C] numbers as [C,R].
at::Tensor by_column(std::vector<float> values, int64_t width) {
  const auto rows = static_cast<int64_t>(values.size()) / width;
  return at::tensor(at::ArrayRef<float>(values)).view({rows, width}).t().contiguous();
}

std::string scale_json(const std::vector<std::string>& columns, const Scale& scale) {
  return nlohmann::json{{"columns", columns}, {"mean", scale.mean}, {"deviation", scale.deviation}}.dump();
}

void take_scale(TrainedSeries& trained, const std::string& text) {
  try {
    const auto json = parse_json<nlohmann::json>(text);
    json.at("columns").get_to(trained.columns);
    json.at("mean").get_to(trained.scale.mean);
    json.at("deviation").get_to(trained.scale.deviation);
  } catch (const nlohmann::json::exception&) {
    trained.columns.clear();
  }
  const size_t count = trained.columns.size();
  if (count == 0 || trained.scale.mean.size() != count || trained.scale.deviation.size() != count)
    throw std::runtime_error(fmt::format("the metadata of {} do not tell the columns it learned", trained.weights));
}

Experiment prepare_series(const Recipe& recipe, const RankInfo& rank) {
  Experiment experiment{.recipe = recipe};
  experiment.task = std::make_unique<SeriesTask>(recipe, rank, read_series(series_source(recipe.data.source).file));
  return experiment;
}

}  // namespace

// ---- The model ------------------------------------------------------------------------------------------------------

SeriesDecoder::SeriesDecoder(const DecoderDimensions& dims, const Patching& patching, int64_t horizon)
    : patching_(patching) {
  embed_ = register_module("embed", std::make_shared<models::Linear>(patching.length, dims.row.width));
  trunk_ = register_module("trunk", std::make_shared<DecoderTrunk>(dims));
  head_ = register_module("head", std::make_shared<models::Linear>(dims.row.width, horizon));
  models::initialize_like_timm(*this);
  trunk_->initialize();
}

at::Tensor SeriesDecoder::forward(const at::Tensor& x) {
  const at::Tensor mean = x.mean(-1, true);
  const at::Tensor deviation = ((x - mean).square().mean(-1, true) + kLeastVariance).sqrt();
  const at::Tensor normal = (x - mean) / deviation;
  const int64_t unused = patching_.look_back - patching_.length - (patching_.count() - 1) * patching_.stride;
  const at::Tensor patches = normal.narrow(-1, unused, patching_.look_back - unused)
                                 .unfold(-1, patching_.length, patching_.stride)
                                 .flatten(0, 1)
                                 .contiguous();                                                // [B·C,N,P]
  const at::Tensor tokens = trunk_->forward(embed_->forward(patches));                         // [B·C,N,D]
  const at::Tensor steps = head_->forward(tokens.select(1, tokens.size(1) - 1).contiguous());  // [B·C,h]
  return steps.view({x.size(0), x.size(1), -1}) * deviation + mean;
}

std::shared_ptr<SeriesDecoder> make_series_decoder(const Recipe& recipe, const SafetensorsFile* weights) {
  const SeriesSource source = series_source(recipe.data.source);
  const DecoderDimensions dims = decoder_of(recipe, source.patching.count());
  const int64_t patch = source.patching.length, horizon = source.options.horizon, width = dims.row.width;
  if (weights != nullptr)
    check_parameters(*weights, recipe.model.name,
                     decoder_parameters(dims, 0) + (patch + 1) * width + (width + 1) * horizon);
  return std::make_shared<SeriesDecoder>(dims, source.patching, horizon);
}

SeriesOptions series_options(const Recipe& recipe) {
  SeriesOptions options = series_source(recipe.data.source).options;
  options.validation_share = recipe.data.validation_fraction;
  return options;
}

// ---- The task -------------------------------------------------------------------------------------------------------

SeriesTask::SeriesTask(const Recipe& recipe, const RankInfo& rank, const Series& series)
    : recipe_(recipe),
      rank_(rank),
      options_(series_options(recipe)),
      parts_(divided(series, options_)),
      columns_(series.columns),
      scale_(Scale::of(series, parts_.train)),
      values_(by_column(scale_.scaled(series), series.width())) {
  torch::manual_seed(static_cast<uint64_t>(recipe.run.seed));
  model_ = make_series_decoder(recipe);
}

int64_t SeriesTask::evaluated(const SeriesPart& part) const {
  const int64_t all = windows_of(part, options_).count;
  return recipe_.run.eval_images > 0 ? std::min(all, recipe_.run.eval_images) : all;
}

TaskFacts SeriesTask::facts() const {
  return {.samples = "windows",
          .train = windows_of(parts_.train, options_).count,
          .validation = parts_.validation.size() > 0 ? evaluated(parts_.validation) : 0,
          .test = evaluated(parts_.test),
          .score = {.name = "mse", .higher_is_better = false},
          .notices = {fmt::format("columns {}; {} steps back, {} ahead", fmt::join(columns_, ", "), options_.look_back,
                                  options_.horizon)}};
}

int64_t SeriesTask::steps_per_epoch() const {
  const Sampler sampler(static_cast<size_t>(windows_of(parts_.train, options_).count), sampler_options(recipe_, rank_));
  return static_cast<int64_t>(sampler.steps_per_epoch());
}

std::unique_ptr<TaskStream> SeriesTask::epoch(int64_t epoch, int64_t first_step) {
  const SeriesWindows windows = windows_of(parts_.train, options_);
  const Sampler sampler(static_cast<size_t>(windows.count), sampler_options(recipe_, rank_));
  return std::make_unique<SeriesStream>(values_, options_, windows.first, sampler, epoch, first_step);
}

at::Tensor SeriesTask::loss(const TaskBatch& batch) {
  return at::mse_loss(model_->forward(batch.tensors[0]), batch.tensors[1]);
}

Evaluation SeriesTask::evaluate(Split split, ProcessGroup& group, const EvaluationHooks& hooks) {
  const Stopwatch watch;
  const EvalMode eval_mode(*model_);
  const SeriesPart& part = split == Split::test ? parts_.test : parts_.validation;
  const SeriesWindows windows = windows_of(part, options_);
  const int64_t count = evaluated(part);
  const int64_t batch = recipe_.run.eval_batch > 0 ? recipe_.run.eval_batch : recipe_.optimizer.batch;
  double square = 0, absolute = 0, numbers = 0;
  for (int64_t begin = 0; begin < count; begin += group.world() * batch) {
    std::vector<int64_t> own;
    for (int64_t i = begin + group.rank(); i < std::min(count, begin + group.world() * batch); i += group.world())
      own.push_back(windows.first + i * windows.count / count);
    if (!own.empty()) {
      const TaskBatch seen = windows_at(values_, own, options_);
      const at::Tensor error = (model_->forward(seen.tensors[0]) - seen.tensors[1]).to(at::kDouble);
      square += error.square().sum().item<double>();
      absolute += error.abs().sum().item<double>();
      numbers += static_cast<double>(error.numel());
    }
    hooks.batch_done(group, begin / group.world() + batch, count);
  }
  const at::Tensor sums = at::tensor({square, absolute, numbers}, at::kDouble);
  group.sum(sums);
  const double all = sums[2].item<double>();
  return {.samples = count,
          .metrics = {{"mse", sums[0].item<double>() / all}, {"mae", sums[1].item<double>() / all}},
          .seconds = watch.seconds()};
}

TensorMetadata SeriesTask::metadata() const {
  return {{"task", recipe_.run.task},
          {"model", recipe_.model.name},
          {"attention", AttentionSpec::parse(recipe_.model.attention).to_string()},
          {"scale", scale_json(columns_, scale_)}};
}

std::optional<AttentionFacts> SeriesTask::attention(int64_t samples) {
  return attention_facts(model_->trunk(), samples * static_cast<int64_t>(columns_.size()));
}

TaskRow series_task() { return {"series", "the next steps of a time series", prepare_series}; }

// ---- What has been learned ------------------------------------------------------------------------------------------

TrainedSeries open_series(const std::filesystem::path& run) {
  TrainedSeries opened{.recipe = RunFiles{run}.recipe(), .weights = {}, .columns = {}, .scale = {}, .model = nullptr};
  const std::filesystem::path path = weights_of_run(run, opened.recipe, "series");
  opened.weights = path.filename();
  const SafetensorsFile file(path);
  const auto told = file.metadata().find("scale");
  take_scale(opened, told == file.metadata().end() ? "{}" : told->second);
  opened.model = make_series_decoder(opened.recipe, &file);
  load_parameters(*opened.model, file, opened.recipe.model.name);
  opened.model->eval();
  return opened;
}

Forecast forecast(const TrainedSeries& trained, const Series& series, int64_t begin) {
  const SeriesOptions s = series_options(trained.recipe);
  if (series.columns != trained.columns)
    throw std::invalid_argument(fmt::format("the columns are {}, the run learned {}", fmt::join(series.columns, ", "),
                                            fmt::join(trained.columns, ", ")));
  if (begin < s.look_back)
    throw std::invalid_argument(fmt::format("{} rows come before the forecast, the run looks back at {}",
                                            std::max<int64_t>(0, begin), s.look_back));
  const at::NoGradGuard no_grad;
  const at::Tensor values = by_column(trained.scale.scaled(series), series.width());
  const at::Tensor seen = values.narrow(1, begin - s.look_back, s.look_back).unsqueeze(0);
  const at::Tensor steps = trained.model->forward(seen)[0];  // [C,h]
  if (!at::isfinite(steps).all().item<bool>())
    throw std::runtime_error(fmt::format("{} forecasts what is no number, or infinite", trained.weights));
  Forecast result{.begin = begin, .values = {}};
  for (int64_t t = 0; t < s.horizon; ++t) {
    for (int64_t c = 0; c < series.width(); ++c) {
      const auto column = static_cast<size_t>(c);
      result.values.push_back(static_cast<float>(steps[c][t].item<double>() * trained.scale.deviation[column] +
                                                 trained.scale.mean[column]));
    }
  }
  if (begin + s.horizon > series.rows()) return result;
  const at::Tensor error = (steps - values.narrow(1, begin, s.horizon)).to(at::kDouble);
  result.errors = {.square = error.square().mean().item<double>(), .absolute = error.abs().mean().item<double>()};
  return result;
}

}  // namespace fib::sequences
