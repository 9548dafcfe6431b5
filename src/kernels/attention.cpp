// SPDX-License-Identifier: Apache-2.0
#include "fibottention/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/checks.h"
#include "kernels/dropout.h"

namespace fib {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class T>
struct Problem {
  const SupportSet& support;
  const AttentionShape& shape;
  const AttentionInputs<T>& inputs;
  const AttentionOptions<T>& options;
  double scale = options.scale.value_or(1.0 / std::sqrt(static_cast<double>(shape.dim)));

  int64_t key_end(int64_t b) const { return options.lengths ? options.lengths[b] : shape.key_tokens; }
  int64_t query_end(int64_t b) const {
    return options.lengths && shape.query_tokens == shape.key_tokens ? options.lengths[b] : shape.query_tokens;
  }
  std::vector<int64_t> keys(int64_t b, int64_t h, int64_t j) const {
    if (j >= query_end(b)) return {};
    auto keys = support.keys_of_row(h, j);
    std::erase_if(keys, [&](int64_t k) { return k >= key_end(b); });
    return keys;
  }
  int64_t bias_index(const auto& bias, int64_t b, int64_t h, int64_t j, int64_t k) const {
    return (b % bias.groups) * bias.group_stride + h * bias.head_stride + j * bias.query_stride + k * bias.key_stride;
  }
  double score(int64_t b, int64_t h, int64_t j, int64_t k) const {
    const T *q = inputs.q.row(b, h, j), *key = inputs.k.row(b, h, k);
    double s = 0;
    for (int64_t c = 0; c < shape.dim; ++c) s += static_cast<double>(q[c]) * static_cast<double>(key[c]);
    s *= scale;
    if (options.bias.data) s += static_cast<double>(options.bias.data[bias_index(options.bias, b, h, j, k)]);
    return s;
  }
  double keep(int64_t b, int64_t h, int64_t j, int64_t k) const {
    if (options.dropout == 0.0) return 1.0;
    const kernels::DropoutStream stream(options.dropout_seed, b, h);
    const bool kept = stream.bits(j, k) >= kernels::dropout_threshold(options.dropout);
    return kept ? 1.0 / (1.0 - options.dropout) : 0.0;
  }
};

/// What the excluded keys of a row weigh before normalisation (with maximum m): e^(0 - m) under masking zero.
template <class T>
int64_t excluded_keys(const Problem<T>& p, const std::vector<int64_t>& keys) {
  return p.options.masking == Masking::zero ? p.shape.key_tokens - static_cast<int64_t>(keys.size()) : 0;
}

template <class T>
void forward_row(const Problem<T>& p, int64_t b, int64_t h, int64_t j, const std::vector<double>& column_sum, T* out,
                 T* lse) {
  const auto keys = p.keys(b, h, j);
  const int64_t excluded = excluded_keys(p, keys);
  std::vector<double> scores, acc(static_cast<size_t>(p.shape.value_dim), 0.0);
  double m = excluded > 0 ? 0.0 : -kInfinity;
  for (int64_t k : keys) scores.push_back(p.score(b, h, j, k));
  for (double s : scores) m = std::max(m, s);
  if (m == -kInfinity) m = 0;
  const double rest = excluded > 0 ? std::exp(-m) : 0.0;
  double sum = static_cast<double>(excluded) * rest;
  for (size_t c = 0; rest > 0 && c < acc.size(); ++c) acc[c] = rest * column_sum[c];
  for (size_t i = 0; i < keys.size(); ++i) {
    const double e = std::exp(scores[i] - m);
    sum += e;
    const T* v = p.inputs.v.row(b, h, keys[i]);
    const double w = e * p.keep(b, h, j, keys[i]) - rest;
    for (size_t c = 0; c < acc.size(); ++c) acc[c] += w * static_cast<double>(v[c]);
  }
  for (size_t c = 0; c < acc.size(); ++c) out[c] = sum == 0 ? T(0) : static_cast<T>(acc[c] / sum);
  if (lse) *lse = sum == 0 ? static_cast<T>(-kInfinity) : static_cast<T>(m + std::log(sum));
}

template <class T>
std::vector<double> column_sum(const Problem<T>& p, int64_t b, int64_t h) {
  std::vector<double> sum(static_cast<size_t>(p.shape.value_dim), 0.0);
  if (p.options.masking != Masking::zero) return sum;
  for (int64_t k = 0; k < p.shape.key_tokens; ++k) {
    const T* v = p.inputs.v.row(b, h, k);
    for (size_t c = 0; c < sum.size(); ++c) sum[c] += static_cast<double>(v[c]);
  }
  return sum;
}

template <class T>
struct HeadGradients {
  std::vector<double> dq, dk, dv, every_dv;
};

double dot(const auto* a, const auto* b, int64_t n) {
  double s = 0;
  for (int64_t c = 0; c < n; ++c) s += static_cast<double>(a[c]) * static_cast<double>(b[c]);
  return s;
}

template <class T>
void axpy(double w, const T* x, int64_t n, double* y) {
  for (int64_t c = 0; c < n; ++c) y[c] += w * static_cast<double>(x[c]);
}

template <class T>
void backward_row(const Problem<T>& p, int64_t b, int64_t h, int64_t j, const T* out, const T* grad_out, double lse,
                  const BiasView<T>& dbias, HeadGradients<T>& g) {
  if (lse == -kInfinity) return;
  const int64_t d = p.shape.dim, e = p.shape.value_dim;
  const auto keys = p.keys(b, h, j);
  const double rest = excluded_keys(p, keys) > 0 ? std::exp(-lse) : 0.0;
  const double delta = dot(out, grad_out, e);
  axpy(rest, grad_out, e, g.every_dv.data());
  for (int64_t k : keys) {
    const double prob = std::exp(p.score(b, h, j, k) - lse), keep = p.keep(b, h, j, k);
    const double ds = prob * (keep * dot(grad_out, p.inputs.v.row(b, h, k), e) - delta);
    axpy(prob * keep - rest, grad_out, e, g.dv.data() + k * e);
    axpy(ds * p.scale, p.inputs.k.row(b, h, k), d, g.dq.data() + j * d);
    axpy(ds * p.scale, p.inputs.q.row(b, h, j), d, g.dk.data() + k * d);
    if (dbias.data) dbias.data[p.bias_index(dbias, b, h, j, k)] += static_cast<T>(ds);
  }
}

template <class T>
void store(const std::vector<double>& from, int64_t tokens, int64_t channels, const TokenView<T>& to, int64_t b,
           int64_t h) {
  for (int64_t t = 0; t < tokens; ++t) {
    for (int64_t c = 0; c < channels; ++c)
      to.row(b, h, t)[c] = static_cast<T>(from[static_cast<size_t>(t * channels + c)]);
  }
}

}  // namespace

