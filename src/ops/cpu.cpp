// SPDX-License-Identifier: Apache-2.0
#include "ops/operator.h"

namespace fib::ops {
namespace {

Operands contiguous_operands(const Operands& x) {
  return {with_contiguous_channels(x.q), with_contiguous_channels(x.k), with_contiguous_channels(x.v)};
}

/// Inputs and options as the kernels take them, with whatever had to be copied for them. Without a support it is for
/// the dense kernel, which excludes nothing.
template <class T>
class KernelCall {
 public:
  KernelCall(SupportPtr pairs, const Operands& x, const Arguments& a)
      : support(std::move(pairs)), shape(shape_of(x)), x_(contiguous_operands(x)) {
    inputs = kernel_inputs<T>(x_);
    if (a.scale) options.scale = *a.scale;
    if (support) options.masking = a.masking;
    options.dropout = a.dropout;
    options.dropout_seed = static_cast<uint64_t>(seed_of(a));
    if (a.bias) options.bias = bias_view<const T>(*a.bias);
    if (!a.lengths) return;
    lengths_ = a.lengths->cpu().contiguous();
    options.lengths = lengths_.template data_ptr<int64_t>();
  }

  SupportPtr support;
  AttentionShape shape;
  AttentionInputs<T> inputs;
  DenseOptions<T> options;

 private:
  Operands x_;
  at::Tensor lengths_;
};

template <class T>
void run_forward(const KernelCall<T>& c, const Outputs& into) {
  const auto out = token_view<T>(std::get<0>(into));
  T* lse = std::get<1>(into).template data_ptr<T>();
  with_value_errors([&] {
    if (c.support) {
      attention_forward<T>(c.support->set(), c.shape, c.inputs, out, lse, c.options);
    } else {
      dense_attention_forward<T>(c.shape, c.inputs, out, lse, c.options);
    }
  });
}

template <class T>
void run_backward(const KernelCall<T>& c, const Results& r, const AttentionGradients<T>& gradients) {
  const at::Tensor out = with_contiguous_channels(r.out), grad_out = with_contiguous_channels(r.grad_out);
  const auto saved = token_view<const T>(out), arrived = token_view<const T>(grad_out);
  const T* lse = r.lse.template data_ptr<T>();
  with_value_errors([&] {
    if (c.support) {
      attention_backward<T>(c.support->set(), c.shape, c.inputs, saved, lse, arrived, gradients, c.options);
    } else {
      dense_attention_backward<T>(c.shape, c.inputs, saved, lse, arrived, gradients, c.options);
    }
  });
}

/// Where backward writes: the gradients that are returned, and views of them.
struct Destination {
  Gradients all;
  Operands views;
};

Destination empty_gradients(at::TensorList x) {
  if (x.size() == 1) {
    const at::Tensor dqkv = at::empty(x[0].sizes(), x[0].options());
    return {{dqkv}, unpacked(dqkv)};
  }
  const auto like = [](const at::Tensor& t) { return empty_tokens(t, t.size(2), t.size(3)); };
  const at::Tensor dq = like(x[0]), dk = like(x[1]), dv = like(x[2]);
  return {{dq, dk, dv}, {dq, dk, dv}};
}

/// Those of a packed x by head, as the kernels take them.
Results by_head(at::TensorList x, const Results& r) {
  if (x.size() == 3) return r;
  const int64_t heads = x[0].size(3);
  return {split_heads(r.grad_out.contiguous(), heads), split_heads(r.out, heads), r.lse};
}

}  // namespace

bool has_dense_kernel(const at::Tensor& q) {
  return q.device().is_cpu() && (q.scalar_type() == at::kFloat || q.scalar_type() == at::kDouble);
}

Outputs cpu_forward(at::TensorList x, const Arguments& given) {
  const Operands views = views_of(x);
  check_tensors(views, given);
  const at::ScalarType type = views.q.scalar_type();
  if (is_reduced(type)) {
    const auto [out, lse] = cpu_forward(cast(x, at::kFloat), with_bias_of(given, at::kFloat));
    return {out.to(type), lse};
  }
  const SupportPtr support = support_of(given, views);
  Outputs results = empty_outputs(views);
  if (std::get<0>(results).numel() > 0) {
    const Arguments a = with_seed(given);
    AT_DISPATCH_FLOATING_TYPES(type, "attention",
                               [&] { run_forward<scalar_t>(KernelCall<scalar_t>(support, views, a), results); });
  }
  return {laid_out_as(x, std::get<0>(results)), std::get<1>(results)};
}

Gradients cpu_backward(at::TensorList x, const Results& given, const Arguments& a, bool bias_grad) {
  const Operands views = views_of(x);
  const SupportPtr support = support_of(a, views);
  Destination into = empty_gradients(x);
  const at::Tensor dbias = bias_grad && a.bias ? at::zeros_like(*a.bias) : at::Tensor();
  if (given.out.numel() > 0) {
    const Results r = by_head(x, given);
    AT_DISPATCH_FLOATING_TYPES(views.q.scalar_type(), "attention_backward", [&] {
      run_backward<scalar_t>(KernelCall<scalar_t>(support, views, a), r,
                             {token_view<scalar_t>(into.views.q), token_view<scalar_t>(into.views.k),
                              token_view<scalar_t>(into.views.v), bias_view<scalar_t>(dbias)});
    });
  }
  into.all.push_back(dbias);
  return into.all;
}

}  // namespace fib::ops
