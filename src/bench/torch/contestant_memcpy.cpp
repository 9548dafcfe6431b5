// SPDX-License-Identifier: Apache-2.0
// How fast memory is: four tensors of the problem's size are copied, on as many threads as the others have.
#include <algorithm>
#include <cstring>

#include "bench/torch/attention_contestants.h"

namespace fib::bench {
namespace {

class Memcpy : public Contestant {
 public:
  std::string name() const override { return "memcpy"; }
  bool computes() const override { return false; }
  int64_t pairs(const AttentionProblem&) const override { return 0; }
  int64_t bytes(const AttentionShape& s, bool) const override { return 5 * AttentionProblem::tensor_bytes(s); }

  void prepare(const AttentionProblem& p) override {
    const at::Tensor fourth = p.v.clone();
    for (const at::Tensor& x : {p.q, p.k, p.v, fourth}) {
      from_.push_back(x);
      to_.push_back(at::empty_like(x));
    }
  }

  void forward() override {
    constexpr int64_t kChunk = 1 << 18;
    const int64_t bytes = static_cast<int64_t>(from_.front().nbytes()), chunks = (bytes + kChunk - 1) / kChunk;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < 4 * chunks; ++i) {
      const size_t buffer = static_cast<size_t>(i / chunks);
      const int64_t begin = i % chunks * kChunk;
      std::memcpy(static_cast<char*>(to_[buffer].data_ptr()) + begin,
                  static_cast<const char*>(from_[buffer].data_ptr()) + begin,
                  static_cast<size_t>(std::min(kChunk, bytes - begin)));
    }
  }

 private:
  std::vector<at::Tensor> from_, to_;
};

}  // namespace

std::unique_ptr<Contestant> make_memcpy_contestant() { return std::make_unique<Memcpy>(); }

}  // namespace fib::bench
