// SPDX-License-Identifier: Apache-2.0
// Who runs in `fib bench attention`. All write into memory that was allocated before, so that allocation is not timed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/torch/attention_problem.h"

namespace fib::bench {

class Contestant {
 public:
  virtual ~Contestant() = default;

  virtual std::string name() const = 0;
  virtual Semantics semantics() const { return Semantics::support; }
  /// Whether there is anything to check and to differentiate; memcpy has neither.
  virtual bool computes() const { return true; }
  /// Whether prepare() makes its own copy of the inputs.
  virtual bool copies_inputs() const { return false; }
  /// Pairs of a query and a key that it computes in all heads of one sample.
  virtual int64_t pairs(const AttentionProblem& problem) const { return problem.support.pairs(); }

  /// What it will allocate, beyond the problem's own tensors.
  virtual int64_t bytes(const AttentionShape& shape, bool backward) const = 0;
  /// Why it should not run at this size although there is memory for it; empty when it may.
  virtual std::string refusal(const AttentionShape&, bool) const { return ""; }
  virtual void prepare(const AttentionProblem& problem) = 0;
  virtual void forward() = 0;
  /// After a forward.
  virtual void backward() {}
  virtual AttentionResults results() const { return {}; }
};

/// In the order of the report: fibottention, fibottention-packed, dense, dense-tiled, dense-masked, memcpy.
std::vector<std::unique_ptr<Contestant>> attention_contestants();

std::unique_ptr<Contestant> make_kernel_contestant();
std::unique_ptr<Contestant> make_packed_kernel_contestant();
std::unique_ptr<Contestant> make_dense_contestant();
std::unique_ptr<Contestant> make_tiled_dense_contestant();
std::unique_ptr<Contestant> make_masked_dense_contestant();
std::unique_ptr<Contestant> make_memcpy_contestant();

}  // namespace fib::bench
