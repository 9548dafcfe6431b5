// SPDX-License-Identifier: Apache-2.0
// A case of the common list with its arrays: laid out in memory as the case says, filled, run, and read back.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "golden_fill.h"
#include "kernels/dropout.h"
#include "oracle/attention_cases.h"
#include "oracle/attention_oracle.h"

namespace fib::test {

/// One or several [B,H,tokens,channels] arrays in one buffer of exactly the needed size, so that sanitizers see every
/// step beyond it.
template <class T>
class Arrays {
 public:
  Arrays(const AttentionShape& s, int64_t tokens, int64_t channels, Layout layout, int64_t count = 1)
      : shape_(s), tokens_(tokens), channels_(channels), count_(count) {
    const bool by_token = layout == Layout::token_major || layout == Layout::packed;
    const int64_t row = channels + (layout == Layout::padded ? 3 : 0);
    view_.token_stride = by_token ? count * s.heads * row : row;
    view_.head_stride = by_token ? row : tokens * row;
    view_.batch_stride = count * s.heads * tokens * row;
    slice_stride_ = by_token ? s.heads * row : s.batch * s.heads * tokens * row;
    storage_.resize(static_cast<size_t>(count * s.batch * s.heads * tokens * row - (row - channels)), T(-7));
    if (!by_token) view_.batch_stride /= count;
    if (layout == Layout::reversed) {
      origin_ = (tokens - 1) * row;
      view_.token_stride = -row;
    }
  }

  TokenView<T> view(int64_t i = 0) {
    TokenView<T> v = view_;
    v.data = storage_.data() + origin_ + i * slice_stride_;
    return v;
  }
  TokenView<const T> const_view(int64_t i = 0) {
    const TokenView<T> v = view(i);
    return {v.data, v.batch_stride, v.head_stride, v.token_stride};
  }

  void fill(const std::vector<double>& values, int64_t i = 0) {
    size_t next = 0;
    for_each_row(view(i), [&](T* row) {
      for (int64_t c = 0; c < channels_; ++c) row[c] = static_cast<T>(values[next++]);
    });
  }
  std::vector<double> values(int64_t i = 0) {
    std::vector<double> result;
    for_each_row(view(i), [&](T* row) { result.insert(result.end(), row, row + channels_); });
    return result;
  }
  const std::vector<T>& storage() const { return storage_; }

