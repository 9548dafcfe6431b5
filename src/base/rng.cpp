// SPDX-License-Identifier: Apache-2.0
#include "base/rng.h"

namespace fib {
namespace {

/// The logarithm of a Gamma(alpha, 1) number, Marsaglia and Tsang's method; below one, Gamma(alpha) = Gamma(alpha + 1)
/// · U^(1/alpha), whose logarithm does not underflow where the number itself would.
double log_gamma_variate(CounterRng& rng, double alpha) {
  if (alpha < 1) return log_gamma_variate(rng, alpha + 1) + std::log(1 - rng.uniform()) / alpha;
  const double d = alpha - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = standard_normal(rng), v = std::pow(1 + c * x, 3);
    const double u = 1 - rng.uniform();
    if (1 + c * x > 0 && std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) return std::log(d) + std::log(v);
  }
}

/// Products of uniform numbers: mean + 1 of them.
double small_poisson(CounterRng& rng, double mean) {
  const double limit = std::exp(-mean);
  double count = -1, product = 1;
  do {
    ++count;
    product *= 1 - rng.uniform();
  } while (product > limit);
  return count;
}

/// Hörmann's transformed rejection (PTRS): two uniform numbers or a little more, whatever the mean.
double large_poisson(CounterRng& rng, double mean) {
  const double b = 0.931 + 2.53 * std::sqrt(mean), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), quick = 0.9277 - 3.6224 / (b - 2);
  int sign = 0;
  while (true) {
    const double u = rng.uniform() - 0.5, v = 1 - rng.uniform(), edge = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / edge + b) * u + mean + 0.43);
    if (edge >= 0.07 && v <= quick) return k;
    if (k < 0 || (edge < 0.013 && v > edge)) continue;
    const double density = -mean + k * std::log(mean) - lgamma_r(k + 1, &sign);
    if (std::log(v * inverse_alpha / (a / (edge * edge) + b)) <= density) return k;
  }
}

}  // namespace

double poisson(CounterRng& rng, double mean) { return mean < 10 ? small_poisson(rng, mean) : large_poisson(rng, mean); }

double symmetric_beta(CounterRng& rng, double alpha) {
  const double x = log_gamma_variate(rng, alpha), y = log_gamma_variate(rng, alpha);
  return 1 / (1 + std::exp(y - x));
}

}  // namespace fib
