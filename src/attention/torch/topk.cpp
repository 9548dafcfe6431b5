// SPDX-License-Identifier: Apache-2.0
// Top-k: each query keeps the k keys with the largest scores. The scores of one tile of queries exist at a time;
// backward goes through the selected pairs alone and recomputes nothing else.
#include <algorithm>

#include "attention/torch/mechanism.h"
#include "ops/support.h"

namespace fib::attention {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

/// Queries per tile: 4 MB of float scores over all samples and heads, at least one query.
int64_t tile_rows(const at::Tensor& q, int64_t keys) {
  return std::clamp<int64_t>((INT64_C(1) << 20) / std::max<int64_t>(1, q.size(0) * q.size(1) * keys), 1, q.size(2));
}

/// Rows of x [B,H,Tk,c] at index [B,H,t,k]: [B,H,t,k,c].
at::Tensor rows_at(const at::Tensor& x, const at::Tensor& index) {
  const int64_t c = x.size(3);
  const at::Tensor flat = index.flatten(2).unsqueeze(-1).expand({-1, -1, -1, c});
  return x.gather(2, flat).view({index.size(0), index.size(1), index.size(2), index.size(3), c});
}

/// Adds rows [B,H,t,k,c] to x at index: the transpose of rows_at.
void add_rows_at(at::Tensor& x, const at::Tensor& index, const at::Tensor& rows) {
  const int64_t c = x.size(3);
  x.scatter_add_(2, index.flatten(2).unsqueeze(-1).expand({-1, -1, -1, c}), rows.flatten(2, 3));
}

/// weights [B,H,t,k] times rows [B,H,t,k,c], summed over k.
at::Tensor mix(const at::Tensor& weights, const at::Tensor& rows) {
  return at::matmul(weights.unsqueeze(-2), rows).squeeze(-2);  // [B,H,t,c]
}

/// x [B,H,t,c] against rows [B,H,t,k,c]: the products per pair.
at::Tensor dots(const at::Tensor& x, const at::Tensor& rows) {
  return at::matmul(rows, x.unsqueeze(-1)).squeeze(-1);  // [B,H,t,k]
}

/// The weights [B,H,Tq,k] of the selected keys, and which they are; what is -inf weighs nothing.
struct Selection {
  at::Tensor weights, index;
};

Selection select(const Inputs& in, int64_t k, double scale) {
  std::vector<at::Tensor> weights, index;
  const int64_t rows = tile_rows(in.q, in.k.size(2));
  for (int64_t t = 0; t < in.q.size(2); t += rows) {
    const int64_t n = std::min(rows, in.q.size(2) - t);
    Inputs tile{in.q.narrow(2, t, n), in.k, in.v, in.bias.defined() ? in.bias.narrow(2, t, n) : at::Tensor()};
    auto [values, keys] = dense_scores(tile, scale).topk(k, -1);
    weights.push_back(softmax_or_zero(values));
    index.push_back(keys);
  }
  return {at::cat(weights, 2), at::cat(index, 2)};
}

/// dbias [G, H or 1, Tq, Tk] from the selected pairs' ds; added up over the samples of a group and shared heads.
at::Tensor bias_gradient(const at::Tensor& bias, const at::Tensor& ds, const at::Tensor& index) {
  at::Tensor grad = at::zeros_like(bias, at::MemoryFormat::Contiguous);
  for (int64_t b = 0; b < ds.size(0); ++b) {
    at::Tensor group = grad[b % bias.size(0)];  // [H or 1,Tq,Tk]
    for (int64_t h = 0; h < ds.size(1); ++h) group[h % group.size(0)].scatter_add_(1, index[b][h], ds[b][h]);
  }
  return grad;
}

struct TopKFunction : torch::autograd::Function<TopKFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const ops::OptionalTensor& optional_bias, int64_t count, double scale, double dropout) {
    const at::Tensor bias = optional_bias.value_or(at::Tensor());
    const Selection s = select({q, k, v, bias}, count, scale);
    // Kept pairs weigh 1/(1 - dropout); without dropout the factor is not stored.
    const at::Tensor kept = dropout > 0 ? at::dropout(at::ones_like(s.weights), dropout, true) : at::Tensor();
    const at::Tensor applied = kept.defined() ? s.weights * kept : s.weights;
    ctx->save_for_backward({q, k, v, bias, s.weights, s.index, kept});
    ctx->saved_data["scale"] = scale;
    return mix_tiles(applied, s.index, v);
  }

  static tensor_list backward(AutogradContext* ctx, tensor_list grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &q = saved[0], &k = saved[1], &v = saved[2], &bias = saved[3], &p = saved[4], &index = saved[5];
    const at::Tensor &kept = saved[6], &dout = grads[0];
    const double scale = ctx->saved_data["scale"].toDouble();
    at::Tensor dk = at::zeros_like(k, at::MemoryFormat::Contiguous),
               dv = at::zeros_like(v, at::MemoryFormat::Contiguous);
    std::vector<at::Tensor> dq, ds;
    const int64_t rows = tile_rows(q, index.size(3) * k.size(3));
    for (int64_t t = 0; t < q.size(2); t += rows) {
      const int64_t n = std::min(rows, q.size(2) - t);
      const at::Tensor i = index.narrow(2, t, n), w = p.narrow(2, t, n), g = dout.narrow(2, t, n);
      const at::Tensor keep = kept.defined() ? kept.narrow(2, t, n) : at::ones({}, p.options());
      add_rows_at(dv, i, (w * keep).unsqueeze(-1) * g.unsqueeze(-2));  // of out = (p · kept) v
      const at::Tensor dp = dots(g, rows_at(v, i)) * keep;
      ds.push_back(w * (dp - (w * dp).sum(-1, true)));      // of p = softmax(s)
      dq.push_back(mix(ds.back(), rows_at(k, i)) * scale);  // of s = scale q kᵀ + bias
      add_rows_at(dk, i, ds.back().unsqueeze(-1) * (q.narrow(2, t, n) * scale).unsqueeze(-2));
    }
    const at::Tensor dbias = bias.defined() ? bias_gradient(bias, at::cat(ds, 2), index) : at::Tensor();
    return {at::cat(dq, 2), dk, dv, dbias, {}, {}, {}};
  }

  static at::Tensor mix_tiles(const at::Tensor& p, const at::Tensor& index, const at::Tensor& v) {
    std::vector<at::Tensor> out;
    const int64_t rows = tile_rows(p, index.size(3) * v.size(3));
    for (int64_t t = 0; t < p.size(2); t += rows) {
      const int64_t n = std::min(rows, p.size(2) - t);
      out.push_back(mix(p.narrow(2, t, n), rows_at(v, index.narrow(2, t, n))));
    }
    return at::cat(out, 2);
  }
};

class TopK final : public Mechanism {
 public:
  TopK(const AttentionSpec& spec, const Geometry& g, double dropout) : Mechanism(spec, g, dropout) { TopK::regrid(); }

 private:
  void regrid() override {
    k_ = std::min(integer_option(spec(), "k", 1, geometry().key_grid.tokens()), geometry().key_tokens());
  }

  at::Tensor attend(const Inputs& in) override {
    return merge_heads(TopKFunction::apply(in.q, in.k, in.v, ops::if_defined(in.bias), k_, geometry().score_scale(),
                                           active_dropout()));
  }

  at::Tensor weights(const Inputs& in) override {
    const Selection s = select(in, k_, geometry().score_scale());
    return at::zeros({in.q.size(0), in.q.size(1), in.q.size(2), in.k.size(2)}, in.q.options())
        .scatter(-1, s.index, s.weights);
  }

  int64_t k_ = 0;
};

}  // namespace

MechanismPtr make_topk(const AttentionSpec& spec, const Geometry& geometry, double dropout) {
  return std::make_shared<TopK>(spec, geometry, dropout);
}

}  // namespace fib::attention
