// SPDX-License-Identifier: Apache-2.0
// How each kind of step is carried out. The program has been checked: nothing is checked here again.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "attention/registry.h"
#include "base/parallel.h"
#include "engine/engine.h"
#include "engine/rows.h"
#include "engine/simd_table.h"
#include "engine/strided.h"
#include "engine/windows.h"

namespace fib::engine {
namespace {

Activation activation_of(Function function) {
  if (function == Function::gelu) return Activation::gelu;
  return function == Function::relu ? Activation::relu : Activation::none;
}

/// Output and tail of a product; rows and columns are the last two dimensions of out.
template <class AnyProduct>
void set_product(AnyProduct& p, const Step& s, const Memory& m, const ProductShape& shape) {
  const Operand &out = s.at(Role::out), &residual = s.at(Role::residual);
  p.shape = shape;
  p.out = m.floats(out);
  p.out_stride = out.strides[out.strides.size() - 2];
  p.tail = {m.optional(s.at(Role::bias)), activation_of(s.function), m.optional(residual),
            residual.given() ? residual.strides[residual.strides.size() - 2] : 0};
}

// ---- linear
// ----------------------------------------------------------------------------------------------------------

ProductShape linear_shape(const Step& s) {
  return {s.at(Role::x).sizes[0], s.at(Role::out).sizes[1], s.at(Role::x).sizes[1]};
}

template <class Weight>
void run_linear(const Step& s, const Memory& m) {
  FloatSums<Weight> p;
  set_product(p, s, m, linear_shape(s));
  p.x = m.floats(s.at(Role::x)), p.x_stride = s.at(Role::x).strides[0];
  p.weights = m.values<Weight>(s.at(Role::weights));
  run_product(p);
}

void run_int8_linear(const Step& s, const Memory& m) {
  const Operand& x = s.at(Role::x);
  const ProductShape shape = linear_shape(s);
  // Integers of all rows, then their scales.
  float* scratch = m.floats(s.at(Role::scratch));
  auto* quantized = reinterpret_cast<int16_t*>(scratch);
  float* scale = scratch + shape.rows * paired_depth(shape.depth) / 2;
  quantize_rows({m.floats(x), x.strides[0], shape.rows, shape.depth, quantized, scale});
  Int8Product p;
  set_product(p, s, m, shape);
  p.x = quantized, p.row_scale = scale;
  p.weights = m.values<int8_t>(s.at(Role::weights)), p.column_scale = m.floats(s.at(Role::scale));
  run_product(p);
}

BoundStep bind_linear(const Step& s, TensorType weights) {
  const auto run = weights == TensorType::i8     ? run_int8_linear
                   : weights == TensorType::bf16 ? run_linear<Bfloat16>
                                                 : run_linear<float>;
  return [&s, run](const Memory& m) { run(s, m); };
}

// ---- attention
// -------------------------------------------------------------------------------------------------------

template <class T>
TokenView<T> token_view(const Operand& o, T* data) {
  return {data, o.strides[0], o.strides[1], o.strides[2]};
}

struct AttentionCall {
  AttentionShape shape;
  AttentionInputs<float> inputs;
  TokenView<float> out;
  DenseOptions<float> options;

