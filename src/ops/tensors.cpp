// SPDX-License-Identifier: Apache-2.0
#include "ops/tensors.h"

#include "kernels/checks.h"

namespace fib::ops {
namespace {

void check_tensor(const at::Tensor& x, const char* name, const at::Tensor& q) {
  TORCH_CHECK_VALUE(x.dim() == 4, "attention: ", name, " must be [batch, heads, tokens, channels], got ", x.sizes());
  TORCH_CHECK_VALUE(x.scalar_type() == q.scalar_type(), "attention: ", name, " is ", x.scalar_type(), " but q is ",
                    q.scalar_type(), "; they must agree");
  TORCH_CHECK_VALUE(x.device() == q.device(), "attention: ", name, " is on ", x.device(), " but q is on ", q.device());
  TORCH_CHECK_VALUE(x.size(0) == q.size(0) && x.size(1) == q.size(1), "attention: ", name, " ", x.sizes(),
                    " has another batch or number of heads than q ", q.sizes());
}

void check_bias(const Operands& x, const at::Tensor& bias) {
  const int64_t batch = x.q.size(0), heads = x.q.size(1);
  TORCH_CHECK_VALUE(bias.dim() == 4 && (bias.size(1) == heads || bias.size(1) == 1) && bias.size(2) == x.q.size(2) &&
                        bias.size(3) == x.k.size(2),
                    "attention: bias must be [groups, ", heads, " or 1, ", x.q.size(2), ", ", x.k.size(2), "], got ",
                    bias.sizes());
  TORCH_CHECK_VALUE(bias.size(0) > 0 && batch % bias.size(0) == 0, "attention: bias has ", bias.size(0),
                    " groups, which do not divide the batch of ", batch);
  TORCH_CHECK_VALUE(bias.scalar_type() == x.q.scalar_type() && bias.device() == x.q.device(), "attention: bias is ",
                    bias.scalar_type(), " on ", bias.device(), " but q is ", x.q.scalar_type(), " on ", x.q.device());
}

void check_lengths(const Operands& x, const at::Tensor& lengths) {
  TORCH_CHECK_VALUE(lengths.dim() == 1 && lengths.size(0) == x.q.size(0) && lengths.scalar_type() == at::kLong,
                    "attention: lengths must be int64 [", x.q.size(0), "], got ", lengths.scalar_type(), " ",
                    lengths.sizes());
}

}  // namespace

void check_tensors(const Operands& x, const Arguments& a) {
  TORCH_CHECK_VALUE(at::isFloatingType(x.q.scalar_type()), "attention: q must be a real floating-point tensor, got ",
                    x.q.scalar_type());
  check_tensor(x.q, "q", x.q);
  check_tensor(x.k, "k", x.q);
  check_tensor(x.v, "v", x.q);
  TORCH_CHECK_VALUE(x.q.size(1) > 0, "attention: q ", x.q.sizes(), " has no heads");
  TORCH_CHECK_VALUE(x.k.size(3) == x.q.size(3) && x.q.size(3) > 0, "attention: k has ", x.k.size(3),
                    " channels, q has ", x.q.size(3));
  TORCH_CHECK_VALUE(x.v.size(3) > 0, "attention: v has no channels");
  TORCH_CHECK_VALUE(x.v.size(2) == x.k.size(2), "attention: k has ", x.k.size(2), " tokens, v has ", x.v.size(2));
  if (a.bias) check_bias(x, *a.bias);
  if (a.lengths) check_lengths(x, *a.lengths);
}

void check_without_kernel(const Operands& x, const Arguments& a, const SupportSet& support) {
  check_tensors(x, a);
  with_value_errors([&] {
    kernels::check_shape(support, shape_of(x));
    kernels::check_dropout(a.dropout);
    kernels::check_masking(a.masking, support, a.lengths.has_value(), a.bias.has_value(), a.dropout);
  });
}

Operands views_of(at::TensorList x) {
  TORCH_CHECK_VALUE(x.size() == 1 || x.size() == 3, "attention: x must be [q, k, v] or [qkv], got ", x.size(),
                    " tensors");
  if (x.size() == 3) return {x[0], x[1], x[2]};
  TORCH_CHECK_VALUE(x[0].dim() == 5 && size_of(x[0], 2) == 3,
                    "attention: qkv must be [batch, tokens, 3, heads, channels], got ", x[0].sizes());
  return unpacked(x[0]);
}

}  // namespace fib::ops
