// SPDX-License-Identifier: Apache-2.0
#include "oracle/attention_oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fib::test {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

size_t at(int64_t i) { return static_cast<size_t>(i); }

double dot(const double* a, const double* b, int64_t n) {
  double sum = 0;
  for (int64_t c = 0; c < n; ++c) sum += a[c] * b[c];
  return sum;
}

void add_scaled(double w, const double* x, int64_t n, double* y) {
  for (int64_t c = 0; c < n; ++c) y[c] += w * x[c];
}

/// One query: which keys count, which of them have a score that depends on the input, and the probabilities.
struct Row {
  std::vector<bool> in_support;
  std::vector<double> probability;  ///< before dropout
  double lse = kMinusInfinity;
};

struct Position {
  int64_t b, h, j;
};

const double* query(const OracleProblem& p, Position at) {
  return p.q.data() + ((at.b * p.shape.heads + at.h) * p.shape.query_tokens + at.j) * p.shape.dim;
}
const double* key(const OracleProblem& p, Position at, int64_t k) {
  return p.k.data() + ((at.b * p.shape.heads + at.h) * p.shape.key_tokens + k) * p.shape.dim;
}
const double* value(const OracleProblem& p, Position at, int64_t k) {
  return p.v.data() + ((at.b * p.shape.heads + at.h) * p.shape.key_tokens + k) * p.shape.value_dim;
}
size_t bias_index(const OracleProblem& p, Position at_, int64_t k) {
  const int64_t heads = p.bias_per_head ? p.shape.heads : 1, head = p.bias_per_head ? at_.h : 0;
  const int64_t tokens = p.shape.key_tokens - p.summaries;
  return at((((at_.b % p.bias_groups) * heads + head) * p.shape.query_tokens + at_.j) * tokens + k);
}
/// A summary has none.
bool has_bias(const OracleProblem& p, int64_t k) { return !p.bias.empty() && k < p.shape.key_tokens - p.summaries; }
double scale_of(const OracleProblem& p) { return p.scale.value_or(1.0 / std::sqrt(static_cast<double>(p.shape.dim))); }
double keep_of(const OracleProblem& p, Position at_, int64_t k) {
  return p.keep ? p.keep(at_.b, at_.h, at_.j, k) : 1.0;
}

std::vector<bool> support_of(const OracleProblem& p, Position position) {
  std::vector<bool> in(at(p.shape.key_tokens), false);
  const int64_t tokens = p.shape.key_tokens - p.summaries;
  const int64_t end = p.lengths.empty() ? tokens : p.lengths[at(position.b)];
  const bool padding_query = p.shape.query_tokens == tokens && position.j >= end;
  if (padding_query) return in;
  for (int64_t k : p.support->keys_of_row(position.h, position.j)) in[at(k)] = k < end;
  for (int64_t k = tokens; k < p.shape.key_tokens; ++k) in[at(k)] = position.j >= p.support->cls();
  return in;
}

/// The logarithm of how many patches a key stands for.
double log_size(const OracleProblem& p, int64_t k) {
  const int64_t tokens = p.shape.key_tokens - p.summaries;
  return k < tokens ? 0.0 : std::log(static_cast<double>(p.support->summaries()->size(k - tokens)));
}

Row make_row(const OracleProblem& p, Position position) {
  Row row{support_of(p, position), std::vector<double>(at(p.shape.key_tokens), kMinusInfinity)};
  std::vector<double>& s = row.probability;
  for (int64_t k = 0; k < p.shape.key_tokens; ++k) {
    if (!row.in_support[at(k)]) {
      if (p.masking == Masking::zero) s[at(k)] = 0.0;
      continue;
    }
    s[at(k)] = scale_of(p) * dot(query(p, position), key(p, position, k), p.shape.dim) + log_size(p, k);
    if (has_bias(p, k)) s[at(k)] += p.bias[bias_index(p, position, k)];
  }
  const double top = *std::max_element(s.begin(), s.end());
  double sum = 0;
  for (double& x : s) sum += x = top == kMinusInfinity ? 0.0 : std::exp(x - top);
  for (double& x : s) x = sum == 0 ? 0.0 : x / sum;
  row.lse = sum == 0 ? kMinusInfinity : top + std::log(sum);
  return row;
}

template <class Visit>
void for_each_query(const AttentionShape& shape, Visit visit) {
  for (int64_t b = 0; b < shape.batch; ++b) {
    for (int64_t h = 0; h < shape.heads; ++h) {
      for (int64_t j = 0; j < shape.query_tokens; ++j) visit(Position{b, h, j});
    }
  }
}

int64_t query_index(const AttentionShape& s, Position p) { return (p.b * s.heads + p.h) * s.query_tokens + p.j; }
int64_t key_index(const AttentionShape& s, Position p, int64_t k) { return (p.b * s.heads + p.h) * s.key_tokens + k; }

