// SPDX-License-Identifier: Apache-2.0
// What depends on the pair and not on the vectors: bias and dropout. Included once per target.
#if defined(FIB_KERNELS_PAIR_TERMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FIB_KERNELS_PAIR_TERMS_INL_H_
#undef FIB_KERNELS_PAIR_TERMS_INL_H_
#else
#define FIB_KERNELS_PAIR_TERMS_INL_H_
#endif

#include "kernels/call.h"
#include "kernels/panel.h"
#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fib::kernels {
namespace HWY_NAMESPACE {

/// Calls visit(query, query_step, key, key_step, values, count) for every strip and every loose pair of a panel.
template <class T, class Visit>
HWY_INLINE void for_each_run(const Panel& p, bool self_is_query, T* strips, T* loose, const Visit& visit) {
  const int64_t n = lanes<T>();
  for (const Strip& s : p.strips) {
    if (self_is_query) {
      visit(p.self, p.self_step, s.first, s.step, strips, n);
    } else {
      visit(s.first, s.step, p.self, p.self_step, strips, n);
    }
    strips += n;
  }
  for (int64_t t = 0; t < p.loose(); ++t) {
    const int64_t self = p.self + p.lane[static_cast<size_t>(t)] * p.self_step, other = p.token[static_cast<size_t>(t)];
    visit(self_is_query ? self : other, int64_t{0}, self_is_query ? other : self, int64_t{0}, loose + t, int64_t{1});
  }
}

/// Bias and dropout of one (sample, head).
template <class T>
struct PairTerms {
  bool self_is_query = true;
  const T* bias = nullptr;
  int64_t bias_query = 0, bias_key = 0;
  T* dbias = nullptr;
  int64_t dbias_query = 0, dbias_key = 0;
  bool drops = false;
  DropoutStream stream;
  uint32_t threshold = 0;
  T kept = 1;

  PairTerms(const Call<T>& call, TileIndex at, bool self_is_query_) : self_is_query(self_is_query_) {
    const BiasView<const T>& view = call.options.bias;
    if (view.data != nullptr) {
      bias = view.data + (at.b % view.groups) * view.group_stride + at.h * view.head_stride;
      bias_query = view.query_stride, bias_key = view.key_stride;
    }
    const BiasView<T>& gradient = call.gradients.dbias;
    if (gradient.data != nullptr && self_is_query) {
      dbias = gradient.data + (at.b % gradient.groups) * gradient.group_stride + at.h * gradient.head_stride;
      dbias_query = gradient.query_stride, dbias_key = gradient.key_stride;
    }
    if (call.options.dropout > 0) {
      drops = true;
      stream = DropoutStream(call.options.dropout_seed, at.b, at.h);
      threshold = dropout_threshold(call.options.dropout);
      kept = static_cast<T>(1.0 / (1.0 - call.options.dropout));
    }
  }

  /// scores += bias.
  void add_bias(const Panel& p, T* strips, T* loose) const {
    if (bias == nullptr) return;
    for_each_run(p, self_is_query, strips, loose,
                 [&](int64_t q, int64_t q_step, int64_t k, int64_t k_step, T* values, int64_t n) HWY_ATTR {
                   const T* from = bias + q * bias_query + k * bias_key;
                   const int64_t step = q_step * bias_query + k_step * bias_key;
                   for (int64_t i = 0; i < n; ++i) values[i] += from[i * step];
                 });
  }

  /// dbias += gradients of the scores.
  void add_bias_gradient(const Panel& p, T* strips, T* loose) const {
    if (dbias == nullptr) return;
    for_each_run(p, self_is_query, strips, loose,
                 [&](int64_t q, int64_t q_step, int64_t k, int64_t k_step, const T* values, int64_t n) HWY_ATTR {
                   T* to = dbias + q * dbias_query + k * dbias_key;
                   const int64_t step = q_step * dbias_query + k_step * dbias_key;
                   for (int64_t i = 0; i < n; ++i) to[i * step] += values[i];
                 });
  }

  /// Zero for dropped pairs, 1 / (1 - probability) times the value for the others.
  void drop(const Panel& p, T* strips, T* loose) const {
    if (!drops) return;
    for_each_run(p, self_is_query, strips, loose,
                 [&](int64_t q, int64_t q_step, int64_t k, int64_t k_step, T* values, int64_t n) HWY_ATTR {
                   for (int64_t i = 0; i < n; ++i) {
                     values[i] = stream.bits(q + i * q_step, k + i * k_step) < threshold ? T(0) : values[i] * kept;
                   }
                 });
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace fib::kernels
HWY_AFTER_NAMESPACE();
#endif
