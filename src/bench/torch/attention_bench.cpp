// SPDX-License-Identifier: Apache-2.0
#include "bench/torch/attention_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "base/measure.h"
#include "bench/measure.h"
#include "bench/torch/attention_contestants.h"
#include "ops/attention.h"

namespace fib::bench {
namespace {

/// Not all that is available is taken: the machine has other things to hold.
constexpr double kShareOfMemory = 0.92;

/// A contestant in one pass over one size.
struct TimedPass {
  Contestant* contestant;
  bool backward;
  AttentionBenchRow row;
  bool runs() const { return row.reason.empty(); }
  void run() const {
    contestant->forward();
    if (backward) contestant->backward();
  }
};

SupportSet bench_support(const AttentionBenchOptions& o, int64_t tokens) {
  return make_support(o.attention, {tokens, o.cls, o.heads, std::nullopt, false});
}

std::string in_gigabytes(int64_t bytes) { return fmt::format("{:.1f} GB", static_cast<double>(bytes) / kGigabyte); }

/// Gives out memory in the contestants' order; the first that does not fit goes without, and so on.
class MemoryBudget {
 public:
  explicit MemoryBudget(int64_t problem) : available_(static_cast<int64_t>(kShareOfMemory * available_memory())) {
    taken_ = problem;
  }
  /// The reason why not, empty when there is room.
  std::string take(int64_t bytes) {
    if (taken_ + bytes > available_) {
      return "needs " + in_gigabytes(bytes) + " beside " + in_gigabytes(taken_) + ", available are " +
             in_gigabytes(available_);
    }
    taken_ += bytes;
    return "";
  }

 private:
  int64_t available_, taken_ = 0;
};

/// Multiplications and additions per pair and channel: scores and values in forward; backward repeats the scores and
/// has four more products.
double flops_per_pair(const AttentionShape& s, bool backward) {
  return (backward ? 14.0 : 4.0) * static_cast<double>(s.dim);
}

/// Tensors that have to pass through memory at least once: q, k, v, out; backward reads these and the output's
/// gradient, and writes three. memcpy reads and writes four.
double tensors_moved(const Contestant& c, bool backward) { return !c.computes() ? 8.0 : backward ? 12.0 : 4.0; }

class SizeBench {
 public:
  SizeBench(const AttentionBenchOptions& options, int64_t tokens, const BenchProgress& progress)
      : options_(options), tokens_(tokens), progress_(progress), contestants_(attention_contestants()) {}

  std::vector<AttentionBenchRow> run() {
    SupportSet support = bench_support(options_, tokens_);
    const AttentionShape shape = square_shape(support, options_.batch, options_.dim);
    enter(shape);
    tell("preparing", 0.0);
    if (std::any_of(passes_.begin(), passes_.end(), [](const TimedPass& e) { return e.runs(); })) {
      const AttentionProblem problem(std::move(support), options_.batch, options_.dim, options_.backward);
      verify(problem);
      time(problem);
      compare(problem);
    }
    std::vector<AttentionBenchRow> rows;
    for (TimedPass& e : passes_) rows.push_back(std::move(e.row));
    return rows;
  }

 private:
  void tell(const std::string& what, double done) const {
    if (progress_) progress_(what + ", " + std::to_string(tokens_) + " tokens", done);
  }

  void enter(const AttentionShape& shape) {
    MemoryBudget budget(AttentionProblem::bytes(shape, options_.backward));
    for (const auto& c : contestants_) {
      std::string reason = c->refusal(shape, options_.backward);
      if (reason.empty()) reason = budget.take(c->bytes(shape, options_.backward));
      add_pass(*c, false, reason);
      if (options_.backward && c->computes()) add_pass(*c, true, reason);
    }
  }

  void add_pass(Contestant& c, bool backward, const std::string& reason) {
    TimedPass e{&c, backward, {}};
    e.row.contestant = c.name();
    e.row.pass = backward ? "forward+backward" : "forward";
    e.row.batch = options_.batch;
    e.row.tokens = tokens_;
    e.row.heads = options_.heads;
    e.row.dim = options_.dim;
    e.row.reason = reason;
    passes_.push_back(std::move(e));
  }

