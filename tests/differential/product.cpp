// SPDX-License-Identifier: Apache-2.0
// Products of random shapes, row strides and epilogues. Bounds follow from the rounding of each precision.
#include "engine/product.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "differential.h"
#include "fibottention/attention.h"

namespace fib::test {
namespace {

using namespace engine;
using Floats = std::vector<float>;

constexpr float kUntouched = -77.0f;

Floats random_floats(CounterRng& random, int64_t count, double deviation) {
  Floats values(static_cast<size_t>(count));
  for (float& v : values) v = static_cast<float>(standard_normal(random) * deviation);
  return values;
}

struct Problem {
  ProductShape shape{};
  int64_t x_stride = 0, out_stride = 0, residual_stride = 0;
  Activation activation = Activation::none;
  Floats x, weights, bias, residual;  ///< bias and residual: empty where there is none

  float x_at(int64_t m, int64_t k) const { return x[static_cast<size_t>(m * x_stride + k)]; }
  float weight_at(int64_t n, int64_t k) const { return weights[static_cast<size_t>(n * shape.depth + k)]; }
};

Problem random_problem(CounterRng& random) {
  Problem p;
  p.shape = {random_size(random, 70), random_size(random, 150), random_size(random, 600)};
  const int64_t most = bernoulli(random, 0.05) ? 5'000'000 : 300'000;  // multiplications
  for (int64_t* size : {&p.shape.rows, &p.shape.columns, &p.shape.rows})
    while (p.shape.rows * p.shape.columns * p.shape.depth > most && *size > 5) *size -= *size / 4;
  const auto stride = [&random](int64_t width) {
    return width + (bernoulli(random, 0.4) ? random_size(random, 9) : 0);
  };
  p.x_stride = stride(p.shape.depth), p.out_stride = stride(p.shape.columns);
  p.residual_stride = stride(p.shape.columns);
  p.activation = one_of(random, {Activation::none, Activation::gelu, Activation::relu});
  p.x = random_floats(random, (p.shape.rows - 1) * p.x_stride + p.shape.depth, one_of(random, {1.0, 1.0, 0.001, 30.0}));
  p.weights = random_floats(random, p.shape.columns * p.shape.depth, one_of(random, {1.0, 0.05, 3.0}));
  if (bernoulli(random, 0.7)) p.bias = random_floats(random, p.shape.columns, 1.0);
  if (bernoulli(random, 0.5))
    p.residual = random_floats(random, (p.shape.rows - 1) * p.residual_stride + p.shape.columns, 1.0);
  if (bernoulli(random, 0.1)) std::fill_n(p.x.begin(), p.shape.depth, 0.0f);  // a row that has no scale
  return p;
}

double activated(Activation activation, double x) {
  if (activation == Activation::relu) return std::max(0.0, x);
  return activation == Activation::gelu ? 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0))) : x;
}

/// The largest derivative of all activations, GELU's, is 1.13.
constexpr double kSteepest = 1.13;

/// What an element should be, and by how much each precision's rounding may change it.
struct Element {
  double value = 0, float32 = 0, bfloat16 = 0, words = 0, bytes = 0;  ///< integers by what a row is written as
};

/// By how much an activation of a row, and a weight of a column, may be off as an integer.
struct Steps {
  double word = 0, byte = 0, weight = 0;
};

Steps steps_of(const Problem& p, int64_t m, int64_t n) {
  double low = 0, high = 0, weight = 0;
  for (int64_t k = 0; k < p.shape.depth; ++k) {
    low = std::min<double>(low, p.x_at(m, k)), high = std::max<double>(high, p.x_at(m, k));
    weight = std::max<double>(weight, std::abs(p.weight_at(n, k)));
  }
  // Of bytes a whole step at the ends of the range, where the zero has been rounded, too.
  return {0.501 * std::max(high, -low) / word_limit(p.shape.depth), 1.01 * (high - low) / 254, 0.501 * weight / 127};
}