 private:
  template <class Visit>
  void for_each_row(TokenView<T> v, Visit visit) {
    for (int64_t b = 0; b < shape_.batch; ++b) {
      for (int64_t h = 0; h < shape_.heads; ++h) {
        for (int64_t t = 0; t < tokens_; ++t) visit(v.row(b, h, t));
      }
    }
  }
  AttentionShape shape_;
  int64_t tokens_, channels_, count_, slice_stride_ = 0, origin_ = 0;
  TokenView<T> view_;
  std::vector<T> storage_;
};

inline constexpr int64_t kDropoutSeed = 99;

/// Numbers of unit variance, rounded to float so that float32, float64 and the oracle see the same problem.
inline std::vector<double> unit_numbers(const std::string& name, int64_t count) {
  std::vector<double> values = golden::stream(name, count);
  for (double& x : values) x = static_cast<double>(static_cast<float>(x * 1.7320508075688772));
  return values;
}

inline OracleProblem make_problem(const AttentionCase& c, const SupportSet& support) {
  const AttentionShape s = c.shape();
  OracleProblem p{.support = &support, .shape = s};
  p.q = unit_numbers("q", s.batch * s.heads * s.query_tokens * s.dim);
  p.k = unit_numbers("k", s.batch * s.heads * s.key_tokens * s.dim);
  p.v = unit_numbers("v", s.batch * s.heads * s.key_tokens * s.value_dim);
  if (c.bias != BiasKind::none) {
    p.bias_groups = c.bias == BiasKind::grouped ? 2 : 1;
    p.bias_per_head = c.bias != BiasKind::shared;
    p.bias = unit_numbers("bias", p.bias_groups * (p.bias_per_head ? s.heads : 1) * s.query_tokens * s.key_tokens);
  }
  p.lengths = c.make_lengths();
  p.masking = c.masking;
  p.scale = c.scale;
  if (c.dropout > 0) {
    p.keep = [probability = c.dropout](int64_t b, int64_t h, int64_t j, int64_t k) {
      const kernels::DropoutStream stream(kDropoutSeed, b, h);
      return stream.bits(j, k) < kernels::dropout_threshold(probability) ? 0.0 : 1.0 / (1.0 - probability);
    };
  }
  return p;
}

inline std::vector<double> make_grad_out(const AttentionShape& s) {
  return unit_numbers("grad_out", s.batch * s.heads * s.query_tokens * s.value_dim);
}

/// Which function of the library runs a case: the one on its support, or the dense one where that holds all pairs.
enum KernelKind { SupportKernel, DenseKernel };

/// The case as the library sees it, in precision T.
template <class T, KernelKind kKernel = SupportKernel>
class CaseRun {
 public:
  CaseRun(const AttentionCase& c, const OracleProblem& p)
      : support_(*p.support),
        shape_(p.shape),
        lengths_(p.lengths),
        bias_(p.bias.begin(), p.bias.end()),
        dbias_(p.bias.size(), T(0)),
        packed_(c.layout == Layout::packed && c.dim == c.value_dim && shape_.query_tokens == shape_.key_tokens),
        q_(shape_, shape_.query_tokens, shape_.dim, c.layout, packed_ ? 3 : 1),
        k_(shape_, shape_.key_tokens, shape_.dim, c.layout),
        v_(shape_, shape_.key_tokens, shape_.value_dim, c.layout),
        out_(shape_, shape_.query_tokens, shape_.value_dim, c.layout),
        grad_out_(shape_, shape_.query_tokens, shape_.value_dim, c.layout),
        dq_(shape_, shape_.query_tokens, shape_.dim, c.layout, packed_ ? 3 : 1),
        dk_(shape_, shape_.key_tokens, shape_.dim, c.layout),
        dv_(shape_, shape_.key_tokens, shape_.value_dim, c.layout),
        lse_(static_cast<size_t>(shape_.batch * shape_.heads * shape_.query_tokens), T(-7)) {
    q_.fill(p.q);
    packed_ ? q_.fill(p.k, 1) : k_.fill(p.k);
    packed_ ? q_.fill(p.v, 2) : v_.fill(p.v);
    options_.scale = p.scale;
    options_.masking = p.masking;
    options_.lengths = lengths_.empty() ? nullptr : lengths_.data();
    options_.dropout = c.dropout;
    options_.dropout_seed = kDropoutSeed;
    if (!bias_.empty()) options_.bias = bias_view(static_cast<const T*>(bias_.data()), p);
    if (!bias_.empty()) dbias_view_ = bias_view(dbias_.data(), p);
  }

  void forward() {
    if constexpr (kKernel == SupportKernel) {
      attention_forward<T>(support_, shape_, inputs(), out_.view(), lse_.data(), options_);
    } else {
      dense_attention_forward<T>(shape_, inputs(), out_.view(), lse_.data(), dense_options());
    }
  }
  void backward(const std::vector<double>& grad_out) {
    grad_out_.fill(grad_out);
    std::fill(dbias_.begin(), dbias_.end(), T(0));
    AttentionGradients<T> g{dq_.view(), packed_ ? dq_.view(1) : dk_.view(), packed_ ? dq_.view(2) : dv_.view(),
                            dbias_view_};
    if constexpr (kKernel == SupportKernel) {
      attention_backward<T>(support_, shape_, inputs(), out_.const_view(), lse_.data(), grad_out_.const_view(), g,
                            options_);
    } else {
      dense_attention_backward<T>(shape_, inputs(), out_.const_view(), lse_.data(), grad_out_.const_view(), g,
                                  dense_options());
    }
  }

  std::vector<double> out() { return out_.values(); }
  std::vector<double> lse() const { return {lse_.begin(), lse_.end()}; }
  std::vector<double> dq() { return dq_.values(); }
  std::vector<double> dk() { return packed_ ? dq_.values(1) : dk_.values(); }
  std::vector<double> dv() { return packed_ ? dq_.values(2) : dv_.values(); }
  std::vector<double> dbias() const { return {dbias_.begin(), dbias_.end()}; }
  AttentionOptions<T>& options() { return options_; }

