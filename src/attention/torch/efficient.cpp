// SPDX-License-Identifier: Apache-2.0
// Efficient attention: softmax over the channels of q and over the tokens of k, then q(kᵀv), linear in the tokens.
#include <stdexcept>

#include "attention/torch/mechanism.h"

namespace fib::attention {
namespace {

class Efficient final : public Mechanism {
 public:
  Efficient(const AttentionSpec& spec, const Geometry& g, double dropout) : Mechanism(spec, g, dropout) {
    if (dropout > 0) throw std::invalid_argument("efficient forms no weight per pair, so there is none to drop out");
  }

 private:
  static at::Tensor queries(const Inputs& in) { return at::softmax(in.q, -1); }
  static at::Tensor keys(const Inputs& in) { return at::softmax(in.k, -2).transpose(-2, -1); }  // [B,H,d,Tk]

  at::Tensor attend(const Inputs& in) override {
    return merge_heads(at::matmul(queries(in), at::matmul(keys(in), in.v)));
  }

  at::Tensor weights(const Inputs& in) override { return at::matmul(queries(in), keys(in)); }
};

}  // namespace

MechanismPtr make_efficient(const AttentionSpec& spec, const Geometry& geometry, double dropout) {
  return std::make_shared<Efficient>(spec, geometry, dropout);
}

}  // namespace fib::attention