  /// The first run of each, which also puts its memory in place; its results against the oracle.
  void verify(const AttentionProblem& problem) {
    for (TimedPass& e : passes_) {
      if (!e.runs()) continue;
      tell("verifying " + e.row.contestant, 0.0);
      const PeakMemory peak;
      if (!e.backward) e.contestant->prepare(problem);
      e.run();
      note_memory(e, problem, peak.growth());
      if (!e.contestant->computes()) continue;
      AttentionResults results = e.contestant->results();
      if (!e.backward) results = {results.out, {}, {}, {}};
      e.row.max_error = max_error(problem, results, e.contestant->semantics());
    }
  }

  /// Forward comes first; what backward touches comes on top of it.
  void note_memory(TimedPass& e, const AttentionProblem& p, std::optional<int64_t> growth) {
    if (!growth || !e.contestant->computes()) return;
    if (!e.backward) grown_ = e.contestant->copies_inputs() ? 0 : p.bytes();
    grown_ += *growth;
    e.row.peak_memory_mb = static_cast<double>(grown_) / kMegabyte;
    if (e.backward) return;
    e.row.memory_over_tensors = static_cast<double>(grown_) / (4.0 * static_cast<double>(p.tensor_bytes()));
  }

  void time(const AttentionProblem& problem) {
    std::vector<TimedPass*> running;
    std::vector<std::function<void()>> runs;
    for (TimedPass& e : passes_) {
      if (!e.runs()) continue;
      running.push_back(&e);
      runs.push_back([&e] { e.run(); });
    }
    const auto timings = time_interleaved(runs, options_.timing, [&](double done) { tell("timing", done); });
    for (size_t i = 0; i < running.size(); ++i) note_time(*running[i], problem, timings[i]);
  }

  static void note_time(TimedPass& e, const AttentionProblem& p, const Timing& timing) {
    e.row.ms = timing.min_ms;
    e.row.ms_median = timing.median_ms;
    const double seconds = timing.min_ms * 1e-3;
    const double bytes = tensors_moved(*e.contestant, e.backward) * static_cast<double>(p.tensor_bytes());
    e.row.gb_per_second = bytes / seconds * 1e-9;
    if (!e.contestant->computes()) return;
    const double pairs = static_cast<double>(e.contestant->pairs(p) * p.shape.batch);
    e.row.pairs_per_second = pairs / seconds;
    e.row.gflops = pairs * flops_per_pair(p.shape, e.backward) / seconds * 1e-9;
  }

  std::optional<double> time_of(const std::string& contestant, const std::string& pass) const {
    for (const TimedPass& e : passes_) {
      if (e.row.contestant == contestant && e.row.pass == pass) return e.row.ms;
    }
    return std::nullopt;
  }

  const TimedPass* fastest_dense(const std::string& pass) const {
    const TimedPass* fastest = nullptr;
    for (const TimedPass& e : passes_) {
      if (!e.row.ms || e.row.pass != pass || !e.contestant->computes()) continue;
      if (e.contestant->semantics() != Semantics::dense) continue;
      if (fastest == nullptr || *e.row.ms < *fastest->row.ms) fastest = &e;
    }
    return fastest;
  }

  /// All pairs would be computed as fast as dense ones: the ideal is to save the time of those that are left out.
  static void compare_with_ideal(TimedPass& e, const TimedPass& dense, const AttentionProblem& p) {
    const double ideal = static_cast<double>(dense.contestant->pairs(p)) / static_cast<double>(e.contestant->pairs(p));
    e.row.speedup_over_fastest_dense = *dense.row.ms / *e.row.ms;
    e.row.share_of_ideal = *e.row.speedup_over_fastest_dense / ideal;
  }

  void compare(const AttentionProblem& problem) {
    const std::optional<double> copying = time_of("memcpy", "forward");
    for (TimedPass& e : passes_) {
      if (!e.row.ms || !e.contestant->computes()) continue;
      const TimedPass* fastest = fastest_dense(e.row.pass);
      if (fastest != nullptr && e.contestant->semantics() == Semantics::support)
        compare_with_ideal(e, *fastest, problem);
      if (const auto dense = time_of("dense", e.row.pass)) e.row.speedup_over_dense = *dense / *e.row.ms;
      if (copying) e.row.over_memcpy = *e.row.ms / *copying;
    }
  }

