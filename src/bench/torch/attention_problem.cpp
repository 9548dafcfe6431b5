// SPDX-License-Identifier: Apache-2.0
#include "bench/torch/attention_problem.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/rng.h"
#include "ops/support.h"

namespace fib::bench {
namespace {

using Vector = std::vector<double>;

/// Rows of one head are sampled: the ends, where windows are cut off, and evenly between.
constexpr int64_t kRows = 24, kSampledHeads = 3;

struct SampledHead {
  int64_t b, h;
};

std::vector<int64_t> sampled(int64_t count, int64_t most) {
  std::vector<int64_t> picked;
  const int64_t n = std::min(count, most);
  for (int64_t i = 0; i < n; ++i) picked.push_back(n == 1 ? 0 : i * (count - 1) / (n - 1));
  return picked;
}

std::vector<SampledHead> sampled_heads(const AttentionShape& s) {
  std::vector<SampledHead> picked;
  for (int64_t i : sampled(s.batch * s.heads, kSampledHeads)) picked.push_back({i / s.heads, i % s.heads});
  return picked;
}

/// One query: the keys it weighs, their probabilities, and whether each depends on the scores. Summaries are keys
/// behind all tokens.
struct SampledRow {
  std::vector<int64_t> keys;
  std::vector<bool> scored;
  Vector probability, out;
};

class Head {
 public:
  Head(const AttentionProblem& p, SampledHead at, Semantics semantics)
      : p_(p), at_(at), semantics_(semantics), scale_(1.0 / std::sqrt(static_cast<double>(p.shape.dim))) {
    if (semantics != Semantics::support || !p.support.summaries()) return;
    tiling_ = &*p.support.summaries();
    const at::Tensor averaging = ops::averaging_matrix(*tiling_);
    const auto means = [&](const at::Tensor& x) {
      const at::Tensor patches = x[at.b][at.h].narrow(0, p.support.cls(), p.support.patches());
      return at::matmul(averaging, patches.to(at::kDouble)).to(at::kFloat).contiguous();
    };
    key_means_ = means(p.k), value_means_ = means(p.v);
  }

  SampledRow row(int64_t query) const {
    SampledRow r;
    list_keys(query, r);
    double m = -std::numeric_limits<double>::infinity(), sum = 0.0;
    for (size_t i = 0; i < r.keys.size(); ++i) {
      r.probability.push_back(r.scored[i] ? scale_ * dot(p_.q, query, p_.k, r.keys[i]) + log_size(r.keys[i]) : 0.0);
      m = std::max(m, r.probability.back());
    }
    for (double& s : r.probability) sum += s = std::exp(s - m);
    r.out.assign(static_cast<size_t>(p_.shape.dim), 0.0);
    for (size_t i = 0; i < r.keys.size(); ++i) add(r.probability[i] /= sum, p_.v, r.keys[i], r.out);
    return r;
  }

  Vector dq(int64_t query) const {
    const SampledRow r = row(query);
    Vector gradient(r.out.size(), 0.0);
    for (size_t i = 0; i < r.keys.size(); ++i) add(score_gradient(r, i, query) * scale_, p_.k, r.keys[i], gradient);
    return gradient;
  }

  /// Adds what a query gives to one key, if it sees it.
  void add_key_gradients(const SampledRow& r, int64_t query, int64_t key, Vector& dk, Vector& dv) const {
    add_gradients_of(r, query, key, 1.0, dk, dv);
    if (tiling_ == nullptr || key < p_.support.cls()) return;
    const int64_t tile = tiling_->tile_of(key - p_.support.cls());
    add_gradients_of(r, query, p_.shape.key_tokens + tile, 1.0 / static_cast<double>(tiling_->size(tile)), dk, dv);
  }

  bool sees_any(int64_t query, const std::vector<int64_t>& keys) const {
    if (tiling_ != nullptr && query >= p_.support.cls()) return true;
    return std::any_of(keys.begin(), keys.end(), [&](int64_t key) { return sees(query, key); });
  }

 private:
  /// A share of what a query gives to a key, if it sees it.
  void add_gradients_of(const SampledRow& r, int64_t query, int64_t key, double share, Vector& dk, Vector& dv) const {
    const auto found = std::lower_bound(r.keys.begin(), r.keys.end(), key);
    if (found == r.keys.end() || *found != key) return;
    const size_t i = static_cast<size_t>(found - r.keys.begin());
    add(share * r.probability[i], p_.grad_out, query, dv);
    add(share * score_gradient(r, i, query) * scale_, p_.q, query, dk);
  }