  AttentionCall(const Step& s, const Memory& m) {
    const Operand &q = s.at(Role::q), &k = s.at(Role::k), &v = s.at(Role::v), &bias = s.at(Role::bias);
    shape = {q.sizes[0], q.sizes[1], q.sizes[2], k.sizes[2], q.sizes[3], v.sizes[3]};
    inputs = {token_view<const float>(q, m.floats(q)), token_view<const float>(k, m.floats(k)),
              token_view<const float>(v, m.floats(v))};
    out = token_view(s.at(Role::out), m.floats(s.at(Role::out)));
    options.scale = s.geometry.score_scale();
    if (bias.given()) {
      options.bias = {m.floats(bias),  bias.sizes[0],  bias.strides[0], bias.sizes[1] == 1 ? 0 : bias.strides[1],
                      bias.strides[2], bias.strides[3]};
    }
  }
};

/// One query of top-k attention: the k largest scores, the lower key first among equals.
void attend_to_largest(const AttentionCall& c, int64_t k, int64_t b, int64_t h, int64_t query) {
  struct Scored {
    float score;
    int64_t key;
  };
  thread_local std::vector<Scored> scored;
  scored.resize(static_cast<size_t>(c.shape.key_tokens));
  const BiasView<const float>& bias = c.options.bias;
  const float* q = c.inputs.q.row(b, h, query);
  const auto scale = static_cast<float>(*c.options.scale);
  for (int64_t t = 0; t < c.shape.key_tokens; ++t) {
    const float* key = c.inputs.k.row(b, h, t);
    float sum = 0;
    for (int64_t i = 0; i < c.shape.dim; ++i) sum += q[i] * key[i];
    sum *= scale;
    if (bias.data != nullptr)
      sum += bias.data[b % bias.groups * bias.group_stride + h * bias.head_stride + query * bias.query_stride +
                       t * bias.key_stride];
    scored[static_cast<size_t>(t)] = {sum, t};
  }
  const auto kept = scored.begin() + std::min<int64_t>(k, c.shape.key_tokens);
  std::partial_sort(scored.begin(), kept, scored.end(), [](const Scored& a, const Scored& other) {
    return a.score != other.score ? a.score > other.score : a.key < other.key;
  });
  float* out = c.out.row(b, h, query);
  std::fill_n(out, c.shape.value_dim, 0.0f);
  const float top = scored.front().score;
  if (top == -std::numeric_limits<float>::infinity()) return;
  float sum = 0;
  for (auto s = scored.begin(); s != kept; ++s) sum += s->score = std::exp(s->score - top);
  for (auto s = scored.begin(); s != kept; ++s) {
    const float* value = c.inputs.v.row(b, h, s->key);
    for (int64_t i = 0; i < c.shape.value_dim; ++i) out[i] += s->score / sum * value[i];
  }
}

void run_topk(const AttentionCall& c, int64_t k) {
  parallel_tasks(c.shape.batch * c.shape.heads * c.shape.query_tokens, [&](int64_t i) {
    const int64_t head = i / c.shape.query_tokens;
    attend_to_largest(c, k, head / c.shape.heads, head % c.shape.heads, i % c.shape.query_tokens);
  });
}

BoundStep bind_attention(const Step& s) {
  const AttentionSpec spec = AttentionSpec::parse(s.attention);
  attention::check_spec(spec);
  if (spec.name == "full") {
    return [&s](const Memory& m) {
      const AttentionCall c(s, m);
      dense_attention_forward<float>(c.shape, c.inputs, c.out, nullptr, c.options);
    };
  }
  if (spec.name == "topk") {
    const int64_t k = attention::integer_option(spec, "k", 1, s.geometry.key_tokens());
    return [&s, k](const Memory& m) { run_topk(AttentionCall(s, m), k); };
  }
  const auto support = std::make_shared<const SupportSet>(attention::layer_support(spec, s.geometry));
  return [&s, support, masking = attention::masking_of(spec)](const Memory& m) {
    AttentionCall c(s, m);
    c.options.masking = masking;
    attention_forward<float>(*support, c.shape, c.inputs, c.out, nullptr, c.options);
  };
}

// ---- rows and elements
// -------------------------------------------------------------------------------------------------

void run_layer_norm(const Step& s, const Memory& m) {
  const Operand &x = s.at(Role::x), &out = s.at(Role::out);
  layer_norm({m.floats(x), x.strides[0], x.sizes[0], x.sizes[1], m.floats(s.at(Role::weights)),
              m.floats(s.at(Role::bias)), static_cast<float>(s.number), m.floats(out), out.strides[0]});
}

using RowFunction = void (*)(const float* x, float* out, int64_t count);

void relu_row(const float* x, float* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = std::max(x[i], 0.0f);
}

RowFunction row_function(Function function) {
  if (function == Function::relu) return relu_row;
  return function == Function::gelu ? simd_table().gelu : simd_table().sigmoid;
}

BoundStep bind_unary(const Step& s) {
  return [&s, loop = Loop<2>({&s.at(Role::out), &s.at(Role::x)})](const Memory& m) {
    const RowFunction function = row_function(s.function);
    float* const out = m.floats(s.at(Role::out));
    const float* const x = m.floats(s.at(Role::x));
    loop.run([&](const auto& at, const auto& step, int64_t count) {
      if (step[0] == 1 && step[1] == 1) return function(x + at[1], out + at[0], count);
      for (int64_t i = 0; i < count; ++i) function(x + at[1] + i * step[1], out + at[0] + i * step[0], 1);
    });
  };
}

template <class Apply>
BoundStep bind_binary_with(const Step& s, Apply apply) {
  return [&s, apply, loop = Loop<3>({&s.at(Role::out), &s.at(Role::x), &s.at(Role::y)})](const Memory& m) {
    float* const to = m.floats(s.at(Role::out));
    const float *const from = m.floats(s.at(Role::x)), *const other = m.floats(s.at(Role::y));
    loop.run([&](const auto& at, const auto& step, int64_t count) {
      float* out = to + at[0];
      const float *x = from + at[1], *y = other + at[2];
      if (step[0] == 1 && step[1] == 1 && step[2] == 1) {
        for (int64_t i = 0; i < count; ++i) out[i] = apply(x[i], y[i]);
      } else if (step[0] == 1 && step[1] == 1 && step[2] == 0) {
        for (int64_t i = 0; i < count; ++i) out[i] = apply(x[i], *y);
      } else {
        for (int64_t i = 0; i < count; ++i) out[i * step[0]] = apply(x[i * step[1]], y[i * step[2]]);
      }
    });
  };
}

BoundStep bind_binary(const Step& s) {
  if (s.function == Function::add) return bind_binary_with(s, [](float a, float b) { return a + b; });
  if (s.function == Function::subtract) return bind_binary_with(s, [](float a, float b) { return a - b; });
  return bind_binary_with(s, [](float a, float b) { return a * b; });
}

BoundStep bind_copy(const Step& s) {
  return [&s, loop = Loop<2>({&s.at(Role::out), &s.at(Role::x)})](const Memory& m) {
    float* const out = m.floats(s.at(Role::out));
    const float* const x = m.floats(s.at(Role::x));
    loop.run([&](const auto& at, const auto& step, int64_t count) {
      if (step[0] == 1 && step[1] == 1) {
        std::memmove(out + at[0], x + at[1], static_cast<size_t>(count) * sizeof(float));
      } else {
        for (int64_t i = 0; i < count; ++i) out[at[0] + i * step[0]] = x[at[1] + i * step[1]];
      }
    });
  };
}

/// Without the last `count` dimensions.
Operand outer(const Operand& o, size_t count) {
  Operand part = o;
  part.sizes.resize(o.sizes.size() - count);
  part.strides.resize(o.strides.size() - count);
  if (part.sizes.empty()) part.sizes = {1}, part.strides = {0};
  return part;
}

BoundStep bind_softmax(const Step& s) {
  const Operand out = outer(s.at(Role::out), 1), x = outer(s.at(Role::x), 1);
  return [&s, positions = Positions<2>({&out, &x})](const Memory& m) {
    float* const to = m.floats(s.at(Role::out));
    const float* const from = m.floats(s.at(Role::x));
    const RowFunction softmax = simd_table().softmax;
    parallel_tasks(positions.count(), [&](int64_t i) {
      const auto at = positions.at(i);
      softmax(from + at[1], to + at[0], s.at(Role::x).sizes.back());
    });
  };
}

/// Sums in float64, in the order of the elements.
BoundStep bind_mean(const Step& s) {
  const Operand& x = s.at(Role::x);
  const size_t kept = s.at(Role::out).sizes.size(), dropped = x.sizes.size() - kept;
  const Operand rows = outer(x, dropped);
  Operand inside = x;
  inside.sizes.erase(inside.sizes.begin(), inside.sizes.begin() + static_cast<ptrdiff_t>(kept));
  inside.strides.erase(inside.strides.begin(), inside.strides.begin() + static_cast<ptrdiff_t>(kept));
  return
      [&s, positions = Positions<2>({&s.at(Role::out), &rows}), elements = Positions<1>({&inside})](const Memory& m) {
        float* const to = m.floats(s.at(Role::out));
        const float* const from = m.floats(s.at(Role::x));
        parallel_tasks(positions.count(), [&](int64_t i) {
          const auto at = positions.at(i);
          double sum = 0;
          for (int64_t e = 0; e < elements.count(); ++e) sum += static_cast<double>(from[at[1] + elements.at(e)[0]]);
          to[at[0]] = static_cast<float>(sum / static_cast<double>(elements.count()));
        });
      };
}

// ---- products of two computed matrices
// ----------------------------------------------------------------------------------

/// y [K,N] as run_product wants its weights.
void pack_matrix(const float* y, int64_t row, int64_t column, const ProductShape& shape, float* packed) {
  for (int64_t p = 0; p < panels_of(shape.columns); ++p) {
    const int64_t first = p * kPanelColumns, count = std::min(kPanelColumns, shape.columns - first);
    for (int64_t k = 0; k < shape.depth; ++k, packed += kPanelColumns) {
      for (int64_t n = 0; n < count; ++n) packed[n] = y[k * row + (first + n) * column];
      std::fill(packed + count, packed + kPanelColumns, 0.0f);
    }
  }
}

BoundStep bind_matmul(const Step& s) {
  const Operand out = outer(s.at(Role::out), 2), x = outer(s.at(Role::x), 2), y = outer(s.at(Role::y), 2);
  return [&s, matrices = Positions<3>({&out, &x, &y})](const Memory& m) {
    const size_t last = s.at(Role::out).sizes.size() - 1;
    const auto &xs = s.at(Role::x), &ys = s.at(Role::y);
    const ProductShape shape{xs.sizes[last - 1], ys.sizes[last], xs.sizes[last]};
    parallel_tasks(matrices.count(), [&](int64_t i) {
      thread_local std::vector<float> packed;
      packed.resize(static_cast<size_t>(panels_of(shape.columns) * kPanelColumns * shape.depth));
      const auto at = matrices.at(i);
      pack_matrix(m.floats(ys) + at[2], ys.strides[last - 1], ys.strides[last], shape, packed.data());
      FloatProduct p;
      set_product(p, s, m, shape);
      p.out += at[0];
      p.x = m.floats(xs) + at[1], p.x_stride = xs.strides[last - 1], p.weights = packed.data();
      run_product(p);
    });
  };
}

// ---- windows
// -----------------------------------------------------------------------------------------------------------

void run_conv2d(const Step& s, const Memory& m) {
  const Operand &x = s.at(Role::x), &out = s.at(Role::out);
  const WindowGrid grid(s);
  const int64_t groups = s.window.groups, columns = out.sizes[3] / groups;
  const int64_t depth = x.sizes[1] / groups * s.window.kernel[0] * s.window.kernel[1];
  const int64_t block = convolution_rows(s), matrix = panels_of(columns) * kPanelColumns * depth;
  float* const rows = m.floats(s.at(Role::scratch));
  for (int64_t g = 0; g < groups; ++g) {
    for (int64_t first = 0; first < grid.positions(); first += block) {
      const int64_t count = std::min(block, grid.positions() - first);
      grid.unfold(m.floats(x) + g * (x.sizes[1] / groups) * x.strides[1], first, count, rows);
      FloatProduct p;
      set_product(p, s, m, {count, columns, depth});
      p.x = rows, p.x_stride = depth, p.weights = m.floats(s.at(Role::weights)) + g * matrix;
      p.out += first * p.out_stride + g * columns;
      if (p.tail.bias != nullptr) p.tail.bias += g * columns;
      if (p.tail.residual != nullptr) p.tail.residual += first * p.tail.residual_stride + g * columns;
      run_product(p);
    }
  }
}

}  // namespace

BoundStep bind_step(const Step& s, const Program& program) {
  switch (s.kind) {
    case StepKind::linear:
      return bind_linear(s, program.buffers[static_cast<size_t>(s.at(Role::weights).buffer)].type);
    case StepKind::attention:
      return bind_attention(s);
    case StepKind::layer_norm:
      return [&s](const Memory& m) { run_layer_norm(s, m); };
    case StepKind::unary:
      return bind_unary(s);
    case StepKind::binary:
      return bind_binary(s);
    case StepKind::softmax:
      return bind_softmax(s);
    case StepKind::mean:
      return bind_mean(s);
    case StepKind::copy:
      return bind_copy(s);
    case StepKind::matmul:
      return bind_matmul(s);
    case StepKind::conv2d:
      return [&s](const Memory& m) { run_conv2d(s, m); };
    case StepKind::depthwise:
      return [&s](const Memory& m) {
        run_depthwise(s, m.floats(s.at(Role::x)), m.floats(s.at(Role::weights)), m.optional(s.at(Role::bias)),
                      m.floats(s.at(Role::out)));
      };
    case StepKind::max_pool2d:
      return [&s](const Memory& m) { run_max_pool(s, m.floats(s.at(Role::x)), m.floats(s.at(Role::out))); };
  }
  throw std::invalid_argument("no such step");
}

}  // namespace fib::engine
