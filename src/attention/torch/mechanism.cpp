// SPDX-License-Identifier: Apache-2.0
#include "attention/torch/mechanism.h"

#include <sstream>
#include <stdexcept>

#include "attention/torch/mechanisms.h"

namespace fib::attention {
namespace {

[[noreturn]] void refuse_shape(const std::string& name, const char* what, const std::string& wanted,
                               at::IntArrayRef got) {
  std::ostringstream message;
  message << name << ": " << what << " must be " << wanted << ", got " << got;
  throw std::invalid_argument(message.str());
}

/// Checks [B, a, b, c] for any B.
void check_tensor(const std::string& name, const char* what, const at::Tensor& t, at::IntArrayRef tail) {
  if (t.dim() == static_cast<int64_t>(tail.size()) + 1 && t.sizes().slice(1) == tail) return;
  std::ostringstream wanted;
  wanted << "[B";
  for (int64_t n : tail) wanted << ", " << n;
  wanted << "]";
  refuse_shape(name, what, wanted.str(), t.sizes());
}

void check_bias(const std::string& name, const at::Tensor& bias, const Geometry& g, int64_t batch) {
  if (!bias.defined()) return;
  const bool good = bias.dim() == 4 && bias.size(0) > 0 && batch % bias.size(0) == 0 &&
                    (bias.size(1) == 1 || bias.size(1) == g.heads) && bias.size(2) == g.query_tokens() &&
                    bias.size(3) == g.key_tokens();
  if (good) return;
  std::ostringstream wanted;
  wanted << "[G, 1 or " << g.heads << ", " << g.query_tokens() << ", " << g.key_tokens() << "] with G dividing "
         << batch;
  refuse_shape(name, "bias", wanted.str(), bias.sizes());
}

void check_inputs(const std::string& name, const Inputs& in, const Geometry& g) {
  check_tensor(name, "q", in.q, {g.heads, g.query_tokens(), g.head_dim});
  check_tensor(name, "k", in.k, {g.heads, g.key_tokens(), g.head_dim});
  check_tensor(name, "v", in.v, {g.heads, g.key_tokens(), g.value_dim});
  if (in.k.size(0) != in.q.size(0)) refuse_shape(name, "k", "of q's batch", in.k.sizes());
  if (in.v.size(0) != in.q.size(0)) refuse_shape(name, "v", "of q's batch", in.v.sizes());
  check_bias(name, in.bias, g, in.q.size(0));
}

Geometry with_wanted_dim(const AttentionSpec& spec, Geometry geometry) {
  geometry.head_dim = query_key_dim(spec, geometry);
  return geometry;
}

}  // namespace

Mechanism::Mechanism(AttentionSpec spec, const Geometry& geometry, double dropout)
    : torch::nn::Module("Mechanism"),
      spec_(std::move(spec)),
      geometry_(with_wanted_dim(spec_, geometry)),
      dropout_(dropout) {
  if (!(dropout >= 0.0 && dropout < 1.0)) {
    throw std::invalid_argument(spec_.name + ": dropout must be in [0, 1), got " + std::to_string(dropout));
  }
}

at::Tensor Mechanism::forward(const Inputs& in) {
  check_inputs(spec_.name, in, geometry_);
  if (watcher_ != nullptr) *watcher_ = in;
  return attend(in);
}

at::Tensor Mechanism::forward_packed(const at::Tensor& qkv, const at::Tensor& bias) {
  check_tensor(spec_.name, "packed qkv", qkv, {geometry_.query_tokens(), 3, geometry_.heads, geometry_.head_dim});
  check_bias(spec_.name, bias, geometry_, qkv.size(0));
  if (watcher_ != nullptr) *watcher_ = unpack(qkv, bias);
  return attend_packed(qkv, bias);
}

at::Tensor Mechanism::attend_packed(const at::Tensor& qkv, const at::Tensor& bias) { return attend(unpack(qkv, bias)); }

at::Tensor Mechanism::probabilities(const Inputs& in) {
  check_inputs(spec_.name, in, geometry_);
  return weights(in);
}

void Mechanism::resize(const Grid& query_grid, const Grid& key_grid) {
  resize(query_grid, key_grid, geometry_.head_dim);
}

void Mechanism::resize(const Grid& query_grid, const Grid& key_grid, int64_t head_dim) {
  const Geometry before = geometry_;
  geometry_.head_dim = head_dim;
  if (query_grid == before.query_grid && key_grid == before.key_grid) return;
  geometry_.query_grid = query_grid;
  geometry_.key_grid = key_grid;
  try {
    regrid();
  } catch (...) {
    geometry_ = before;
    throw;
  }
}

MechanismPtr make(const AttentionSpec& spec, const Geometry& geometry, double dropout) {
  check_fit(spec, geometry);
  switch (find_entry(spec.name).family) {
    case Family::dense:
      return make_full(spec, geometry, dropout);
    case Family::topk:
      return make_topk(spec, geometry, dropout);
    case Family::linformer:
      return make_linformer(spec, geometry, dropout);
    case Family::efficient:
      return make_efficient(spec, geometry, dropout);
    case Family::support:
      break;
  }
  return make_support_attention(spec, geometry, dropout);
}

Inputs unpack(const at::Tensor& qkv, const at::Tensor& bias) {
  const at::Tensor heads_first = qkv.permute({2, 0, 3, 1, 4});  // [3,B,H,T,d]
  return {heads_first[0], heads_first[1], heads_first[2], bias};
}

}  // namespace fib::attention