  double log_size(int64_t key) const {
    const int64_t tile = key - p_.shape.key_tokens;
    return tile < 0 ? 0.0 : std::log(static_cast<double>(tiling_->size(tile)));
  }

  bool sees(int64_t query, int64_t key) const {
    return semantics_ != Semantics::support || p_.support.contains(at_.h, pair(query, key));
  }

  static TokenPair pair(int64_t query, int64_t key) { return {static_cast<int32_t>(query), static_cast<int32_t>(key)}; }

  void list_keys(int64_t query, SampledRow& r) const {
    if (semantics_ == Semantics::support) {
      r.keys = p_.support.keys_of_row(at_.h, query);
      for (int64_t s = 0; tiling_ != nullptr && query >= p_.support.cls() && s < tiling_->count(); ++s)
        r.keys.push_back(p_.shape.key_tokens + s);
      r.scored.assign(r.keys.size(), true);
      return;
    }
    for (int64_t k = 0; k < p_.shape.key_tokens; ++k) {
      r.keys.push_back(k);
      r.scored.push_back(semantics_ == Semantics::dense || p_.support.contains(at_.h, pair(query, k)));
    }
  }

  double score_gradient(const SampledRow& r, size_t i, int64_t query) const {
    if (!r.scored[i]) return 0.0;
    const float* g = token(p_.grad_out, query);
    double delta = 0.0;
    for (size_t c = 0; c < r.out.size(); ++c) delta += r.out[c] * static_cast<double>(g[c]);
    return r.probability[i] * (dot(p_.grad_out, query, p_.v, r.keys[i]) - delta);
  }

  const float* token(const at::Tensor& x, int64_t t) const {
    if (t >= p_.shape.key_tokens)
      return (x.is_same(p_.k) ? key_means_ : value_means_).data_ptr<float>() + (t - p_.shape.key_tokens) * p_.shape.dim;
    return x.data_ptr<float>() + ((at_.b * p_.shape.heads + at_.h) * p_.shape.query_tokens + t) * p_.shape.dim;
  }

  double dot(const at::Tensor& x, int64_t i, const at::Tensor& y, int64_t j) const {
    const float *a = token(x, i), *b = token(y, j);
    double sum = 0.0;
    for (int64_t c = 0; c < p_.shape.dim; ++c) sum += static_cast<double>(a[c]) * static_cast<double>(b[c]);
    return sum;
  }

  void add(double weight, const at::Tensor& x, int64_t t, Vector& to) const {
    const float* from = token(x, t);
    for (size_t c = 0; c < to.size(); ++c) to[c] += weight * static_cast<double>(from[c]);
  }

  const AttentionProblem& p_;
  SampledHead at_;
  Semantics semantics_;
  double scale_;
  const Tiling* tiling_ = nullptr;      ///< null where there are no summaries
  at::Tensor key_means_, value_means_;  ///< [S,d]
};

/// NaN is the worst.
double worse(double a, double b) { return std::isnan(b) || b > a ? b : a; }

/// Collects differences, then relates them to the size of what was compared.
class Comparison {
 public:
  void compare(const at::Tensor& got, SampledHead at, int64_t token, const Vector& expected) {
    const at::Tensor row = got[at.b][at.h][token].contiguous();
    const float* values = row.data_ptr<float>();
    for (size_t c = 0; c < expected.size(); ++c) {
      difference_ = worse(difference_, std::abs(static_cast<double>(values[c]) - expected[c]));
      size_ = std::max(size_, std::abs(expected[c]));
    }
  }
  double relative_to(double size) const { return difference_ / size; }
  double relative() const { return size_ > 0.0 ? difference_ / size_ : difference_; }

 private:
  double difference_ = 0.0, size_ = 0.0;
};

double output_error(const AttentionProblem& p, const AttentionResults& results, Semantics semantics) {
  Comparison out;
  for (SampledHead at : sampled_heads(p.shape)) {
    const Head head(p, at, semantics);
    for (int64_t j : sampled(p.shape.query_tokens, kRows)) out.compare(results.out, at, j, head.row(j).out);
  }
  return out.relative_to(at::maximum(p.v.max(), -p.v.min()).item<double>());
}

struct KeyGradients {
  std::vector<Vector> dk, dv;