  const AttentionBenchOptions& options_;
  int64_t tokens_;
  const BenchProgress& progress_;
  std::vector<std::unique_ptr<Contestant>> contestants_;
  std::vector<TimedPass> passes_;
  int64_t grown_ = 0;  // bytes of the contestant that is being verified
};

}  // namespace

std::vector<AttentionBenchRow> bench_attention(const AttentionBenchOptions& options, const BenchProgress& progress) {
  for (int64_t tokens : options.tokens) bench_support(options, tokens);  // refuses a bad size before the first is timed
  std::vector<AttentionBenchRow> rows;
  for (int64_t tokens : options.tokens) {
    for (AttentionBenchRow& row : SizeBench(options, tokens, progress).run()) rows.push_back(std::move(row));
  }
  return rows;
}

namespace {

/// Sizes at which the kernel meets dense attention, a factor of 1.3 to 1.5 apart.
constexpr int64_t kTriedTokens[] = {4,   6,   8,   12,  16,  24,   32,   48,   64,   96,  128,
                                    192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096};

/// A mechanism may need more tokens: BigBird draws N pairs beside its window.
bool takes(const AttentionBenchOptions& o, int64_t tokens) {
  try {
    return bench_support(o, tokens).patches() == tokens;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

bool kernel_is_faster(const AttentionBenchOptions& o, int64_t tokens, bool backward) {
  const AttentionProblem problem(bench_support(o, tokens), o.batch, o.dim, backward);
  std::vector<std::unique_ptr<Contestant>> contestants;
  for (const auto& make : {make_kernel_contestant, make_dense_contestant, make_tiled_dense_contestant})
    contestants.push_back(make());
  std::vector<std::function<void()>> runs;
  for (const auto& c : contestants) {
    c->prepare(problem);
    runs.emplace_back([&c, backward] {
      c->forward();
      if (backward) c->backward();
    });
    runs.back()();
  }
  const auto t = time_interleaved(runs, {.seconds = 0.05, .least_rounds = 5, .most_rounds = 20, .turn_ms = 1.0});
  return t[0].min_ms < std::min(t[1].min_ms, t[2].min_ms);
}

}  // namespace

std::vector<BreakEven> break_even(const AttentionBenchOptions& o, const BenchProgress& progress) {
  const int64_t largest = *std::max_element(o.tokens.begin(), o.tokens.end());
  std::vector<BreakEven> found;
  for (const bool backward : {false, true}) {
    if (backward && !o.backward) continue;
    BreakEven& even = found.emplace_back(BreakEven{backward ? "forward+backward" : "forward", {}, std::nullopt});
    bool before = false;
    for (const int64_t tokens : kTriedTokens) {
      if (tokens > largest || even.tokens) break;
      if (!takes(o, tokens)) continue;
      if (progress) progress("looking for the size from which it is faster", static_cast<double>(tokens) / 4096);
      const bool faster = kernel_is_faster(o, tokens, backward);
      if (faster && before) even.tokens = even.tried.back();
      even.tried.push_back(tokens);
      before = faster;
    }
  }
  return found;
}

double operator_overhead_us() {
  const at::NoGradGuard guard;
  const AttentionBenchOptions usual;
  const AttentionProblem p(bench_support(usual, 196), 1, usual.dim, false);
  const auto kernel = make_kernel_contestant();
  kernel->prepare(p);
  const auto support = ops::make_support_ptr(p.support);
  const auto bare = [&] { kernel->forward(); };
  const auto wrapped = [&] { ops::attention({p.q, p.k, p.v}, {{support}}); };
  const auto timings = time_interleaved({bare, wrapped}, {0.5, 20, 200, 2.0});
  return (timings[1].min_ms - timings[0].min_ms) * 1e3;
}

}  // namespace fib::bench