void backward_row(const OracleProblem& p, Position position, const double* grad_out, OracleGradients& g) {
  const AttentionShape& s = p.shape;
  const Row row = make_row(p, position);
  std::vector<double> dp(at(s.key_tokens), 0.0);  // gradient of the probability before dropout
  double delta = 0;
  for (int64_t k = 0; k < s.key_tokens; ++k) {
    if (row.probability[at(k)] == 0) continue;
    const double keep = keep_of(p, position, k);
    dp[at(k)] = keep * dot(grad_out, value(p, position, k), s.value_dim);
    delta += row.probability[at(k)] * dp[at(k)];
    add_scaled(row.probability[at(k)] * keep, grad_out, s.value_dim,
               g.dv.data() + key_index(s, position, k) * s.value_dim);
  }
  for (int64_t k = 0; k < s.key_tokens; ++k) {
    if (!row.in_support[at(k)]) continue;
    const double ds = row.probability[at(k)] * (dp[at(k)] - delta);
    if (has_bias(p, k)) g.dbias[bias_index(p, position, k)] += ds;
    add_scaled(ds * scale_of(p), key(p, position, k), s.dim, g.dq.data() + query_index(s, position) * s.dim);
    add_scaled(ds * scale_of(p), query(p, position), s.dim, g.dk.data() + key_index(s, position, k) * s.dim);
  }
}

/// [heads of all samples, tokens, channels] with the means of the tiles behind each head's tokens.
std::vector<double> with_means(const SupportSet& support, const std::vector<double>& rows, int64_t channels) {
  const Tiling& tiling = *support.summaries();
  const auto head_size = support.key_tokens() * channels;
  std::vector<double> result;
  for (size_t head = 0; head < rows.size(); head += at(head_size)) {
    const double* from = rows.data() + head;
    std::vector<double> means(at(tiling.count() * channels), 0.0);
    for (int64_t t = 0; t < support.patches(); ++t) {
      const int64_t tile = tiling.tile_of(t);
      add_scaled(1.0 / static_cast<double>(tiling.size(tile)), from + (support.cls() + t) * channels, channels,
                 means.data() + tile * channels);
    }
    result.insert(result.end(), from, from + head_size);
    result.insert(result.end(), means.begin(), means.end());
  }
  return result;
}

/// Back again: every patch receives its share of its tile's gradient.
std::vector<double> without_means(const SupportSet& support, const std::vector<double>& rows, int64_t channels) {
  const Tiling& tiling = *support.summaries();
  const int64_t head_size = support.key_tokens() * channels, all = head_size + tiling.count() * channels;
  std::vector<double> result;
  for (size_t head = 0; head < rows.size(); head += at(all)) {
    const double* from = rows.data() + head;
    std::vector<double> tokens(from, from + head_size);
    for (int64_t t = 0; t < support.patches(); ++t) {
      const int64_t tile = tiling.tile_of(t);
      add_scaled(1.0 / static_cast<double>(tiling.size(tile)), from + head_size + tile * channels, channels,
                 tokens.data() + (support.cls() + t) * channels);
    }
    result.insert(result.end(), tokens.begin(), tokens.end());
  }
  return result;
}

/// The same problem with its summaries as further keys.
OracleProblem with_summaries(const OracleProblem& p) {
  OracleProblem extended = p;
  extended.summaries = p.support->summaries()->count();
  extended.shape.key_tokens += extended.summaries;
  extended.k = with_means(*p.support, p.k, p.shape.dim);
  extended.v = with_means(*p.support, p.v, p.shape.value_dim);
  return extended;
}

bool lacks_summaries(const OracleProblem& p) { return p.support->summaries() && p.summaries == 0; }

}  // namespace

OracleResult oracle_forward(const OracleProblem& p) {
  if (lacks_summaries(p)) return oracle_forward(with_summaries(p));
  const AttentionShape& s = p.shape;
  const int64_t rows = s.batch * s.heads * s.query_tokens;
  OracleResult result{std::vector<double>(at(rows * s.value_dim), 0.0), std::vector<double>(at(rows))};
  for_each_query(s, [&](Position position) {
    const Row row = make_row(p, position);
    result.lse[at(query_index(s, position))] = row.lse;
    for (int64_t k = 0; k < s.key_tokens; ++k) {
      if (row.probability[at(k)] == 0) continue;
      add_scaled(row.probability[at(k)] * keep_of(p, position, k), value(p, position, k), s.value_dim,
                 result.out.data() + query_index(s, position) * s.value_dim);
    }
  });
  return result;
}

OracleGradients oracle_backward(const OracleProblem& p, const std::vector<double>& grad_out) {
  OracleGradients g;
  if (lacks_summaries(p)) {
    g = oracle_backward(with_summaries(p), grad_out);
    g.dk = without_means(*p.support, g.dk, p.shape.dim);
    g.dv = without_means(*p.support, g.dv, p.shape.value_dim);
    return g;
  }
  g.dq.resize(p.q.size());
  g.dk.resize(p.k.size());
  g.dv.resize(p.v.size());
  g.dbias.resize(p.bias.size());
  for_each_query(p.shape, [&](Position position) {
    backward_row(p, position, grad_out.data() + query_index(p.shape, position) * p.shape.value_dim, g);
  });
  return g;
}

}  // namespace fib::test