Element element(const Problem& p, int64_t m, int64_t n) {
  double sum = p.bias.empty() ? 0.0 : p.bias[static_cast<size_t>(n)], size = std::abs(sum), x_sum = 0, w_sum = 0;
  for (int64_t k = 0; k < p.shape.depth; ++k) {
    const double x = p.x_at(m, k), w = p.weight_at(n, k);
    sum += x * w, size += std::abs(x * w), x_sum += std::abs(x), w_sum += std::abs(w);
  }
  Element e;
  e.value = activated(p.activation, sum);
  if (!p.residual.empty()) {
    const double residual = p.residual[static_cast<size_t>(m * p.residual_stride + n)];
    e.value += residual, size += std::abs(residual);
  }
  // Lanes and blocks sum in turn, so that errors grow like the root of the depth; GELU's own is a few units.
  const double rounding = 0x1p-24 * size * (4 + 2 * std::sqrt(static_cast<double>(p.shape.depth)));
  e.float32 = kSteepest * rounding + 1e-6 * std::max(1.0, std::abs(e.value)) + 1e-30;
  e.bfloat16 = e.float32 + kSteepest * 0x1.02p-8 * 2 * size;  // of weights, and of inputs where a target rounds them
  const Steps steps = steps_of(p, m, n);
  const auto of_integers = [&](double step) {
    const double both = static_cast<double>(p.shape.depth) * step * steps.weight;
    return e.float32 + kSteepest * (x_sum * steps.weight + w_sum * step + both + 2 * rounding);
  };
  e.words = of_integers(steps.word), e.bytes = of_integers(steps.byte);
  return e;
}

std::vector<Element> oracle(const Problem& p) {
  std::vector<Element> elements;
  for (int64_t m = 0; m < p.shape.rows; ++m)
    for (int64_t n = 0; n < p.shape.columns; ++n) elements.push_back(element(p, m, n));
  return elements;
}

template <class AnyProduct>
Floats finish_and_run(AnyProduct product, const Problem& p) {
  Floats out(static_cast<size_t>((p.shape.rows - 1) * p.out_stride + p.shape.columns), kUntouched);
  const Floats bias = padded_columns(p.bias);
  product.shape = p.shape;
  product.out = out.data(), product.out_stride = p.out_stride;
  product.epilogue.activation = p.activation;
  if (!p.bias.empty()) product.epilogue.bias = bias.data();
  if (!p.residual.empty())
    product.epilogue.residual = p.residual.data(), product.epilogue.residual_stride = p.residual_stride;
  run_product(product);
  return out;
}

Floats float32_result(const Problem& p, RowFormat /*format*/) {
  const Floats packed = pack_weights(p.weights, p.shape.columns, p.shape.depth);
  FloatProduct product;
  product.x = p.x.data(), product.x_stride = p.x_stride, product.weights = packed.data();
  return finish_and_run(product, p);
}

/// Rows in another format than float32, in room that was never written before.
struct Converted {
  Floats room;
  ConvertedRows rows;

  Converted(const Problem& p, RowFormat format)
      : room(static_cast<size_t>(converted_floats(p.shape.rows, p.shape.depth)),
             std::numeric_limits<float>::quiet_NaN()),
        rows(converted_rows(room.data(), p.shape.rows, p.shape.depth)) {
    if (format != RowFormat::float32) convert_rows({p.x.data(), p.x_stride, p.shape.rows, p.shape.depth}, format, rows);
  }
};

Floats bfloat16_result(const Problem& p, RowFormat format) {
  const std::vector<Bfloat16> packed = pack_bfloat16(p.weights, p.shape.columns, p.shape.depth);
  const Converted converted(p, format);
  Bfloat16Product product;
  product.format = format, product.rows = converted.rows;
  product.x = p.x.data(), product.x_stride = p.x_stride, product.weights = packed.data();
  return finish_and_run(product, p);
}