 private:
  AttentionInputs<T> inputs() {
    return {q_.const_view(), packed_ ? q_.const_view(1) : k_.const_view(),
            packed_ ? q_.const_view(2) : v_.const_view()};
  }
  DenseOptions<T> dense_options() const { return {options_, support_.causal()}; }
  template <class U>
  BiasView<U> bias_view(U* data, const OracleProblem& p) const {
    const int64_t plane = shape_.query_tokens * shape_.key_tokens, heads = p.bias_per_head ? shape_.heads : 1;
    return {data, p.bias_groups, heads * plane, p.bias_per_head ? plane : 0, shape_.key_tokens, 1};
  }

  const SupportSet& support_;
  AttentionShape shape_;
  std::vector<int64_t> lengths_;
  std::vector<T> bias_, dbias_;
  bool packed_;
  Arrays<T> q_, k_, v_, out_, grad_out_, dq_, dk_, dv_;
  std::vector<T> lse_;
  AttentionOptions<T> options_;
  BiasView<T> dbias_view_;
};

inline double max_abs(const std::vector<double>& values) {
  double top = 0;
  for (double x : values) top = std::max(top, std::abs(x));
  return top;
}

/// The largest difference; equal infinities differ by nothing, and a NaN on one side only is infinitely wrong.
inline double max_difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return INFINITY;
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double difference = std::abs(a[i] - b[i]);
    worst = std::isnan(difference) ? INFINITY : std::max(worst, difference);
  }
  return worst;
}

/// Everything that forward and backward give.
struct CaseResults {
  std::vector<double> out, lse, dq, dk, dv, dbias;

  std::vector<double> all() const {
    std::vector<double> joined;
    for (const std::vector<double>* part : {&out, &lse, &dq, &dk, &dv, &dbias}) {
      joined.insert(joined.end(), part->begin(), part->end());
    }
    return joined;
  }
};

inline CaseResults oracle_results(const OracleProblem& p, const std::vector<double>& grad_out) {
  OracleResult r = oracle_forward(p);
  OracleGradients g = oracle_backward(p, grad_out);
  return {std::move(r.out), std::move(r.lse), std::move(g.dq), std::move(g.dk), std::move(g.dv), std::move(g.dbias)};
}

/// What rounding may cost: forward relative to max |v|, gradients relative to the largest gradient of their kind.
struct Tolerance {
  double forward, gradient;
};
template <class T>
inline constexpr Tolerance kTolerance{2e-6, 1e-5};
template <>
inline constexpr Tolerance kTolerance<double>{1e-14, 1e-13};

inline void expect_results(const CaseResults& got, const CaseResults& expected, double largest_value,
                           Tolerance allowed) {
  EXPECT_LE(max_difference(got.out, expected.out), allowed.forward * largest_value);
  EXPECT_LE(max_difference(got.lse, expected.lse), 4 * allowed.forward);
  const auto expect_gradient = [&](const char* what, const std::vector<double>& g, const std::vector<double>& e) {
    EXPECT_LE(max_difference(g, e), allowed.gradient * std::max(1.0, max_abs(e))) << what;
  };
  expect_gradient("dq", got.dq, expected.dq);
  expect_gradient("dk", got.dk, expected.dk);
  expect_gradient("dv", got.dv, expected.dv);
  expect_gradient("dbias", got.dbias, expected.dbias);
}

template <class T, KernelKind kKernel = SupportKernel>
CaseResults run_case(const AttentionCase& c, const OracleProblem& p, const std::vector<double>& grad_out) {
  CaseRun<T, kKernel> run(c, p);
  run.forward();
  run.backward(grad_out);
  return {run.out(), run.lse(), run.dq(), run.dk(), run.dv(), run.dbias()};
}

/// Every common case as a parameter of a test.
inline std::string case_name(const testing::TestParamInfo<AttentionCase>& info) { return info.param.name; }

/// Runs a check under every SIMD target of this machine, then chooses the best again.
template <class Check>
void for_each_target(Check check) {
  for (const std::string& target : simd_targets()) {
    SCOPED_TRACE("target " + target);
    set_simd_target(target);
    check();
  }
  set_simd_target("");
}

}  // namespace fib::test
