// SPDX-License-Identifier: Apache-2.0
// classify, eval, infer and bench model: once for every predictor, and how a compiled model becomes one.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/atomic_file.h"
#include "base/checked.h"
#include "base/printable.h"
#include "bench/engine_bench.h"
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
#include "report/figure_json.h"
#include "report/table.h"
#include "report/words.h"

namespace fib::cli {
namespace {

using nlohmann::ordered_json;
using prediction::EnginePredictor;
using prediction::ModelInfo;
using prediction::Predictor;
using report::Table;

EnginePredictor open_engine(const std::string& file, const ModelArguments& a) {
  return EnginePredictor(file, {.resize = a.resize, .crop = a.crop, .mean = a.mean, .std = a.std});
}

// ---- classify

/// Images computed at once: more gain nothing on a CPU, and results come sooner.
constexpr size_t kBatch = 8;

ordered_json classified_json(const ClassifiedImage& image) {
  auto top = ordered_json::array();
  for (const RankedClass& c : image.top) {
    top.push_back({{"class", c.index},
                   {"label", c.label.empty() ? ordered_json(nullptr) : ordered_json(c.label)},
                   {"probability", c.probability},
                   {"logit", c.logit}});
  }
  return {{"image", image.file}, {"top", top}};
}

std::string classified_text(const ClassifiedImage& image) {
  using enum Table::Align;
  Table table({{"", left}, {"", right}, {"", right}, {"", right}, {"", left}});
  for (const RankedClass& c : image.top) {
    table.add_row({"", fmt::format("{:.2f} %", 100 * c.probability), fmt::format("{:.3f}", c.logit),
                   fmt::format("{}", c.index), c.label});
  }
  return printable(image.file, 200) + "\n" + table.to_string() + "\n";
}

/// "vit_tiny_patch16_224, full attention; input 224 x 224, …"
std::string model_line(const ModelInfo& info) {
  const std::string precision = info.precision == "f32" ? "" : ", " + info.precision;
  return fmt::format("{}, {} attention{}; input {}\n", info.model, info.attention, precision, info.input_text());
}

// ---- eval

std::string evaluation_text(const ModelInfo& info, const std::string& data, const prediction::Accuracy& e) {
  Table table({{}, {}});
  table.add_row({"model", info.model + ", " + info.attention + " attention"});
  table.add_row({"data", fmt::format("{}, {} images", data, report::grouped(e.images))});
  table.add_row({"input", info.input_text()});
  table.add_row({"top-1", fmt::format("{:.2f} %", 100 * e.top1)});
  table.add_row({"top-5", fmt::format("{:.2f} %", 100 * e.top5)});
  table.add_row({"loss", fmt::format("{:.4f}", e.loss)});
  table.add_row({"speed", fmt::format("{:.1f} images/s", e.images_per_second())});
  return table.to_string();
}

ordered_json evaluation_json(const ModelInfo& info, const std::string& data, const prediction::Accuracy& e) {
  return {{"model", info.model},
          {"attention", info.attention},
          {"data", data},
          {"images", e.images},
          {"top1", e.top1},
          {"top5", e.top5},
          {"loss", e.loss},
          {"images_per_second", e.images_per_second()},
          {"input", input_json(info)}};
}

// ---- bench model

ordered_json row_json(const bench::EngineBenchRow& row, int64_t batch) {
  return {{"model", row.model},
          {"attention", row.attention},
          {"resolution", row.resolution},
          {"batch", batch},
          {"pass", "forward"},
          {"ms", row.ms},
          {"ms_median", row.ms_median},
          {"images_per_second", row.images_per_second},
          {"speedup_over_full", nullptr},
          {"peak_memory_mb", report::or_null(row.memory_mb)},
          {"reason", nullptr},
          {"engine", row.engine},
          {"precision", row.precision}};
}

std::string rows_text(const std::vector<bench::EngineBenchRow>& rows) {
  using enum Table::Align;
  Table table({{"engine", left},
               {"precision", left},
               {"attention", left},
               {"resolution", right},
               {"ms", right},
               {"median", right},
               {"images/s", right},
               {"MB", right}});
  for (const bench::EngineBenchRow& row : rows)
    table.add_row({row.engine, row.precision, row.attention, fmt::format("{}", row.resolution),
                   fmt::format("{:.2f}", row.ms), fmt::format("{:.2f}", row.ms_median),
                   fmt::format("{:.2f}", row.images_per_second),
                   row.memory_mb ? fmt::format("{:.0f}", *row.memory_mb) : "–"});
  return table.to_string();
}

}  // namespace

ordered_json input_json(const ModelInfo& info) {
  const PipelineConfig& view = info.view;
  return {{"resolution", view.input_size}, {"channels", view.channels},     {"mean", view.mean}, {"std", view.std},
          {"crop_ratio", view.crop_ratio}, {"as_told_by", info.view_source}};
}

std::vector<std::string> read_class_names(const std::string& file, int64_t classes) {
  std::vector<std::string> names = read_labels(file);
  if (static_cast<int64_t>(names.size()) == classes) return names;
  throw std::runtime_error(fmt::format("{} names {} classes, the weights have {}", file, names.size(), classes));
}

void classify(Predictor& predictor, const ClassifyArguments& a, const Globals& globals) {
  if (!a.labels.empty()) predictor.set_class_names(read_class_names(a.labels, predictor.info().classes));
  const bool text = !a.json && !globals.quiet;
  StandardStreams streams;
  std::vector<std::string> files = a.images;
  for (std::string& file : files) file = streams.input("IMAGE", file);
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
      json.push_back(classified_json(image));
      if (text) fmt::print("{}", classified_text(image));
    }
  }
  if (a.json) print_json(json);
  if (text) fmt::print("{}", model_line(predictor.info()));
  if (failed > 0)
    throw std::runtime_error(fmt::format("{} of {} images could not be classified", failed, files.size()));
}

