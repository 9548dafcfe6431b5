// SPDX-License-Identifier: Apache-2.0
// Times the product of compiled models, on weights packed beforehand, beside that of linear layers in training, which
// packs them in every call: the shortest of many rounds in which both take turns, in one thread.
#include <omp.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <vector>

#include "base/measure.h"
#include "base/rng.h"
#include "engine/product.h"
#include "kernels/linear.h"

namespace {

using namespace fib;

std::vector<float> noise(int64_t count, uint64_t seed) {
  CounterRng rng(seed);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& v : values) v = static_cast<float>(standard_normal(rng));
  return values;
}

template <class Work>
void keep_shortest(double& best, const Work& work) {
  const Stopwatch watch;
  work();
  best = std::min(best, watch.seconds());
}

void compare(const engine::ProductShape& s) {
  const std::vector<float> x = noise(s.rows * s.depth, 1), weights = noise(s.columns * s.depth, 2);
  const std::vector<float> packed = engine::pack_weights(weights, s.columns, s.depth);
  std::vector<float> out(static_cast<size_t>(s.rows * s.columns));
  engine::FloatProduct product;
  product.shape = s, product.out = out.data(), product.out_stride = s.columns;
  product.x = x.data(), product.x_stride = s.depth, product.weights = packed.data();
  const kernels::LinearShape shape{s.rows, s.depth, s.columns};
  double compiled = std::numeric_limits<double>::infinity(), trained = compiled;
  for (int round = 0; round < 400; ++round) {
    keep_shortest(compiled, [&] { engine::run_product(product); });
    keep_shortest(trained, [&] { kernels::linear_forward(shape, {x.data(), weights.data(), nullptr, out.data()}); });
  }
  std::printf("%4ld x %4ld x %4ld  packed before %.3f ms, in the call %.3f ms, ratio %.2f\n", long{s.rows},
              long{s.columns}, long{s.depth}, compiled * 1e3, trained * 1e3, trained / compiled);
}

}  // namespace

int main() {
  omp_set_num_threads(1);
  for (const engine::ProductShape& s :
       {engine::ProductShape{197, 576, 192}, {197, 192, 768}, {197, 768, 768}, {785, 384, 384}})
    compare(s);
}
