// SPDX-License-Identifier: Apache-2.0
// Linear layers in bfloat16, to the bit against products written out one by one.
#include "kernels/linear_bf16.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <bit>
#include <cmath>
#include <vector>

#include "kernels/extensions.h"
#include "oracle/case_run.h"
#include "oracle/floats.h"

namespace fib::kernels {
namespace {

using test::random_floats;
using Floats = std::vector<float>;

float rounded(float value) {
  if (std::isnan(value)) return value;
  if (std::abs(value) < 0x1p-126f) return std::copysign(0.0f, value);
  const auto bits = std::bit_cast<uint32_t>(value);
  return std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u);
}

float flushed(float v) { return std::abs(v) < 0x1p-126f ? std::copysign(0.0f, v) : v; }

/// Σ a(i) b(i) as VDPBF16PS adds it, from `start` on.
template <class A, class B>
float chain(float start, int64_t depth, const A& a, const B& b) {
  float sum = flushed(start);
  for (int64_t i = 0; i < depth; i += 2) {
    const auto product = [&](int64_t k) {
      sum = flushed(k < depth ? std::fma(rounded(a(k)), rounded(b(k)), sum) : sum + 0.0f);
    };
    product(i + 1), product(i);
  }
  return sum;
}

struct Case {
  LinearShape shape;
  bool bias, gelu;
};

struct Arrays {
  Floats out, derivative, dx, dweight, dbias;
  bool operator==(const Arrays&) const = default;
};

struct Problem {
  explicit Problem(const Case& c, float scale = 1)
      : given(c),
        x(random_floats(c.shape.rows * c.shape.from, 1)),
        weight(random_floats(c.shape.to * c.shape.from, 2)),
        bias(random_floats(c.shape.to, 3)),
        grad_out(random_floats(c.shape.rows * c.shape.to, 4)) {
    for (float& v : x) v *= scale;
    for (float& v : weight) v *= scale;
  }
  Case given;
  Floats x, weight, bias, grad_out;
};

Arrays computed(const Problem& p) {
  Arrays r{Floats(p.grad_out.size()), Floats(p.given.gelu ? p.grad_out.size() : 0), Floats(p.x.size()),
           Floats(p.weight.size()), Floats(p.bias.size())};
  float* derivative = p.given.gelu ? r.derivative.data() : nullptr;
  linear_bf16_forward(p.given.shape, {.x = p.x.data(),
                                      .weight = p.weight.data(),
                                      .bias = p.given.bias ? p.bias.data() : nullptr,
                                      .out = r.out.data(),
                                      .derivative = derivative});
  linear_bf16_backward(p.given.shape, {.x = p.x.data(),
                                       .weight = p.weight.data(),
                                       .grad_out = p.grad_out.data(),
                                       .derivative = derivative,
                                       .dx = r.dx.data(),
                                       .dweight = r.dweight.data(),
                                       .dbias = r.dbias.data()});
  return r;
}

/// GELU itself is tested in linear_test.cpp: its derivative is taken from what was computed.
void expect_exact(const Problem& p, const Arrays& got) {
  const auto [M, K, N] = p.given.shape;
  const auto place = [](int64_t row, int64_t width, int64_t column) {
    return static_cast<size_t>(row * width + column);
  };
  const auto grad = [&, N = N](int64_t m, int64_t n) {
    const size_t at = place(m, N, n);
    return p.given.gelu ? p.grad_out[at] * got.derivative[at] : p.grad_out[at];
  };
  for (int64_t m = 0; m < M && !p.given.gelu; ++m) {
    for (int64_t n = 0; n < N; ++n) {
      const float start = p.given.bias ? p.bias[static_cast<size_t>(n)] : 0.0f;
      const float wanted = chain(
          start, K, [&](int64_t k) { return p.x[place(m, K, k)]; },
          [&](int64_t k) { return p.weight[place(n, K, k)]; });
      ASSERT_EQ(got.out[place(m, N, n)], wanted) << "out " << m << " " << n;
    }
  }
  for (int64_t m = 0; m < M; ++m) {
    for (int64_t k = 0; k < K; ++k)
      ASSERT_EQ(got.dx[place(m, K, k)],
                chain(
                    0, N, [&](int64_t n) { return grad(m, n); }, [&](int64_t n) { return p.weight[place(n, K, k)]; }))
          << "dx " << m << " " << k;
  }
  for (int64_t n = 0; n < N; ++n) {
    for (int64_t k = 0; k < K; ++k)
      ASSERT_EQ(got.dweight[place(n, K, k)],
                chain(
                    0, M, [&](int64_t m) { return grad(m, n); }, [&](int64_t m) { return p.x[place(m, K, k)]; }))
          << "dweight " << n << " " << k;
    float sum = 0;
    for (int64_t m = 0; m < M; ++m) sum += grad(m, n);
    ASSERT_EQ(got.dbias[static_cast<size_t>(n)], sum) << "dbias " << n;
  }
}

std::vector<Case> cases() {
  return {{{5, 64, 32}, true, false},   {{97, 48, 144}, true, true},   {{33, 16, 48}, false, false},
          {{103, 48, 16}, true, false}, {{29, 1040, 32}, true, false}, {{1101, 16, 16}, true, true}};
}

/// By the instruction where there is one, and emulated, on every target.
template <class Body>
void for_each_way(const Body& body) {
  test::for_each_target([&] {
    body();
    without_extensions("bf16");
    body();
    without_extensions("");
  });
}

TEST(LinearBf16, adds_as_the_instruction_does_to_the_bit) {
  for (const Case& c : cases()) {
    const Problem p(c);
    for_each_way([&] { expect_exact(p, computed(p)); });
  }
}

/// Sums and products below 2^-126 are 0, with and without the instruction.
TEST(LinearBf16, tiny_numbers_are_zero) {
  const Problem p({{7, 32, 32}, false, false}, 0x1p-63f);
  for_each_way([&] { expect_exact(p, computed(p)); });
  const Problem tiny({{7, 32, 32}, true, false}, 0x1p-120f);
  for_each_way([&] { expect_exact(tiny, computed(tiny)); });
}

TEST(LinearBf16, a_nan_stays_one) {
  Problem p({{3, 32, 16}, true, false});
  p.x[5] = std::nanf("");
  for_each_way([&] { EXPECT_TRUE(std::isnan(computed(p).out[0])); });
}

TEST(LinearBf16, threads_do_not_change_a_bit) {
  const Problem p({{1601, 64, 96}, true, true});
  const int before = omp_get_max_threads();
  const Arrays two = computed(p);
  for (const int threads : {1, 3}) {
    omp_set_num_threads(threads);
    EXPECT_TRUE(computed(p) == two);
  }
  omp_set_num_threads(before);
}

}  // namespace
}  // namespace fib::kernels
