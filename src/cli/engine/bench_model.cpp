// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/bench_model.h"

#include <fmt/format.h>

#include <cmath>
#include <deque>
#include <memory>

#include "bench/memory.h"
#include "bench/timing.h"
#include "cli/engine/engine_model.h"
#include "cli/output.h"
#include "cli/threads.h"
#include "kernels/machine.h"
#include "report/figure_json.h"
#include "report/table.h"

namespace fib::cli {
namespace {

/// A compiled model at one of its sizes, and what running it once has added to the process.
struct EngineContestant {
  std::string file;
  std::shared_ptr<EngineModel> model;
  const engine::Program* program;
  std::vector<float> samples, logits;
  std::optional<double> memory_mb;

  void run() { model->engine().run(*program, samples, logits); }
};

std::vector<float> some_samples(const engine::Program& p, int64_t batch) {
  std::vector<float> values(static_cast<size_t>(batch * p.sample_elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(std::sin(0.01 * static_cast<double>(i)));
  return values;
}

void add_contestants(const std::string& file, int64_t batch, std::deque<EngineContestant>& all) {
  std::shared_ptr<EngineModel> model;
  const bench::PeakMemory memory;
  model = std::make_shared<EngineModel>(file);
  for (const engine::Program& p : model->content().programs) {
    all.push_back(
        {file, model, &p, some_samples(p, batch), std::vector<float>(static_cast<size_t>(batch * p.classes)), {}});
    all.back().run();
    if (const auto growth = memory.growth()) all.back().memory_mb = static_cast<double>(*growth) / 1e6;
  }
}

nlohmann::ordered_json row_json(const EngineContestant& c, const bench::Timing& t, int64_t batch) {
  return {{"model", c.model->model},
          {"attention", c.model->attention},
          {"resolution", c.program->height()},
          {"batch", batch},
          {"pass", "forward"},
          {"ms", t.min_ms},
          {"ms_median", t.median_ms},
          {"images_per_second", 1000.0 * static_cast<double>(batch) / t.min_ms},
          {"speedup_over_full", nullptr},
          {"peak_memory_mb", report::or_null(c.memory_mb)},
          {"reason", nullptr},
          {"engine", c.file},
          {"precision", name_of(c.model->content().precision)}};
}

std::string bench_table(const std::deque<EngineContestant>& all, const std::vector<bench::Timing>& timings,
                        int64_t batch) {
  using report::Table;
  using enum Table::Align;
  Table table({{"engine", left},
               {"precision", left},
               {"attention", left},
               {"resolution", right},
               {"ms", right},
               {"median", right},
               {"images/s", right},
               {"MB", right}});
  for (size_t i = 0; i < all.size(); ++i) {
    const EngineContestant& c = all[i];
    table.add_row({c.file, name_of(c.model->content().precision), c.model->attention,
                   fmt::format("{}", c.program->height()), fmt::format("{:.2f}", timings[i].min_ms),
                   fmt::format("{:.2f}", timings[i].median_ms),
                   fmt::format("{:.2f}", 1000.0 * static_cast<double>(batch) / timings[i].min_ms),
                   c.memory_mb ? fmt::format("{:.0f}", *c.memory_mb) : "–"});
  }
  return table.to_string();
}

}  // namespace

void bench_model_with_engine(const BenchModelArguments& a, const Globals& globals) {
  use_threads(globals);
  const int64_t batch = a.options.batch;
  std::deque<EngineContestant> all;
  for (const std::string& file : a.engine) add_contestants(file, batch, all);
  std::vector<std::function<void()>> runs;
  runs.reserve(all.size());
  for (EngineContestant& c : all) runs.emplace_back([&c] { c.run(); });
  const std::vector<bench::Timing> timings = bench::time_interleaved(runs, a.options.timing);
  if (a.json) {
    auto rows = nlohmann::ordered_json::array();
    for (size_t i = 0; i < all.size(); ++i) rows.push_back(row_json(all[i], timings[i], batch));
    print_json({{"machine", machine_name()}, {"threads", globals.threads}, {"rows", rows}});
  } else if (!globals.quiet) {
    fmt::print("batch {}; {}; {} threads\n\n{}", batch, machine_name(), globals.threads,
               bench_table(all, timings, batch));
  }
}

}  // namespace fib::cli
