// SPDX-License-Identifier: Apache-2.0
#include "ops/dense_attention.h"

#include <ATen/record_function.h>
#include <torch/csrc/autograd/custom_function.h>

#include "ops/checks.h"
#include "ops/dispatch.h"
#include "ops/layout.h"

namespace fib::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

template <class T>
DenseOptions<T> kernel_options(const Call& call) {
  DenseOptions<T> options;
  if (call.scale) options.scale = *call.scale;
  options.dropout = call.dropout;
  options.dropout_seed = static_cast<uint64_t>(call.seed.value_or(0));
  if (call.bias) options.bias = bias_view<const T>(*call.bias);
  return options;
}

Operands contiguous_operands(const Operands& x) {
  return {with_contiguous_channels(x.q), with_contiguous_channels(x.k), with_contiguous_channels(x.v)};
}

}  // namespace

Outputs cpu::dense_forward(const Operands& given, const Call& call) {
  RECORD_FUNCTION("fibottention::dense_attention", std::vector<c10::IValue>());
  check_call(given, call);
  Outputs results = empty_outputs(given);
  auto& [out, lse] = results;
  if (out.numel() == 0) return results;
  const Operands x = contiguous_operands(given);
  AT_DISPATCH_FLOATING_TYPES(x.q.scalar_type(), "dense_attention", [&, &out = out, &lse = lse] {
    with_value_errors([&] {
      dense_attention_forward<scalar_t>(shape_of(x), kernel_inputs<scalar_t>(x), token_view<scalar_t>(out),
                                        lse.template data_ptr<scalar_t>(), kernel_options<scalar_t>(call));
    });
  });
  return results;
}

at::Tensor cpu::dense_backward_into(const Operands& into, const Operands& given, const Results& r, const Call& call,
                                    bool bias_grad) {
  const at::Tensor dbias = bias_grad && call.bias ? at::zeros_like(*call.bias) : at::Tensor();
  if (r.out.numel() == 0) return dbias;
  const Operands x = contiguous_operands(given);
  const at::Tensor out = with_contiguous_channels(r.out), grad_out = with_contiguous_channels(r.grad_out);
  AT_DISPATCH_FLOATING_TYPES(x.q.scalar_type(), "dense_attention_backward", [&] {
    const AttentionGradients<scalar_t> gradients{token_view<scalar_t>(into.q), token_view<scalar_t>(into.k),
                                                 token_view<scalar_t>(into.v), bias_view<scalar_t>(dbias)};
    dense_attention_backward<scalar_t>(shape_of(x), kernel_inputs<scalar_t>(x), token_view<const scalar_t>(out),
                                       r.lse.template data_ptr<scalar_t>(), token_view<const scalar_t>(grad_out),
                                       gradients, kernel_options<scalar_t>(call));
  });
  return dbias;
}

namespace {

/// Everything but tensors that backward needs again.
void save(AutogradContext* ctx, variable_list tensors, const Call& call) {
  const bool bias_grad = call.bias && call.bias->requires_grad();
  tensors.push_back(call.bias ? *call.bias : at::Tensor());
  ctx->save_for_backward(std::move(tensors));
  ctx->saved_data["scale"] = call.scale;
  ctx->saved_data["dropout"] = call.dropout;
  ctx->saved_data["seed"] = call.seed;
  ctx->saved_data["bias_grad"] = bias_grad;
}

/// Removes the bias from the end of the saved tensors.
Call restore(AutogradContext* ctx, variable_list& tensors) {
  TORCH_CHECK(!at::GradMode::is_enabled(), "dense attention has no second derivative (double backward)");
  Call call;
  if (tensors.back().defined()) call.bias = tensors.back();
  tensors.pop_back();
  call.scale = ctx->saved_data["scale"].toOptional<double>();
  call.dropout = ctx->saved_data["dropout"].toDouble();
  call.seed = ctx->saved_data["seed"].toOptional<int64_t>();
  return call;
}

class DenseAttention : public torch::autograd::Function<DenseAttention> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const OptionalTensor&, const Call& call) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    const auto [out, lse] = cpu::dense_forward({q, k, v}, call);
    save(ctx, {q, k, v, out, lse}, call);
    return out;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    variable_list saved = ctx->get_saved_variables();
    const Call call = restore(ctx, saved);
    const Operands x{saved[0], saved[1], saved[2]};
    const Operands into{empty_tokens(x.q, x.q.size(2), x.q.size(3)), empty_tokens(x.k, x.k.size(2), x.k.size(3)),
                        empty_tokens(x.v, x.v.size(2), x.v.size(3))};
    const at::Tensor dbias =
        cpu::dense_backward_into(into, x, {grads[0], saved[3], saved[4]}, call, ctx->saved_data["bias_grad"].toBool());
    return {into.q, into.k, into.v, dbias, at::Tensor()};
  }
};

class PackedDenseAttention : public torch::autograd::Function<PackedDenseAttention> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& qkv, const OptionalTensor&, const Call& call) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    const auto [out, lse] = cpu::dense_forward(unpacked(qkv), call);
    const at::Tensor merged = merged_heads(out);
    save(ctx, {qkv, merged, lse}, call);
    return merged;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    variable_list saved = ctx->get_saved_variables();
    const Call call = restore(ctx, saved);
    const int64_t heads = saved[0].size(3);
    const at::Tensor dqkv = at::empty(saved[0].sizes(), saved[0].options());
    const Results split{split_heads(grads[0].contiguous(), heads), split_heads(saved[1], heads), saved[2]};
    const at::Tensor dbias = cpu::dense_backward_into(unpacked(dqkv), unpacked(saved[0]), split, call,
                                                      ctx->saved_data["bias_grad"].toBool());
    return {dqkv, dbias, at::Tensor()};
  }
};

Call call_of(const DenseAttentionOptions& options) {
  Call call;
  call.bias = options.bias;
  call.scale = options.scale;
  call.dropout = options.dropout;
  call.seed = options.seed;
  return with_seed(std::move(call));
}

}  // namespace

bool has_dense_kernel(const at::Tensor& q) {
  return q.device().is_cpu() && (q.scalar_type() == at::kFloat || q.scalar_type() == at::kDouble);
}

at::Tensor dense_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           const DenseAttentionOptions& options) {
  const Call call = call_of(options);
  return DenseAttention::apply(q, k, v, call.bias, call);
}

at::Tensor dense_attention_packed(const at::Tensor& qkv, const DenseAttentionOptions& options) {
  check_packed(qkv);
  const Call call = call_of(options);
  return PackedDenseAttention::apply(qkv, call.bias, call);
}

}  // namespace fib::ops
