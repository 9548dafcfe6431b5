// SPDX-License-Identifier: Apache-2.0
// Convolutions of few channels against sums written out in float64.
#include "kernels/convolution.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <vector>

#include "oracle/case_run.h"
#include "oracle/floats.h"

namespace fib::kernels {
namespace {

using test::expect_near;
using test::random_floats;
using Floats = std::vector<float>;

struct ConvolutionArrays {
  Floats out, dx, dweight, dbias;
};

struct ConvolutionProblem {
  explicit ConvolutionProblem(const ConvolutionSize& s)
      : size(s),
        x(random_floats(s.images * s.from * s.height * s.width, 1)),
        weight(random_floats(s.to * s.from * s.kernel * s.kernel, 2)),
        bias(random_floats(s.to, 3)),
        grad_out(random_floats(s.images * s.to * s.height * s.width, 4)) {}
  ConvolutionSize size;
  Floats x, weight, bias, grad_out;
};

/// Calls meet(out, x, weight) with the places of all that are multiplied.
template <class Meet>
void for_products(const ConvolutionSize& s, const Meet& meet) {
  const int64_t r = s.kernel, inner = s.from * r * r;
  for (int64_t out = 0; out < s.images * s.to * s.height * s.width; ++out) {
    const int64_t column = out % s.width, line = out / s.width % s.height, k = out / (s.width * s.height) % s.to,
                  image = out / (s.width * s.height * s.to);
    for (int64_t w = 0; w < inner; ++w) {
      const int64_t y = line + w / r % r - r / 2, x = column + w % r - r / 2, c = w / (r * r);
      if (y < 0 || y >= s.height || x < 0 || x >= s.width) continue;
      meet(static_cast<size_t>(out), static_cast<size_t>(((image * s.from + c) * s.height + y) * s.width + x),
           static_cast<size_t>(k * inner + w));
    }
  }
}

Floats rounded(const std::vector<double>& values) { return {values.begin(), values.end()}; }

ConvolutionArrays expected(const ConvolutionProblem& p) {
  const ConvolutionSize& s = p.size;
  std::vector<double> out(p.grad_out.size()), dx(p.x.size()), dweight(p.weight.size()), dbias(p.bias.size());
  const auto pixels = static_cast<size_t>(s.height * s.width);
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t k = i / pixels % p.bias.size();
    out[i] = p.bias[k];
    dbias[k] += p.grad_out[i];
  }
  for_products(s, [&](size_t o, size_t x, size_t w) {
    out[o] += double(p.x[x]) * double(p.weight[w]);
    dx[x] += double(p.grad_out[o]) * double(p.weight[w]);
    dweight[w] += double(p.grad_out[o]) * double(p.x[x]);
  });
  return {rounded(out), rounded(dx), rounded(dweight), rounded(dbias)};
}

ConvolutionArrays computed(const ConvolutionProblem& p) {
  ConvolutionArrays r{Floats(p.grad_out.size()), Floats(p.x.size()), Floats(p.weight.size()), Floats(p.bias.size())};
  convolution_forward(p.size, {.x = p.x.data(), .weight = p.weight.data(), .bias = p.bias.data(), .out = r.out.data()});
  convolution_backward(p.size, {.x = p.x.data(),
                                .weight = p.weight.data(),
                                .grad_out = p.grad_out.data(),
                                .dx = r.dx.data(),
                                .dweight = r.dweight.data(),
                                .dbias = r.dbias.data()});
  return r;
}

/// Channels that fill no block, images narrower than the kernel, more images than a task has.
const ConvolutionSize kSizes[] = {{9, 8, 8, 21, 21, 3}, {2, 8, 3, 13, 10, 1}, {3, 5, 7, 6, 9, 5},
                                  {17, 1, 2, 3, 1, 3},  {1, 4, 32, 5, 7, 3},  {1, 2, 1, 1, 1, 7}};

TEST(Convolution, agrees_with_sums_in_double) {
  for (const ConvolutionSize& size : kSizes) {
    const ConvolutionProblem problem(size);
    const ConvolutionArrays wanted = expected(problem);
    test::for_each_target([&] {
      const ConvolutionArrays got = computed(problem);
      expect_near(got.out, wanted.out, "out");
      expect_near(got.dx, wanted.dx, "dx");
      expect_near(got.dweight, wanted.dweight, "dweight");
      expect_near(got.dbias, wanted.dbias, "dbias");
    });
  }
}

TEST(Convolution, computes_only_what_is_wanted) {
  const ConvolutionProblem problem({3, 4, 5, 6, 7, 3});
  const ConvolutionArrays all = computed(problem);
  Floats dx(problem.x.size()), dbias(problem.bias.size()), out(problem.grad_out.size());
  const ConvolutionBackward call{
      .x = problem.x.data(), .weight = problem.weight.data(), .grad_out = problem.grad_out.data()};
  ConvolutionBackward inputs = call, biases = call;
  inputs.dx = dx.data();
  biases.dbias = dbias.data();
  convolution_backward(problem.size, inputs);
  convolution_backward(problem.size, biases);
  EXPECT_EQ(dx, all.dx);
  EXPECT_EQ(dbias, all.dbias);
  convolution_forward(problem.size, {.x = problem.x.data(), .weight = problem.weight.data(), .out = out.data()});
  EXPECT_NEAR(out[0] + problem.bias[0], all.out[0], 1e-5);
}

TEST(Convolution, threads_do_not_change_a_bit) {
  const ConvolutionProblem problem({40, 8, 8, 11, 12, 3});
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const ConvolutionArrays one = computed(problem);
  omp_set_num_threads(3);
  const ConvolutionArrays three = computed(problem);
  omp_set_num_threads(before);
  EXPECT_EQ(one.out, three.out);
  EXPECT_EQ(one.dx, three.dx);
  EXPECT_EQ(one.dweight, three.dweight);
  EXPECT_EQ(one.dbias, three.dbias);
}

}  // namespace
}  // namespace fib::kernels