  KeyGradients(size_t keys, int64_t dim) : dk(keys, Vector(static_cast<size_t>(dim), 0.0)), dv(dk) {}
  void operator+=(const KeyGradients& other) {
    for (size_t i = 0; i < dk.size(); ++i) {
      std::transform(dk[i].begin(), dk[i].end(), other.dk[i].begin(), dk[i].begin(), std::plus<>());
      std::transform(dv[i].begin(), dv[i].end(), other.dv[i].begin(), dv[i].begin(), std::plus<>());
    }
  }
};

/// dk and dv of some keys, from all queries that see them.
KeyGradients key_gradients(const Head& head, const AttentionShape& shape, const std::vector<int64_t>& keys) {
  KeyGradients total(keys.size(), shape.dim);
#pragma omp parallel
  {
    KeyGradients mine(keys.size(), shape.dim);
#pragma omp for schedule(dynamic, 64)
    for (int64_t j = 0; j < shape.query_tokens; ++j) {
      if (!head.sees_any(j, keys)) continue;
      const SampledRow r = head.row(j);
      for (size_t i = 0; i < keys.size(); ++i) head.add_key_gradients(r, j, keys[i], mine.dk[i], mine.dv[i]);
    }
#pragma omp critical
    total += mine;
  }
  return total;
}

/// A key of a dense contestant is seen by all queries, each of which weighs all keys: one head is enough work.
double gradient_error(const AttentionProblem& p, const AttentionResults& r, Semantics semantics) {
  Comparison dq, dk, dv;
  const std::vector<SampledHead> heads = sampled_heads(p.shape);
  const std::vector<int64_t> tokens = sampled(p.shape.query_tokens, kRows);
  for (size_t i = 0; i < (semantics == Semantics::support ? heads.size() : 1); ++i) {
    const Head head(p, heads[i], semantics);
    const KeyGradients expected = key_gradients(head, p.shape, tokens);
    for (size_t t = 0; t < tokens.size(); ++t) {
      dq.compare(r.dq, heads[i], tokens[t], head.dq(tokens[t]));
      dk.compare(r.dk, heads[i], tokens[t], expected.dk[t]);
      dv.compare(r.dv, heads[i], tokens[t], expected.dv[t]);
    }
  }
  return worse(dq.relative(), worse(dk.relative(), dv.relative()));
}

}  // namespace

double max_error(const AttentionProblem& problem, const AttentionResults& results, Semantics semantics) {
  const double out = output_error(problem, results, semantics);
  return results.dq.defined() ? worse(out, gradient_error(problem, results, semantics)) : out;
}

AttentionShape square_shape(const SupportSet& support, int64_t batch, int64_t dim) {
  return {batch, support.num_heads(), support.query_tokens(), support.key_tokens(), dim, dim};
}

AttentionProblem::AttentionProblem(SupportSet set, int64_t batch, int64_t dim, bool with_backward)
    : support(std::move(set)), shape(square_shape(support, batch, dim)), backward(with_backward) {
  uint64_t seed = 0;
  for (at::Tensor* x : {&q, &k, &v, &grad_out}) {
    if (x == &grad_out && !backward) break;
    *x = at::empty({batch, shape.heads, shape.query_tokens, dim});
    fill_random(*x, ++seed);
  }
}

int64_t AttentionProblem::tensor_bytes(const AttentionShape& s) {
  return s.batch * s.heads * s.query_tokens * s.dim * static_cast<int64_t>(sizeof(float));
}

int64_t AttentionProblem::bytes(const AttentionShape& s, bool with_backward) {
  return (with_backward ? 4 : 3) * tensor_bytes(s);
}

void fill_random(const at::Tensor& x, uint64_t seed) {
  const CounterRng rng(seed);
  float* data = x.data_ptr<float>();
  const float width = 2.0F * std::sqrt(3.0F) / 16777216.0F;  // uniform, 24 bits
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < x.numel(); ++i) {
    data[i] = (static_cast<float>(rng.at(static_cast<uint64_t>(i)) >> 40) - 8388607.5F) * width;
  }
}

}  // namespace fib::bench
