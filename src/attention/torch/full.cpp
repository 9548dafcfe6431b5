// SPDX-License-Identifier: Apache-2.0
// Dense attention, as fast as LibTorch's parts allow.
#include <torch/version.h>

#include <algorithm>

#include "attention/torch/mechanisms.h"

namespace fib::attention {
namespace {

#define FIB_HAS_FUSED_ATTENTION (TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 1))

/// Queries of one head whose scores fill 1 MB of floats: they stay in the second-level cache between the products.
int64_t tile_rows(int64_t queries, int64_t keys) {
  return std::min(queries, std::max<int64_t>(16, (INT64_C(1) << 18) / keys));
}

/// One head of one sample: q [t,d], k [Tk,d], v [Tk,e], bias [t,Tk] or undefined, out [t,e]; scores [t,Tk] is scratch.
void attend_tile(const Inputs& in, double scale, at::Tensor scores, at::Tensor out) {
  scores.addmm_(in.q, in.k.t(), 0.0, scale);
  if (in.bias.defined()) {
    scores.copy_(softmax_or_zero(scores.add_(in.bias)));
  } else {
    at::_softmax_out(scores, scores, -1, false);
  }
  at::mm_out(out, scores, in.v);
}

Inputs tile_of(const Inputs& in, int64_t b, int64_t h, int64_t t, int64_t n) {
  Inputs tile{in.q[b][h].narrow(0, t, n), in.k[b][h], in.v[b][h], {}};
  if (!in.bias.defined()) return tile;
  const at::Tensor group = in.bias[b % in.bias.size(0)];
  tile.bias = group[h % group.size(0)].narrow(0, t, n);
  return tile;
}

/// Without gradients: tiles of queries, each on one core, instead of LibTorch's loop of products that each use all
/// cores for a matrix too small to share. Writes [B,T,H·e] in place.
at::Tensor attend_in_tiles(const Inputs& in, double scale) {
  const int64_t B = in.q.size(0), H = in.q.size(1), Tq = in.q.size(2), Tk = in.k.size(2), e = in.v.size(3);
  const int64_t rows = tile_rows(Tq, Tk), tiles = (Tq + rows - 1) / rows;
  at::Tensor out = at::empty({B, Tq, H, e}, in.q.options());
  at::parallel_for(0, B * H * tiles, 1, [&](int64_t begin, int64_t end) {
    const at::NoGradGuard no_grad;  // grad mode is per thread
    const at::Tensor scratch = at::empty({rows, Tk}, in.q.options());
    for (int64_t i = begin; i < end; ++i) {
      const int64_t b = i / tiles / H, h = i / tiles % H, t = i % tiles * rows, n = std::min(rows, Tq - t);
      attend_tile(tile_of(in, b, h, t, n), scale, scratch.narrow(0, 0, n), out[b].select(1, h).narrow(0, t, n));
    }
  });
  return out.flatten(2);
}

/// Without gradients, as LibTorch's users write it: two batched products and a softmax in place. Memory is B·H·T².
at::Tensor attend_in_products(const Inputs& in, double scale) {
  at::Tensor scores = dense_scores(in, scale);
  if (in.bias.defined()) {
    scores = softmax_or_zero(scores);
  } else {
    at::_softmax_out(scores, scores, -1, false);
  }
  return merge_heads(at::matmul(scores, in.v));
}

class Full final : public Mechanism {
 public:
  Full(const AttentionSpec& spec, const Geometry& g, double dropout)
      : Mechanism(spec, g, dropout), tiles_(choice_option(spec, "path", {"tiles", "products"}) == "tiles") {}

 private:
  at::Tensor attend(const Inputs& in) override {
    const double scale = geometry().score_scale(), dropout = active_dropout();
#if FIB_HAS_FUSED_ATTENTION
    if (!in.bias.defined()) {
      return merge_heads(at::scaled_dot_product_attention(in.q, in.k, in.v, {}, dropout, false, scale));
    }
#endif
    const bool inference = !at::GradMode::is_enabled() && dropout == 0.0;
    if (inference) return tiles_ ? attend_in_tiles(in, scale) : attend_in_products(in, scale);
    return merge_heads(at::matmul(at::dropout(weights(in), dropout, is_training()), in.v));
  }

  at::Tensor weights(const Inputs& in) override {
    const at::Tensor scores = dense_scores(in, geometry().score_scale());
    return in.bias.defined() ? softmax_or_zero(scores) : at::softmax(scores, -1);
  }

  bool tiles_;
};

}  // namespace

MechanismPtr make_full(const AttentionSpec& spec, const Geometry& geometry, double dropout) {
  return std::make_shared<Full>(spec, geometry, dropout);
}

}  // namespace fib::attention
