// SPDX-License-Identifier: Apache-2.0
// classify, eval, infer, bench model and rollout: once for every predictor or player, and how a compiled model becomes
// one.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>

#include "base/atomic_file.h"
#include "base/checked.h"
#include "bench/benchmarks.h"
#include "cli/commands/benchmarks.h"
#include "cli/commands/trained.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/standard_streams.h"
#include "data/labels.h"
#include "data/open_dataset.h"
#include "kernels/machine.h"
#include "prediction/accuracy.h"
#include "prediction/engine_predictor.h"
#include "report/model_report.h"
#include "robots/play/compiled_policy.h"

namespace fib::cli {
namespace {

using nlohmann::ordered_json;
using prediction::EnginePredictor;
using prediction::Predictor;

EnginePredictor open_engine(const std::string& file, const ModelArguments& a, const EngineLimitArguments& limits) {
  return EnginePredictor(file, {.resize = a.resize, .crop = a.crop, .mean = a.mean, .std = a.std}, limits.limits());
}

/// IMAGE and --list.
std::vector<std::string> files_to_classify(const ClassifyArguments& a, StandardStreams& streams, bool clips) {
  std::vector<std::string> named = a.images;
  for (std::string& file : named) file = streams.input("IMAGE", file);
  if (!a.list.empty())
    for (std::string& file : prediction::read_file_list(streams.input("--list", a.list)))
      named.push_back(std::move(file));
  if (named.empty()) throw std::invalid_argument("which images? Give files, folders or --list FILE");
  return prediction::files_of(named, clips);
}

/// Images computed at once: more gain nothing on a CPU, and results come sooner.
constexpr size_t kBatch = 8;

}  // namespace

std::vector<std::string> read_class_names(const std::string& file, int64_t classes) {
  std::vector<std::string> names = read_labels(file);
  if (static_cast<int64_t>(names.size()) == classes) return names;
  throw std::runtime_error(fmt::format("{} names {} classes, the weights have {}", file, names.size(), classes));
}

void classify(Predictor& predictor, const ClassifyArguments& a, const Globals& globals) {
  if (!a.labels.empty()) predictor.set_class_names(read_class_names(a.labels, predictor.info().classes));
  const bool text = !a.json && !a.csv && !globals.quiet;
  StandardStreams streams;
  const std::vector<std::string> files = files_to_classify(a, streams, predictor.info().view.clip.frames > 0);
  if (a.csv) fmt::print("{}", report::classified_csv_header());
  auto json = ordered_json::array();
  size_t failed = 0;
  for (size_t begin = 0; begin < files.size(); begin += kBatch) {
    const auto first = files.begin() + static_cast<ptrdiff_t>(begin);
    const auto last = first + static_cast<ptrdiff_t>(std::min(kBatch, files.size() - begin));
    for (ClassifiedImage& image : prediction::classify_files(predictor, {first, last}, a.top)) {
      image.file = streams.shown(image.file);
      if (!image.error.empty()) {
        say_error(image.error);
        ++failed;
        continue;
      }
      if (a.json) json.push_back(report::classified_json(image));
      if (a.csv) fmt::print("{}", report::classified_csv(image));
      if (text) fmt::print("{}", report::classified_text(image));
    }
  }
  if (a.json) print_json(json);
  if (text) fmt::print("{}", report::model_line(predictor.info()));
  if (failed > 0)
    throw std::runtime_error(fmt::format("{} of {} images could not be classified", failed, files.size()));
}

void run_engine(const ClassifyArguments& a, const Globals& globals) {
  use_threads(globals);
  EnginePredictor predictor = open_engine(a.engine, a.model, a.limits);
  classify(predictor, a, globals);
}

void evaluate(Predictor& predictor, const DatasetPtr& dataset, const std::string& data, const EvalArguments& a,
              const Globals& globals) {
  const prediction::ModelInfo& info = predictor.info();
  prediction::check_takes(info.model, info.view.clip.frames > 0, dataset->info());
  prediction::check_labels(*dataset, info.classes);
  report::EvaluationReport result{info, data, {}};
  {
    ProgressBar progress("images", static_cast<int64_t>(dataset->size()), globals.quiet || a.json);
    result.accuracy =
        prediction::measure_accuracy(predictor, prediction::loader_in_order(dataset, info.view, a.model.batch),
                                     {.done = [&](int64_t done) { progress.show(done); }});
  }
  show(
      globals, a.json, [&] { return evaluation_json(result); }, [&] { return evaluation_text(result); });
}

void run_engine(const EvalArguments& a, const Globals& globals) {
  if (a.model.data.empty()) throw std::invalid_argument("on which images? Give --data KIND:PATH");
  use_threads(globals);
  EnginePredictor predictor = open_engine(a.engine, a.model, a.limits);
  evaluate(predictor, open_dataset(a.model.data, DatasetPart::test), a.model.data, a, globals);
}

void infer(const InferArguments& a, const Globals& globals, const OpenForShape& open) {
  StandardStreams streams(a.json ? "--json" : "");
  const NpyArray input(streams.input("--input", a.input));
  prediction::check_input_shape(input.shape(), a.input);
  // Says now, not after the work, that it cannot be written.
  AtomicFile output(streams.output("--out", a.output, ".npy"));
  const std::unique_ptr<Predictor> predictor = open(input.shape());
  const prediction::Logits logits = predictor->infer(input, a.model.batch);
  const char* type = std::visit(
      [&]<class T>(const std::vector<T>& values) {
        write_npy<T>(output, logits.shape, values);
        return npy_type_name(std::is_same_v<T, double> ? NpyType::float64 : NpyType::float32);
      },
      logits.values);
  output.commit();
  const ordered_json written = {{"file", a.output}, {"shape", logits.shape}, {"dtype", type}};
  if (a.json)
    print_json({{"model", predictor->info().model},
                {"attention", predictor->info().attention},
                {"input", {{"file", a.input}, {"shape", input.shape()}}},
                {"written", ordered_json::array({written})}});
  else if (a.output != "-")
    say_written(a.output, globals.quiet, shape_text(logits.shape) + " " + type);
  streams.finish();
}

void run_engine(const InferArguments& a, const Globals& globals) {
  if (a.dtype != "f32")
    throw std::invalid_argument("--dtype f64 goes with --weights; a compiled model computes in f32");
  use_threads(globals);
  auto engine = std::make_unique<EnginePredictor>(a.engine, prediction::InputOverrides{}, a.limits.limits());
  infer(a, globals, [&](const std::vector<int64_t>&) { return std::move(engine); });
}

void run_engine(const BenchModelArguments& a, const Globals& globals) {
  use_threads(globals);
  const report::ModelBenchReport report{machine_name(), globals.threads,
                                        bench::bench_engines(a.engine, a.options, a.limits.limits())};
  show(
      globals, a.json, [&] { return model_bench_json(report); }, [&] { return model_bench_text(report); });
}

// ---- fib rollout

void roll_out(robots::Player& player, const robots::Robot& robot, const RolloutArguments& a, const Globals& globals,
              report::RolloutReport told) {
  check_output("--video", a.video, ".mp4");
  robots::PlayOptions options;
  options.seeds.resize(static_cast<size_t>(a.episodes));
  std::iota(options.seeds.begin(), options.seeds.end(), static_cast<uint32_t>(a.seed));
  StatusLine status(globals.quiet);
  options.decided = [&](int64_t done, int64_t of) {
    show_share(status, "playing", static_cast<double>(done) / static_cast<double>(of));
  };
  told.rollout = robots::play(player, robot, options);
  status.clear();
  show(
      globals, a.json, [&] { return rollout_json(told); }, [&] { return rollout_text(told); });
  if (a.video.empty()) return;
  robots::write_rollout_video(a.video, robot, told.rollout);
  say_written(a.video, globals.quiet || a.json, "(worst, median and best episode)");
}

void run_engine(const RolloutArguments& a, const Globals& globals) {
  use_threads(globals);
  robots::CompiledPolicy player(a.engine, a.limits.limits());
  roll_out(player, player.robot(), a, globals,
           {player.description() + ", compiled", player.robot().name, a.seed, player.sampler(), {}});
}

}  // namespace fib::cli
