// SPDX-License-Identifier: Apache-2.0
// The slow, obvious attention that every fast one is compared with: dense rows in float64, one scalar at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "fibottention/attention.h"

namespace fib::test {

/// All arrays contiguous: q [B,H,Tq,d], k [B,H,Tk,d], v [B,H,Tk,e], bias [groups, H or 1, Tq,Tk] or empty.
struct OracleProblem {
  const SupportSet* support = nullptr;
  AttentionShape shape;
  std::vector<double> q = {}, k = {}, v = {}, bias = {};
  int64_t bias_groups = 1;
  bool bias_per_head = false;
  std::vector<int64_t> lengths = {};  ///< [B] or empty
  std::optional<double> scale = {};
  Masking masking = Masking::exclude;
  /// The factor of a probability after dropout, by (b, h, query, key); none means 1.
  std::function<double(int64_t, int64_t, int64_t, int64_t)> keep = {};
  int64_t summaries = 0;  ///< how many of the keys, the last ones, are summaries; the oracle itself adds them
};

struct OracleResult {
  std::vector<double> out, lse;
};

struct OracleGradients {
  std::vector<double> dq, dk, dv, dbias;
};

OracleResult oracle_forward(const OracleProblem& problem);
OracleGradients oracle_backward(const OracleProblem& problem, const std::vector<double>& grad_out);

}  // namespace fib::test
