// SPDX-License-Identifier: Apache-2.0
#include "attention/torch/mechanism.h"

#include <limits>
#include <sstream>
#include <stdexcept>

namespace fib::attention {

using Maker = MechanismPtr(const AttentionSpec& spec, const Geometry& geometry, double dropout);
/// One adapter serves every support set; each of the others has a file of its own.
Maker make_support_mechanism, make_full, make_topk, make_linformer, make_efficient;

namespace {

Maker* maker_of(const MechanismInfo& m) {
  static const std::pair<const char*, Maker*> kMakers[] = {
      {"full", make_full}, {"topk", make_topk}, {"linformer", make_linformer}, {"efficient", make_efficient}};
  if (m.support_set) return make_support_mechanism;
  for (const auto& [name, maker] : kMakers) {
    if (m.name == name) return maker;
  }
  throw std::logic_error("attention " + m.name + " has an entry and no maker");
}

std::string bias_refusal_of(const AttentionSpec& spec) {
  const MechanismInfo& m = find_mechanism(spec.name);
  return m.bias_refusal != nullptr ? m.bias_refusal(spec) : "";
}

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

void check_bias_shape(const std::string& name, const at::Tensor& bias, const Geometry& g, int64_t batch) {
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
      bias_refusal_(bias_refusal_of(spec_)),
      dropout_(dropout) {
  if (!(dropout >= 0.0 && dropout < 1.0)) {
    throw std::invalid_argument(spec_.name + ": dropout must be in [0, 1), got " + std::to_string(dropout));
  }
}

void Mechanism::check_bias(const at::Tensor& bias, int64_t batch) const {
  if (!bias.defined()) return;
  if (!bias_refusal_.empty()) throw std::invalid_argument(spec_.name + " takes no bias: " + bias_refusal_);
  check_bias_shape(spec_.name, bias, geometry_, batch);
}

at::Tensor Mechanism::forward(const Inputs& in) {
  cancel_.throw_if_requested();
  check_inputs(spec_.name, in, geometry_);
  check_bias(in.bias, in.q.size(0));
  if (watcher_ != nullptr) *watcher_ = in;
  return hook_ != nullptr ? hook_->forward(*this, in) : attend(in);
}

at::Tensor Mechanism::forward_packed(const at::Tensor& qkv, const at::Tensor& bias) {
  cancel_.throw_if_requested();
  check_tensor(spec_.name, "packed qkv", qkv, {geometry_.query_tokens(), 3, geometry_.heads, geometry_.head_dim});
  check_bias(bias, qkv.size(0));
  if (watcher_ != nullptr) *watcher_ = unpack(qkv, bias);
  return hook_ != nullptr ? hook_->forward_packed(*this, qkv, bias) : attend_packed(qkv, bias);
}

at::Tensor Mechanism::attend_packed(const at::Tensor& qkv, const at::Tensor& bias) { return attend(unpack(qkv, bias)); }

at::Tensor Mechanism::probabilities(const Inputs& in) {
  check_inputs(spec_.name, in, geometry_);
  check_bias(in.bias, in.q.size(0));
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
  return maker_of(find_mechanism(spec.name))(spec, geometry, dropout);
}

Inputs unpack(const at::Tensor& qkv, const at::Tensor& bias) {
  const at::Tensor heads_first = qkv.permute({2, 0, 3, 1, 4});  // [3,B,H,T,d]
  return {heads_first[0], heads_first[1], heads_first[2], bias};
}

at::Tensor dense_scores(const Inputs& in, double scale) {
  const int64_t B = in.q.size(0), H = in.q.size(1), Tq = in.q.size(2), Tk = in.k.size(2);
  // The scale would cost nothing inside baddbmm, but with beta 0 on memory that was never set it gives NaN now and then
  // for small matrices (pytorch#96037). The product and a scaled q do the same.
  const at::Tensor q = (in.q * scale).reshape({B * H, Tq, -1});
  const at::Tensor k = in.k.reshape({B * H, Tk, -1});
  const at::Tensor scores = at::bmm(q, k.transpose(1, 2));
  if (!in.bias.defined()) return scores.view({B, H, Tq, Tk});
  const int64_t G = in.bias.size(0);
  return (scores.view({B / G, G, H, Tq, Tk}) + in.bias).view({B, H, Tq, Tk});
}

at::Tensor softmax_or_zero(const at::Tensor& scores) {
  const at::Tensor blind = scores.eq(-std::numeric_limits<double>::infinity()).all(-1, true);  // [B,H,Tq,1]
  return at::softmax(scores.masked_fill(blind, 0.0), -1).masked_fill(blind, 0.0);
}

}  // namespace fib::attention