Floats int8_result(const Problem& p, RowFormat format) {
  const PackedInt8 packed = pack_int8(p.weights, p.shape.columns, p.shape.depth);
  const Converted converted(p, format);
  Int8Product product;
  product.format = format, product.rows = converted.rows;
  product.weights = packed.weights.data(), product.column_scale = packed.columns.data();
  product.column_sum = packed.columns.data() + packed.columns.size() / 2;
  return finish_and_run(product, p);
}

/// Every precision, with rows as this target reads them fastest and as it reads them otherwise.
struct Precision {
  const char* name;
  Floats (*run)(const Problem&, RowFormat);
  RowFormat format;
  double Element::*bound;
};

std::vector<Precision> precisions(int64_t depth) {
  const RowFormat integers = row_format<int8_t>(depth);
  return {{"float32", float32_result, RowFormat::float32, &Element::float32},
          {"bfloat16", bfloat16_result, RowFormat::float32, &Element::bfloat16},
          {"bfloat16 rows", bfloat16_result, row_format<Bfloat16>(depth), &Element::bfloat16},
          {"int8 words", int8_result, RowFormat::words, &Element::words},
          {"int8", int8_result, integers, integers == RowFormat::words ? &Element::words : &Element::bytes}};
}

/// "" where all is within its bounds and nothing was written between rows.
std::string first_mistake(const Problem& p, const Floats& out, const std::vector<Element>& wanted,
                          double Element::*bound) {
  for (size_t i = 0; i < out.size(); ++i) {
    const auto m = static_cast<int64_t>(i) / p.out_stride, n = static_cast<int64_t>(i) % p.out_stride;
    if (n >= p.shape.columns) {
      if (out[i] != kUntouched) return "wrote between rows, at row " + std::to_string(m);
      continue;
    }
    const Element& e = wanted[static_cast<size_t>(m * p.shape.columns + n)];
    if (std::abs(static_cast<double>(out[i]) - e.value) <= e.*bound) continue;
    return "row " + std::to_string(m) + " column " + std::to_string(n) + " is " + std::to_string(out[i]) +
           ", should be " + std::to_string(e.value) + " within " + std::to_string(e.*bound);
  }
  return "";
}

std::string describe(const Problem& p) {
  return "product of " + std::to_string(p.shape.rows) + " rows, " + std::to_string(p.shape.columns) +
         " columns, depth " + std::to_string(p.shape.depth) + ", strides " + std::to_string(p.x_stride) + " and " +
         std::to_string(p.out_stride) + ", activation " + std::to_string(static_cast<int>(p.activation)) +
         (p.bias.empty() ? "" : ", bias") + (p.residual.empty() ? "" : ", residual");
}

}  // namespace

Trial product_trial(CounterRng random) {
  const Problem p = random_problem(random);
  const std::vector<Element> wanted = oracle(p);
  const int threads = one_of(random, {1, 1, 2, 3, 7});
  Trial trial;
  trial.problem = describe(p);
  for (const std::string& target : simd_targets()) {
    set_simd_target(target);
    for (const Precision& precision : precisions(p.shape.depth)) {
      const std::string who = target + " " + precision.name;
      omp_set_num_threads(1);
      const Floats one = precision.run(p, precision.format);
      ++trial.comparisons;
      if (const std::string mistake = first_mistake(p, one, wanted, precision.bound); !mistake.empty())
        trial.findings.push_back(who + ": " + mistake);
      omp_set_num_threads(threads);
      const Floats several = threads > 1 ? precision.run(p, precision.format) : one;
      if (std::memcmp(one.data(), several.data(), one.size() * sizeof(float)) != 0)
        trial.findings.push_back(who + ": " + std::to_string(threads) + " threads change a bit");
    }
  }
  set_simd_target("");
  return trial;
}

}  // namespace fib::test
