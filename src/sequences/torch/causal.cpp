// SPDX-License-Identifier: Apache-2.0
#include "sequences/torch/causal.h"

#include "fibottention/attention.h"
#include "ops/attention.h"
#include "ops/tensors.h"

namespace fib::sequences {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

template <class T>
DenseOptions<T> causal_options(double scale) {
  DenseOptions<T> options;
  options.scale = scale;
  options.causal = true;
  return options;
}

/// All earlier tokens by the tiled kernel, which skips what lies behind a query.
class DenseCausal : public torch::autograd::Function<DenseCausal> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& qkv, double scale) {
    const ops::Operands x = ops::unpacked(qkv);
    const ops::Outputs results = ops::empty_outputs(x);
    const at::Tensor &out = std::get<0>(results), &lse = std::get<1>(results);
    AT_DISPATCH_FLOATING_TYPES(qkv.scalar_type(), "causal attention", [&] {
      dense_attention_forward<scalar_t>(ops::shape_of(x), ops::kernel_inputs<scalar_t>(x),
                                        ops::token_view<scalar_t>(out), lse.template data_ptr<scalar_t>(),
                                        causal_options<scalar_t>(scale));
    });
    context->save_for_backward({qkv, out, lse});
    context->saved_data["scale"] = scale;
    return ops::merged_heads(out);
  }

  static tensor_list backward(AutogradContext* context, const tensor_list& arrived) {
    const auto saved = context->get_saved_variables();
    const at::Tensor &qkv = saved[0], &out = saved[1], &lse = saved[2], dqkv = at::empty_like(qkv);
    const ops::Operands x = ops::unpacked(qkv), d = ops::unpacked(dqkv);
    const at::Tensor grad = ops::split_heads(arrived[0].contiguous(), qkv.size(3));
    const double scale = context->saved_data["scale"].toDouble();
    AT_DISPATCH_FLOATING_TYPES(qkv.scalar_type(), "causal attention", [&] {
      dense_attention_backward<scalar_t>(
          ops::shape_of(x), ops::kernel_inputs<scalar_t>(x), ops::token_view<const scalar_t>(out),
          lse.template data_ptr<scalar_t>(), ops::token_view<const scalar_t>(grad),
          {ops::token_view<scalar_t>(d.q), ops::token_view<scalar_t>(d.k), ops::token_view<scalar_t>(d.v), {}},
          causal_options<scalar_t>(scale));
    });
    return {dqkv, at::Tensor()};
  }
};

}  // namespace

at::Tensor CausalAttention::forward(const at::Tensor& qkv) {
  const at::Tensor packed = qkv.contiguous();
  if (layer_.everything) return DenseCausal::apply(packed, scale_);
  const int64_t tokens = qkv.size(1);
  if (!support_ || support_->set().patches() != tokens) support_ = ops::make_support_ptr(layer_.support(tokens));
  return ops::attention({packed}, {.pairs = {support_}, .scale = scale_});
}

}  // namespace fib::sequences