template <class T>
void attention_forward(const SupportSet& support, const AttentionShape& shape, const AttentionInputs<T>& inputs,
                       TokenView<T> out, T* lse, const AttentionOptions<T>& options) {
  kernels::check_forward(support, shape, inputs, out, options);
  const Problem<T> p{support, shape, inputs, options};
  for (int64_t b = 0; b < shape.batch; ++b) {
    for (int64_t h = 0; h < shape.heads; ++h) {
      const auto sum = column_sum(p, b, h);
      for (int64_t j = 0; j < shape.query_tokens; ++j) {
        T* row_lse = lse ? lse + (b * shape.heads + h) * shape.query_tokens + j : nullptr;
        forward_row(p, b, h, j, sum, out.row(b, h, j), row_lse);
      }
    }
  }
}

template <class T>
void attention_backward(const SupportSet& support, const AttentionShape& shape, const AttentionInputs<T>& inputs,
                        TokenView<const T> out, const T* lse, TokenView<const T> grad_out,
                        const AttentionGradients<T>& gradients, const AttentionOptions<T>& options) {
  kernels::check_backward(support, shape, inputs, out, lse, grad_out, gradients, options);
  const Problem<T> p{support, shape, inputs, options};
  const int64_t tq = shape.query_tokens, tk = shape.key_tokens;
  for (int64_t b = 0; b < shape.batch; ++b) {
    for (int64_t h = 0; h < shape.heads; ++h) {
      HeadGradients<T> g;
      g.dq.resize(static_cast<size_t>(tq * shape.dim));
      g.dk.resize(static_cast<size_t>(tk * shape.dim));
      g.dv.resize(static_cast<size_t>(tk * shape.value_dim));
      g.every_dv.resize(static_cast<size_t>(shape.value_dim));
      for (int64_t j = 0; j < tq; ++j) {
        backward_row(p, b, h, j, out.row(b, h, j), grad_out.row(b, h, j),
                     static_cast<double>(lse[(b * shape.heads + h) * tq + j]), gradients.dbias, g);
      }
      for (int64_t k = 0; k < tk; ++k) axpy(1.0, g.every_dv.data(), shape.value_dim, g.dv.data() + k * shape.value_dim);
      store(g.dq, tq, shape.dim, gradients.dq, b, h);
      store(g.dk, tk, shape.dim, gradients.dk, b, h);
      store(g.dv, tk, shape.value_dim, gradients.dv, b, h);
    }
  }
}

#define FIB_INSTANTIATE(T)                                                                                            \
  template void attention_forward<T>(const SupportSet&, const AttentionShape&, const AttentionInputs<T>&,             \
                                     TokenView<T>, T*, const AttentionOptions<T>&);                                   \
  template void attention_backward<T>(const SupportSet&, const AttentionShape&, const AttentionInputs<T>&,            \
                                      TokenView<const T>, const T*, TokenView<const T>, const AttentionGradients<T>&, \
                                      const AttentionOptions<T>&);
FIB_INSTANTIATE(float)
FIB_INSTANTIATE(double)
#undef FIB_INSTANTIATE

std::vector<std::string> simd_targets() { return {"SCALAR"}; }
std::string simd_target() { return simd_targets().front(); }
void set_simd_target(const std::string&) {}

}  // namespace fib
