// SPDX-License-Identifier: Apache-2.0
#include "data/random.h"

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

}  // namespace

double symmetric_beta(CounterRng& rng, double alpha) {
  const double x = log_gamma_variate(rng, alpha), y = log_gamma_variate(rng, alpha);
  return 1 / (1 + std::exp(y - x));
}

}  // namespace fib
