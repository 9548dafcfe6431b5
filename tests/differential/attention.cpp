// SPDX-License-Identifier: Apache-2.0
#include <omp.h>

#include <algorithm>
#include <stdexcept>

#include "differential.h"
#include "oracle/case_run.h"

namespace fib::test {
namespace {

constexpr int64_t kMostTokens = 300, kMostDim = 200;
/// Pairs times channels. Mistakes of vectors and blocks show in small problems, which are many; some are larger.
constexpr int64_t kUsualWork = 300'000, kMostWork = 4'000'000;

/// A number where the default is one, or a word; what does not fit is refused by the registry.
std::string random_value(CounterRng& random, const PatternOption& option, int64_t tokens) {
  if (!option.words.empty()) return one_of<std::string>(random, option.words);
  if (option.key == "file") return option.default_text;  // a problem is drawn from a number alone
  if (option.default_text.find('.') != std::string::npos)
    return std::to_string(static_cast<double>(random.below(1001)) / 1000.0);
  return std::to_string(random.below(static_cast<uint64_t>(tokens) + 2));
}

AttentionSpec random_spec(CounterRng& random, int64_t tokens) {
  const PatternInfo& info = one_of<PatternInfo>(random, pattern_registry());
  AttentionSpec spec{info.name, {}};
  for (const PatternOption& option : info.options)
    if (bernoulli(random, 0.5)) spec.options.emplace_back(option.key, random_value(random, option, tokens));
  return spec;
}

/// Some way in which so many patches lie.
PatchGrid random_grid(CounterRng& random, int64_t patches) {
  const auto divisor = [&random](int64_t n) {
    int64_t d = random_size(random, n);
    while (n % d != 0) --d;
    return d;
  };
  const int64_t frames = bernoulli(random, 0.3) ? divisor(patches) : 1, height = divisor(patches / frames);
  return {height, patches / frames / height, frames};
}

AttentionCase random_case(CounterRng& random) {
  AttentionCase c{.batch = random_size(random, 5), .heads = random_size(random, 13), .cls = 0};
  c.patches = random_size(random, kMostTokens);
  if (bernoulli(random, 0.6)) c.cls = random_size(random, 9);
  c.dim = random_size(random, kMostDim);
  c.value_dim = bernoulli(random, 0.6) ? c.dim : random_size(random, kMostDim);
  c.support = static_cast<SupportKind>(random.below(static_cast<uint64_t>(SupportKind::full_rectangular) + 1));
  c.layout = static_cast<Layout>(random.below(static_cast<uint64_t>(Layout::reversed) + 1));
  const auto work = [&c] {
    return c.batch * c.heads * (c.cls + c.patches) * (c.cls + c.patches) * (c.dim + c.value_dim);
  };
  const int64_t most = bernoulli(random, 0.05) ? kMostWork : kUsualWork;
  while (work() > most && c.batch > 1) --c.batch;
  while (work() > most && c.heads > 1) --c.heads;
  while (work() > most) c.patches -= c.patches / 8 + 1;
  if (bernoulli(random, 0.25)) c.scale = uniform_between(random, -1.0, 2.0);
  return c;
}

bool is_square(const AttentionCase& c) { return c.shape().query_tokens == c.shape().key_tokens; }

/// Masking zero excludes everything else.
void add_options(CounterRng& random, AttentionCase& c) {
  const bool rectangular = c.support == SupportKind::rectangular || c.support == SupportKind::full_rectangular;
  if (rectangular) c.cls = 0;
  if (bernoulli(random, 0.25)) {
    c.masking = Masking::zero;
    return;
  }
  c.causal = !rectangular && bernoulli(random, 0.3);
  c.lengths = bernoulli(random, 0.3);
  c.dropout = bernoulli(random, 0.25) ? uniform_between(random, 0.01, 0.9) : 0.0;
  c.bias = static_cast<BiasKind>(random.below(4));
  if (c.bias == BiasKind::grouped && c.batch % 2 != 0) c.bias = BiasKind::per_head;  // two groups
}

/// Scores that hardly differ, that are common, and that leave one key.
void rescale(CounterRng& random, OracleProblem& p) {
  const double factor = one_of(random, {1.0, 1.0, 1.0, 0.0, 0.01, 6.0});
  const auto by_name = std::to_string(random.next_u64());
  p.q = unit_numbers("q" + by_name, static_cast<int64_t>(p.q.size()));
  for (double& x : p.q) x = static_cast<double>(static_cast<float>(x * factor));
}

/// Rounding of a score of size s costs its exponential s roundings: bounds grow with the largest.
template <class T>
Tolerance tolerance(const OracleProblem& p, const CaseResults& expected) {
  const double q = max_abs(p.q), k = max_abs(p.k), d = static_cast<double>(p.shape.dim);
  const double scale = std::abs(p.scale.value_or(1.0 / std::sqrt(d)));
  double lse = 0;
  for (const double x : expected.lse) lse = std::isinf(x) ? lse : std::max(lse, std::abs(x));
  const double grown = 1.0 + lse + 0.1 * scale * q * k * std::sqrt(d);
  return {kTolerance<T>.forward * grown, kTolerance<T>.gradient * grown};
}

struct Comparison {
  const CaseResults& expected;
  double largest_value;
  Tolerance allowed;
  Trial& trial;

