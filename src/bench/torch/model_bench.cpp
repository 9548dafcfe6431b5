// SPDX-License-Identifier: Apache-2.0
#include "bench/torch/model_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/measure.h"
#include "bench/measure.h"
#include "bench/torch/model_contestant.h"

namespace fib::bench {
namespace {

const AttentionSpec kReference{"full", {}};

std::vector<AttentionSpec> with_reference(const std::vector<AttentionSpec>& attentions) {
  std::vector<AttentionSpec> all = {kReference};
  for (const AttentionSpec& a : attentions) {
    if (a.to_string() != kReference.to_string()) all.push_back(a);
  }
  return all;
}

models::Dimensions dimensions_of(const ModelBenchOptions& options, int64_t resolution, const AttentionSpec& attention) {
  models::Options choice = options.choice;
  choice.attention = attention;
  choice.resolution = resolution;
  return models::dimensions(options.model, choice);
}

/// Checks values that only a support's making shows, without a model's memory.
void check(const ModelBenchOptions& options, const std::vector<int64_t>& resolutions) {
  for (int64_t resolution : resolutions) {
    for (const AttentionSpec& a : with_reference(options.attentions)) {
      models::cost(dimensions_of(options, resolution, a));
    }
  }
}

std::string shortage(int64_t needed, int64_t available) {
  return fmt::format("needs about {:.1f} GB of memory, {:.1f} GB are free", static_cast<double>(needed) / kGigabyte,
                     static_cast<double>(available) / kGigabyte);
}

/// All contestants at one resolution, in one pass.
class BenchRound {
 public:
  BenchRound(const ModelBenchOptions& options, int64_t resolution, ModelPass pass, const ModelBenchProgress& progress)
      : options_(options), resolution_(resolution), pass_(pass), progress_(progress) {}

  std::vector<ModelBenchRow> run() {
    warm_up();
    for (const AttentionSpec& attention : with_reference(options_.attentions))
      for (const std::string& precision : precisions()) enter(attention, precision);
    time();
    compare();
    if (options_.profile && pass_ == ModelPass::training) profile();
    std::vector<ModelBenchRow> rows;
    for (Entry& e : entries_) rows.push_back(std::move(e.row));
    return rows;
  }

 private:
  struct Entry {
    ModelBenchRow row;
    std::unique_ptr<ModelContestant> contestant;
  };

  void tell(const std::string& what, double done) const {
    if (progress_) progress_(std::string(to_string(pass_)) + " at " + std::to_string(resolution_) + ", " + what, done);
  }

  /// What libraries allocate once for all shall not be counted as the first contestant's.
  void warm_up() const { ModelContestant(models::dimensions("mini_vit"), pass_, options_.batch); }

  /// Only training steps know others than float32.
  std::vector<std::string> precisions() const {
    return pass_ == ModelPass::training ? options_.precisions : std::vector<std::string>{"f32"};
  }

  void enter(const AttentionSpec& attention, const std::string& precision) {
    const models::Dimensions d = dimensions_of(options_, resolution_, attention);
    Entry e;
    e.row.model = options_.model;
    e.row.attention = attention.to_string();
    e.row.resolution = resolution_;
    e.row.tokens = models::cost(d).tokens;
    e.row.batch = options_.batch;
    e.row.pass = pass_;
    e.row.precision = precision;
    tell("first run of " + e.row.attention, 0.0);
    const int64_t needed = ModelContestant::bytes(d, pass_, options_.batch), available = available_memory();
    if (needed > available) {
      e.row.reason = shortage(needed, available);
    } else {
      e.contestant = std::make_unique<ModelContestant>(d, pass_, options_.batch, precision);
      e.row.peak_memory_mb = e.contestant->peak_memory_mb();
    }
    entries_.push_back(std::move(e));
  }

  void time() {
    std::vector<ModelBenchRow*> rows;
    std::vector<std::function<void()>> runs;
    for (Entry& e : entries_) {
      if (!e.contestant) continue;
      rows.push_back(&e.row);
      runs.push_back([&e] { e.contestant->run(); });
    }
    if (runs.empty()) return;
    const auto timings = time_interleaved(runs, options_.timing, [&](double done) { tell("timing", done); });
    for (size_t i = 0; i < rows.size(); ++i) {
      rows[i]->ms = timings[i].min_ms;
      rows[i]->ms_median = timings[i].median_ms;
      rows[i]->images_per_second = 1e3 * static_cast<double>(options_.batch) / timings[i].min_ms;
    }
  }

  void compare() {
    const std::optional<double> full = entries_.front().row.ms;
    for (Entry& e : entries_) {
      if (full && e.row.ms) e.row.speedup_over_full = *full / *e.row.ms;
    }
  }

  void profile() {
    for (Entry& e : entries_) {
      if (e.contestant) e.row.profile = e.contestant->profile();
    }
  }

  const ModelBenchOptions& options_;
  int64_t resolution_;
  ModelPass pass_;
  const ModelBenchProgress& progress_;
  std::vector<Entry> entries_;
};

}  // namespace

std::vector<ModelBenchRow> bench_model(const ModelBenchOptions& options, const ModelBenchProgress& progress) {
  std::vector<int64_t> resolutions = options.resolutions;
  if (resolutions.empty()) resolutions = {models::find_row(options.model).resolution};
  check(options, resolutions);
  std::vector<ModelBenchRow> rows;
  for (ModelPass pass : options.passes) {
    for (int64_t resolution : resolutions) {
      for (ModelBenchRow& row : BenchRound(options, resolution, pass, progress).run()) rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace fib::bench
