// SPDX-License-Identifier: Apache-2.0
#include "models/torch/layers.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>

namespace fib::models {

Linear::Linear(int64_t from, int64_t to, bool with_bias) {
  weight = register_parameter("weight", at::empty({to, from}));
  if (with_bias) bias = register_parameter("bias", at::empty({to}));
}

LayerNorm::LayerNorm(int64_t dim, double eps) : eps_(eps) {
  weight = register_parameter("weight", at::empty({dim}));
  bias = register_parameter("bias", at::empty({dim}));
}

PatchEmbed::Projection::Projection(int64_t channels, int64_t dim, int64_t patch) {
  weight = register_parameter("weight", at::empty({dim, channels, patch, patch}));
  bias = register_parameter("bias", at::empty({dim}));
}

PatchEmbed::PatchEmbed(int64_t channels, int64_t dim, int64_t patch, std::optional<double> norm_eps) {
  proj_ = register_module("proj", std::make_shared<Projection>(channels, dim, patch));
  if (norm_eps) norm_ = register_module("norm", std::make_shared<LayerNorm>(dim, *norm_eps));
}

at::Tensor PatchEmbed::forward(const at::Tensor& images) const {
  const int64_t B = images.size(0), C = images.size(1), p = proj_->weight.size(2);
  const int64_t rows = images.size(2) / p, columns = images.size(3) / p;  // what is left of a patch is not seen
  const at::Tensor patches = images.narrow(2, 0, rows * p)
                                 .narrow(3, 0, columns * p)
                                 .reshape({B, C, rows, p, columns, p})
                                 .permute({0, 2, 4, 1, 3, 5})
                                 .reshape({B, rows * columns, C * p * p});  // [B,N,C·p·p]
  const at::Tensor tokens = ops::linear(patches, proj_->weight.flatten(1), proj_->bias);
  return norm_ ? norm_->forward(tokens) : tokens;
}

void PatchEmbed::initialize() {
  const at::NoGradGuard no_grad;
  const double bound = 1.0 / std::sqrt(static_cast<double>(proj_->weight[0].numel()));
  proj_->weight.uniform_(-bound, bound);
  proj_->bias.uniform_(-bound, bound);
}

at::Tensor drop_path(const at::Tensor& branch, double rate, bool training) {
  if (!training || rate == 0.0) return branch;
  std::vector<int64_t> shape(static_cast<size_t>(branch.dim()), 1);
  shape[0] = branch.size(0);
  const at::Tensor kept = at::empty(shape, branch.options()).bernoulli_(1.0 - rate);
  return branch * (kept / (1.0 - rate));
}

at::Tensor add_branch(const at::Tensor& x, const at::Tensor& branch) {
  if (at::GradMode::is_enabled()) return x + branch;
  return at::Tensor(x).add_(branch);
}

BlockRates rates_of(const Options& options, int64_t block, int64_t blocks) {
  const double share = blocks > 1 ? static_cast<double>(block) / static_cast<double>(blocks - 1) : 0.0;
  return {options.dropout, options.attention_dropout, options.drop_path * share};
}

SelfAttention::SelfAttention(const SelfAttentionShape& shape, const AttentionLayer& layer, const BlockRates& rates)
    : mechanism_(attention::make(layer.attention, layer.geometry, rates.attention_dropout)), dropout_(rates.dropout) {
  const attention::Geometry& g = mechanism_->geometry();
  const int64_t channels = g.heads * (2 * g.head_dim + g.value_dim);
  qkv_ = register_module("qkv", std::make_shared<Linear>(shape.dim, channels, shape.qkv_bias));
  proj_ = register_module("proj", std::make_shared<Linear>(g.heads * g.value_dim, shape.dim));
  register_module("mechanism", mechanism_);
}

at::Tensor SelfAttention::mixed(const at::Tensor& x, const at::Tensor& bias) {
  const attention::Geometry& g = mechanism_->geometry();
  if (g.head_dim == g.value_dim) return mechanism_->forward_packed(packed(x), bias);
  attention::Inputs in = inputs(x);
  in.bias = bias;
  return mechanism_->forward(in);
}

at::Tensor SelfAttention::packed(const at::Tensor& x) {
  const attention::Geometry& g = mechanism_->geometry();
  const at::Tensor qkv = qkv_->forward(x).view({x.size(0), x.size(1), 3, g.heads, g.head_dim});
  return mask_.defined() ? qkv * mask_ : qkv;
}

at::Tensor SelfAttention::projected(const at::Tensor& heads) {
  return at::dropout(proj_->forward(heads), dropout_, is_training());
}

at::Tensor SelfAttention::attend(const at::Tensor& x, const at::Tensor& bias) { return projected(mixed(x, bias)); }

void SelfAttention::set_mask(const at::Tensor& mask) {
  const attention::Geometry& g = mechanism_->geometry();
  if (mask.defined() && g.head_dim != g.value_dim) {
    throw std::invalid_argument(mechanism_->spec().to_string() + " has q and k of " + std::to_string(g.head_dim) +
                                " channels and v of " + std::to_string(g.value_dim) + ": they share no mask");
  }
  mask_ = mask;
}

attention::Inputs SelfAttention::inputs(const at::Tensor& x) {
  const attention::Geometry& g = mechanism_->geometry();
  const int64_t qk = g.heads * g.head_dim;
  const at::Tensor qkv = qkv_->forward(x);
  const auto heads = [&](int64_t from, int64_t channels) {
    return qkv.narrow(2, from, g.heads * channels).view({x.size(0), x.size(1), g.heads, channels}).transpose(1, 2);
  };
  return {heads(0, g.head_dim), heads(qk, g.head_dim), heads(2 * qk, g.value_dim), {}};
}

namespace {

at::Tensor activated(const at::Tensor& x, Activation activation) {
  return activation == Activation::gelu ? at::gelu(x) : x * at::sigmoid(1.702 * x);
}

at::Tensor& activate_in_place(at::Tensor& x, Activation activation) {
  return activation == Activation::gelu ? at::gelu_(x) : x.mul_(at::sigmoid(1.702 * x));
}

}  // namespace

Mlp::Mlp(const MlpShape& shape, double dropout) : activation_(shape.activation), dropout_(dropout) {
  fc1_ = register_module("fc1", std::make_shared<Linear>(shape.dim, shape.hidden));
  fc2_ = register_module("fc2", std::make_shared<Linear>(shape.hidden, shape.dim));
}

at::Tensor Mlp::forward(const at::Tensor& x) {
  if (!at::GradMode::is_enabled() && !is_training() && !ops::has_bfloat16_products()) return in_steps(x);
  const at::Tensor hidden = at::dropout(activated_hidden(x), dropout_, is_training());
  return at::dropout(fc2_->forward(hidden), dropout_, is_training());
}

at::Tensor Mlp::activated_hidden(const at::Tensor& x) const {
  if (activation_ == Activation::gelu && !mask_.defined()) return fc1_->forward_gelu(x);
  const at::Tensor raised = fc1_->forward(x);
  return activated(mask_.defined() ? raised * mask_ : raised, activation_);
}

at::Tensor Mlp::in_steps(const at::Tensor& x) const {
  constexpr int64_t kRows = 1024;  // enough for the products to run at full speed
  const at::Tensor rows = x.reshape({-1, x.size(-1)});
  const at::Tensor out = at::empty_like(rows);
  const at::Tensor scratch = at::empty({std::min(kRows, rows.size(0)), fc1_->weight.size(0)}, rows.options());
  for (int64_t from = 0; from < rows.size(0); from += kRows) {
    const int64_t n = std::min(kRows, rows.size(0) - from);
    at::Tensor hidden = scratch.narrow(0, 0, n), result = out.narrow(0, from, n);
    at::addmm_out(hidden, fc1_->bias, rows.narrow(0, from, n), fc1_->weight.t());
    if (mask_.defined()) hidden.mul_(mask_);
    at::addmm_out(result, fc2_->bias, activate_in_place(hidden, activation_), fc2_->weight.t());
  }
  return out.view(x.sizes());
}

Block::Block(const MlpShape& mlp, std::shared_ptr<Mixer> mixer, const BlockRates& rates, double eps)
    : drop_path_(rates.drop_path) {
  norm1_ = register_module("norm1", std::make_shared<LayerNorm>(mlp.dim, eps));
  attn_ = register_module("attn", std::move(mixer));
  norm2_ = register_module("norm2", std::make_shared<LayerNorm>(mlp.dim, eps));
  mlp_ = register_module("mlp", std::make_shared<Mlp>(mlp, rates.dropout));
}

at::Tensor Block::forward(const at::Tensor& x) {
  // Without gradients x and its sums share memory, and the next block writes into it.
  const auto kept = [](const at::Tensor& t) { return at::GradMode::is_enabled() ? t : t.clone(); };
  const at::Tensor branch = attention_branch(x);
  if (watcher_ != nullptr && shows_branches_) *watcher_ = {kept(x), branch, {}};
  const at::Tensor y = with_branch(x, branch);
  const at::Tensor out = with_branch(y, mlp_branch(y));
  if (watcher_ != nullptr) watcher_->output = kept(out);
  return out;
}

void initialize_like_timm(torch::nn::Module& module) {
  const at::NoGradGuard no_grad;
  module.apply([](torch::nn::Module& part) {
    if (auto* linear = part.as<Linear>()) {
      linear->weight.normal_(0.0, 0.02);
      if (linear->bias.defined()) linear->bias.zero_();
    } else if (auto* norm = part.as<LayerNorm>()) {
      norm->weight.fill_(1.0);
      norm->bias.zero_();
    } else if (auto* embed = part.as<PatchEmbed>()) {
      embed->initialize();
    }
  });
}

at::Tensor resize_positions(const at::Tensor& positions, int64_t cls, const attention::Grid& from,
                            const attention::Grid& to) {
  if (from == to) return positions;
  const at::Tensor prefix = positions.narrow(1, 0, cls);
  const at::Tensor patches = positions.narrow(1, cls, from.tokens());
  const at::Tensor grid = patches.reshape({1, from.height, from.width, -1}).permute({0, 3, 1, 2});  // [1,D,h,w]
  const at::Tensor resized = at::upsample_bicubic2d(grid.contiguous(), {to.height, to.width}, false);
  return at::cat({prefix, resized.flatten(2).transpose(1, 2)}, 1);  // [1,cls + N,D]
}

attention::Grid stored_grid(const at::Tensor& positions, int64_t cls, const attention::Grid& wanted) {
  const int64_t patches = positions.size(1) - cls;
  if (patches == wanted.tokens()) return wanted;
  const auto side = static_cast<int64_t>(std::llround(std::sqrt(static_cast<double>(std::max<int64_t>(0, patches)))));
  if (side > 0 && side * side == patches) return {side, side};
  std::ostringstream message;
  message << "position embeddings " << positions.sizes() << " are neither of a square grid nor of " << wanted.height
          << " x " << wanted.width << " patches";
  throw std::invalid_argument(message.str());
}

}  // namespace fib::models