  void compare(const std::string& who, const CaseResults& got) const {
    one(who, "out", got.out, expected.out, allowed.forward * std::max(1e-30, largest_value));
    one(who, "lse", got.lse, expected.lse, 4 * allowed.forward);
    gradient(who, "dq", got.dq, expected.dq);
    gradient(who, "dk", got.dk, expected.dk);
    gradient(who, "dv", got.dv, expected.dv);
    gradient(who, "dbias", got.dbias, expected.dbias);
  }
  void gradient(const std::string& who, const char* what, const std::vector<double>& got,
                const std::vector<double>& wanted) const {
    one(who, what, got, wanted, allowed.gradient * std::max(1.0, max_abs(wanted)));
  }
  void one(const std::string& who, const char* what, const std::vector<double>& got, const std::vector<double>& wanted,
           double bound) const {
    ++trial.comparisons;
    const double difference = max_difference(got, wanted);
    if (difference <= bound) return;
    trial.findings.push_back(who + ": " + what + " differs by " + std::to_string(difference) + ", allowed " +
                             std::to_string(bound));
  }
};

template <class T, KernelKind kKernel>
void compare_with_targets(const AttentionCase& c, const OracleProblem& p, const std::vector<double>& grad_out,
                          const CaseResults& expected, int threads, Trial& trial) {
  const char* const type = sizeof(T) == 4 ? " float32" : " float64";
  const Comparison comparison{expected, max_abs(p.v), tolerance<T>(p, expected), trial};
  for (const std::string& target : simd_targets()) {
    set_simd_target(target);
    omp_set_num_threads(1);
    const CaseResults one = run_case<T, kKernel>(c, p, grad_out);
    comparison.compare(target + type, one);
    omp_set_num_threads(threads);
    if (threads > 1 && max_difference(run_case<T, kKernel>(c, p, grad_out).all(), one.all()) != 0)
      trial.findings.push_back(target + type + ": " + std::to_string(threads) + " threads change a bit");
  }
  set_simd_target("");
}

template <KernelKind kKernel>
Trial compare(CounterRng& random, const AttentionCase& c, const SupportSet& support, std::string problem) {
  Trial trial;
  trial.problem = std::move(problem);
  OracleProblem p = make_problem(c, support);
  rescale(random, p);
  const std::vector<double> grad_out = make_grad_out(p.shape);
  const CaseResults expected = oracle_results(p, grad_out);
  const int threads = one_of(random, {1, 1, 2, 3, 7});
  compare_with_targets<float, kKernel>(c, p, grad_out, expected, threads, trial);
  compare_with_targets<double, kKernel>(c, p, grad_out, expected, threads, trial);
  return trial;
}

std::string describe(const AttentionCase& c, const std::string& support) {
  const AttentionShape s = c.shape();
  std::string text = support + " batch " + std::to_string(s.batch) + " heads " + std::to_string(s.heads) + " tokens " +
                     std::to_string(s.query_tokens) + "x" + std::to_string(s.key_tokens) + " cls " +
                     std::to_string(c.cls) + " channels " + std::to_string(s.dim) + "," + std::to_string(s.value_dim) +
                     " " + to_string(c.layout) + " bias " + std::to_string(static_cast<int>(c.bias));
  if (c.masking == Masking::zero) text += " zero";
  if (c.causal) text += " causal";
  if (c.lengths) text += " lengths";
  if (c.dropout > 0) text += " dropout " + std::to_string(c.dropout);
  if (c.scale) text += " scale " + std::to_string(*c.scale);
  return text;
}

}  // namespace

Trial attention_trial(CounterRng random) {
  AttentionCase c = random_case(random);
  const bool registered = bernoulli(random, 0.6);
  if (registered) c.support = SupportKind::full;  // square, whatever the mechanism is
  add_options(random, c);
  if (!registered) return compare<SupportKernel>(random, c, c.make_support(), describe(c, to_string(c.support)));
  const AttentionSpec spec = random_spec(random, c.patches);
  PatternGeometry geometry{.patches = c.patches, .cls = c.cls, .heads = c.heads, .layer = {}, .causal = c.causal};
  if (bernoulli(random, 0.7)) geometry.layer = random.below(24);
  if (bernoulli(random, 0.8)) geometry.grid = random_grid(random, c.patches);
  const std::string problem = describe(c, spec.to_string());
  Trial trial;
  try {
    const SupportSet support = make_support(spec, geometry);
    if (support.summaries()) throw std::invalid_argument("the oracle knows pairs of tokens alone");
    trial = compare<SupportKernel>(random, c, support, problem);
  } catch (const std::invalid_argument&) {
    trial.problem = problem;
    trial.refused = true;
  }
  trial.met[spec.name] = 1;
  return trial;
}

Trial dense_trial(CounterRng random) {
  AttentionCase c = random_case(random);
  add_options(random, c);
  c.make_dense();
  if (!is_square(c)) c.causal = false;
  return compare<DenseKernel>(random, c, c.make_support(), describe(c, "dense"));
}

}  // namespace fib::test
