// SPDX-License-Identifier: Apache-2.0
#include "sequences/torch/decoder.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "kernels/decode.h"

namespace fib::sequences {
namespace {

constexpr double kDeviation = 0.02;

/// Cosines and sines of the places first, …, first + T - 1, each [T,1,1,d]: channel c and c + d/2 turn together, by
/// base^(-2c/d) a place. In float64, since a million places turn far.
std::pair<at::Tensor, at::Tensor> angles(int64_t first, int64_t tokens, int64_t dim) {
  const auto wide = at::TensorOptions(at::kDouble);
  const at::Tensor places = at::arange(first, first + tokens, wide);
  const at::Tensor rates = at::pow(kRotaryBase, at::arange(0, dim, 2, wide) / -static_cast<double>(dim));
  const at::Tensor half = at::outer(places, rates);
  const at::Tensor all = at::cat({half, half}, 1).view({tokens, 1, 1, dim});
  return {all.cos(), all.sin()};
}

models::BlockRates rates_of(const DecoderDimensions& dims) { return {.dropout = dims.options.dropout}; }

}  // namespace

int64_t DecoderCache::bytes() const {
  int64_t sum = 0;
  for (const Layer& layer : layers) sum += static_cast<int64_t>(layer.k.nbytes() + layer.v.nbytes());
  return sum;
}

// ---- Attention ------------------------------------------------------------------------------------------------------

CausalSelfAttention::CausalSelfAttention(const DecoderDimensions& dims, int64_t layer)
    : heads_(dims.row.heads),
      dim_(dims.head_dim()),
      rotary_(dims.row.positions == Positions::rotary),
      dropout_(dims.options.dropout),
      attention_(dims.layers[static_cast<size_t>(layer)], dims.score_scale()) {
  qkv_ = register_module("qkv", std::make_shared<models::Linear>(dims.row.width, 3 * heads_ * dim_));
  proj_ = register_module("proj", std::make_shared<models::Linear>(heads_ * dim_, dims.row.width));
}

void CausalSelfAttention::set_cache(DecoderCache::Layer* cache, int64_t position) {
  cache_ = cache;
  position_ = position;
}

at::Tensor CausalSelfAttention::turned(const at::Tensor& qkv) const {
  const auto [cos, sin] = angles(position_, qkv.size(1), dim_);
  const at::Tensor qk = qkv.narrow(2, 0, 2), v = qkv.narrow(2, 2, 1);
  const auto halves = qk.chunk(2, -1);
  const at::Tensor crossed = at::cat({-halves[1], halves[0]}, -1);
  return at::cat({qk * cos.to(qk.scalar_type()) + crossed * sin.to(qk.scalar_type()), v}, 2);  // [B,T,3,H,d]
}

at::Tensor CausalSelfAttention::step_by_step(const at::Tensor& qkv) {
  const at::Tensor tokens = qkv[0].contiguous();                                        // [n,3,H,d]
  const at::Tensor out = at::empty({1, tokens.size(0), heads_ * dim_}, qkv.options());  // [1,n,H·d]
  const int64_t values = heads_ * dim_;
  const auto part = [&](int64_t which) {
    return kernels::NextTokens<const float>{tokens.data_ptr<float>() + which * values, 3 * values, dim_};
  };
  kernels::decode_tokens({.tokens = tokens.size(0),
                          .heads = heads_,
                          .rows = cache_->k.size(1),
                          .dim = dim_,
                          .position = position_,
                          .scale = static_cast<float>(attention_.scale()),
                          .q = part(0),
                          .k = part(1),
                          .v = part(2),
                          .keys = cache_->k.data_ptr<float>(),
                          .values = cache_->v.data_ptr<float>(),
                          .out = {out.data_ptr<float>(), values, dim_}},
                         attention_.layer().distances);
  return out;
}

at::Tensor CausalSelfAttention::forward(const at::Tensor& x) {
  at::Tensor qkv = qkv_->forward(x).view({x.size(0), x.size(1), 3, heads_, dim_});
  if (rotary_) qkv = turned(qkv);
  const at::Tensor mixed = cache_ != nullptr ? step_by_step(qkv) : attention_.forward(qkv);
  return at::dropout(proj_->forward(mixed), dropout_, is_training());
}

// ---- Trunk ----------------------------------------------------------------------------------------------------------

DecoderTrunk::DecoderTrunk(const DecoderDimensions& dims) : dims_(dims) {
  const int64_t width = dims.row.width;
  if (dims.row.positions == Positions::learned)
    positions_ = register_parameter("positions", at::empty({dims.row.context, width}));
  const auto list = register_module("blocks", std::make_shared<torch::nn::ModuleListImpl>());
  for (int64_t layer = 0; layer < dims.row.layers; ++layer) {
    attentions_.push_back(std::make_shared<CausalSelfAttention>(dims, layer));
    blocks_.push_back(std::make_shared<models::Block>(models::MlpShape{width, 4 * width}, attentions_.back(),
                                                      rates_of(dims), kNormEps));
    list->push_back(blocks_.back());
  }
  norm_ = register_module("norm", std::make_shared<models::LayerNorm>(width, kNormEps));
}

void DecoderTrunk::initialize() {
  const at::NoGradGuard no_grad;
  models::initialize_like_timm(*this);
  if (positions_.defined()) positions_.normal_(0.0, kDeviation);
  const double last = kDeviation / std::sqrt(2.0 * static_cast<double>(blocks_.size()));
  for (const auto& item : named_parameters())
    if (item.key().ends_with("proj.weight") || item.key().ends_with("fc2.weight")) item.value().normal_(0.0, last);
}

at::Tensor DecoderTrunk::placed(const at::Tensor& x, int64_t first) {
  at::Tensor with_places = x;
  if (positions_.defined()) {
    if (first + x.size(1) > dims_.row.context) {
      throw std::invalid_argument(fmt::format("{} has learned positions for {} tokens, got {}", dims_.row.name,
                                              dims_.row.context, first + x.size(1)));
    }
    with_places = models::add_branch(x, positions_.narrow(0, first, x.size(1)));
  }
  return at::dropout(with_places, dims_.options.dropout, is_training());
}

at::Tensor DecoderTrunk::blocks(at::Tensor x) {
  for (const auto& block : blocks_) x = block->forward(x);
  return norm_->forward(x);
}

at::Tensor DecoderTrunk::forward(const at::Tensor& x) { return blocks(placed(x, 0)); }

at::Tensor DecoderTrunk::extend(DecoderCache& cache, const at::Tensor& x) {
  for (size_t i = 0; i < attentions_.size(); ++i) attentions_[i]->set_cache(&cache.layers[i], cache.position);
  at::Tensor out;
  try {
    out = blocks(placed(x, cache.position));
  } catch (...) {
    for (const auto& attention : attentions_) attention->set_cache(nullptr, 0);
    throw;
  }
  for (const auto& attention : attentions_) attention->set_cache(nullptr, 0);
  cache.position += x.size(1);
  return out;
}

DecoderCache DecoderTrunk::make_cache() const {
  DecoderCache cache;
  for (const CausalLayer& layer : dims_.layers) {
    const auto rows = [&] { return at::empty({dims_.row.heads, layer.rows(dims_.row.context), dims_.head_dim()}); };
    cache.layers.push_back({rows(), rows()});
  }
  return cache;
}

// ---- Text -----------------------------------------------------------------------------------------------------------

TextDecoder::TextDecoder(const DecoderDimensions& dims, int64_t symbols) {
  symbols_ = register_parameter("symbols", at::empty({symbols, dims.row.width}));
  trunk_ = register_module("trunk", std::make_shared<DecoderTrunk>(dims));
  const at::NoGradGuard no_grad;
  symbols_.normal_(0.0, kDeviation);
  trunk_->initialize();
}

at::Tensor TextDecoder::forward(const at::Tensor& tokens) {
  return ops::linear(trunk_->forward(at::embedding(symbols_, tokens)), symbols_, {});
}

at::Tensor TextDecoder::extend(DecoderCache& cache, const at::Tensor& tokens) {
  const at::NoGradGuard no_grad;
  const at::Tensor x = trunk_->extend(cache, at::embedding(symbols_, tokens.unsqueeze(0)));
  return at::linear(x[0][x.size(1) - 1], symbols_);
}

}  // namespace fib::sequences
