// SPDX-License-Identifier: Apache-2.0
// The operators on the CPU, for float32 and float64 by the kernels of src/kernels; reduced types pass through float32.

#include "fibottention/attention.h"
#include "ops/checks.h"
#include "ops/dispatch.h"
#include "ops/layout.h"
#include "ops/support_attention.h"

namespace fib::ops::cpu {
namespace {

/// Inputs and options as the kernel takes them, with whatever had to be copied for it.
template <class T>
class KernelCall {
 public:
  KernelCall(const Operands& x, const Call& call)
      : x_{with_contiguous_channels(x.q), with_contiguous_channels(x.k), with_contiguous_channels(x.v)} {
    inputs = kernel_inputs<T>(x_);
    if (call.scale) options.scale = *call.scale;
    options.masking = call.masking;
    options.dropout = call.dropout;
    options.dropout_seed = static_cast<uint64_t>(call.seed.value_or(0));
    if (call.bias) options.bias = bias_view<const T>(*call.bias);
    if (!call.lengths) return;
    lengths_ = call.lengths->cpu().contiguous();
    options.lengths = lengths_.template data_ptr<int64_t>();
  }

  AttentionInputs<T> inputs;
  AttentionOptions<T> options;

 private:
  Operands x_;
  at::Tensor lengths_;
};

Operands cast(const Operands& x, at::ScalarType type) { return {x.q.to(type), x.k.to(type), x.v.to(type)}; }

Call cast(Call call, at::ScalarType type) {
  if (call.bias) call.bias = call.bias->to(type);
  return call;
}

/// Overwrites the gradients `into`; returns that of the bias, undefined unless asked for.
at::Tensor backward_into(const Operands& into, const Operands& x, const Results& r, const Call& given, bool bias_grad) {
  const Call call = resolved(given, x);
  if (call.dense) return dense_backward_into(into, x, r, call, bias_grad);
  const at::Tensor dbias = bias_grad && call.bias ? at::zeros_like(*call.bias) : at::Tensor();
  if (r.out.numel() == 0) return dbias;
  const at::Tensor out = with_contiguous_channels(r.out), grad_out = with_contiguous_channels(r.grad_out);
  AT_DISPATCH_FLOATING_TYPES(x.q.scalar_type(), "support_attention_backward", [&] {
    const KernelCall<scalar_t> kernel(x, call);
    const AttentionGradients<scalar_t> gradients{token_view<scalar_t>(into.q), token_view<scalar_t>(into.k),
                                                 token_view<scalar_t>(into.v), bias_view<scalar_t>(dbias)};
    with_value_errors([&] {
      attention_backward<scalar_t>(call.support->set(), shape_of(x), kernel.inputs, token_view<const scalar_t>(out),
                                   r.lse.template data_ptr<scalar_t>(), token_view<const scalar_t>(grad_out), gradients,
                                   kernel.options);
    });
  });
  return dbias;
}

}  // namespace

Outputs forward(const Operands& x, const Call& given) {
  check_call(x, given);
  const Call original = resolved(given, x);
  TORCH_CHECK_VALUE(original.support, "attention: the support is missing");
  const at::ScalarType type = x.q.scalar_type();
  if (is_reduced(type)) {
    const auto [out, lse] = forward(cast(x, at::kFloat), cast(original, at::kFloat));
    return {out.to(type), lse};
  }
  const Call call = with_seed(original);
  if (call.dense) return dense_forward(x, call);
  Outputs results = empty_outputs(x);
  auto& [out, lse] = results;
  if (out.numel() == 0) return results;
  AT_DISPATCH_FLOATING_TYPES(type, "support_attention", [&, &out = out, &lse = lse] {
    const KernelCall<scalar_t> kernel(x, call);
    with_value_errors([&] {
      attention_forward<scalar_t>(call.support->set(), shape_of(x), kernel.inputs, token_view<scalar_t>(out),
                                  lse.template data_ptr<scalar_t>(), kernel.options);
    });
  });
  return results;
}

Gradients backward(const Operands& x, const Results& r, const Call& call, bool bias_grad) {
  const Operands into{empty_tokens(x.q, x.q.size(2), x.q.size(3)), empty_tokens(x.k, x.k.size(2), x.k.size(3)),
                      empty_tokens(x.v, x.v.size(2), x.v.size(3))};
  const at::Tensor dbias = backward_into(into, x, r, call, bias_grad);
  return {into.q, into.k, into.v, dbias};
}

Outputs packed_forward(const at::Tensor& qkv, const Call& call) {
  check_packed(qkv);
  const auto [out, lse] = forward(unpacked(qkv), call);
  return {merged_heads(out), lse};
}

PackedGradients packed_backward(const at::Tensor& qkv, const Results& r, const Call& call, bool bias_grad) {
  const int64_t heads = qkv.size(3);
  const at::Tensor dqkv = at::empty(qkv.sizes(), qkv.options());
  const Results split{split_heads(r.grad_out, heads), split_heads(r.out, heads), r.lse};
  const at::Tensor dbias = backward_into(unpacked(dqkv), unpacked(qkv), split, call, bias_grad);
  return {dqkv, dbias};
}

}  // namespace fib::ops::cpu