void run_engine(const ClassifyArguments& a, const Globals& globals) {
  use_threads(globals);
  EnginePredictor predictor = open_engine(a.engine, a.model);
  classify(predictor, a, globals);
}

void evaluate(Predictor& predictor, const DatasetPtr& dataset, const std::string& data, const EvalArguments& a,
              const Globals& globals) {
  const ModelInfo& info = predictor.info();
  prediction::check_takes(info.model, info.view.clip.frames > 0, dataset->info());
  prediction::check_labels(*dataset, info.classes);
  prediction::Accuracy accuracy;
  {
    ProgressBar progress("images", static_cast<int64_t>(dataset->size()), globals.quiet || a.json);
    accuracy = prediction::measure_accuracy(predictor, prediction::loader_in_order(dataset, info.view, a.model.batch),
                                            {.done = [&](int64_t done) { progress.show(done); }});
  }
  if (a.json)
    print_json(evaluation_json(info, data, accuracy));
  else if (!globals.quiet)
    fmt::print("{}", evaluation_text(info, data, accuracy));
}

void run_engine(const EvalArguments& a, const Globals& globals) {
  if (a.model.data.empty()) throw std::invalid_argument("on which images? Give --data KIND:PATH");
  use_threads(globals);
  EnginePredictor predictor = open_engine(a.engine, a.model);
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
  auto engine = std::make_unique<EnginePredictor>(a.engine);
  infer(a, globals, [&](const std::vector<int64_t>&) { return std::move(engine); });
}

void run_engine(const BenchModelArguments& a, const Globals& globals) {
  use_threads(globals);
  const int64_t batch = a.options.batch;
  const std::vector<bench::EngineBenchRow> rows = bench::bench_engines(a.engine, batch, a.options.timing);
  if (a.json) {
    auto list = ordered_json::array();
    for (const bench::EngineBenchRow& row : rows) list.push_back(row_json(row, batch));
    print_json({{"machine", machine_name()}, {"threads", globals.threads}, {"rows", list}});
  } else if (!globals.quiet) {
    fmt::print("batch {}; {}; {} threads\n\n{}", batch, machine_name(), globals.threads, rows_text(rows));
  }
}

}  // namespace fib::cli
