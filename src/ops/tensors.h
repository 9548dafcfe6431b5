// SPDX-License-Identifier: Apache-2.0
// Tensors as the operator takes them: checks at its boundary, how they lie in memory, for torch and for the kernels,
// and in which type they are computed.
#pragma once

#include <stdexcept>

#include "ops/attention.h"

namespace fib::ops {

/// q, k [B,H,T,d] and v [B,H,T,e].
struct Operands {
  at::Tensor q, k, v;
};

/// What only tensors can get wrong: types, devices, sizes that contradict each other. Sizes against the support and
/// the options' values are left to the kernels.
void check_tensors(const Operands& x, const Arguments& a);
/// All of it, where no kernel follows.
void check_without_kernel(const Operands& x, const Arguments& a, const SupportSet& support);

/// Runs the body; what the kernels refuse becomes torch's ValueError.
template <class Body>
void with_value_errors(const Body& body) {
  try {
    body();
  } catch (const std::invalid_argument& e) {
    TORCH_CHECK_VALUE(false, e.what());
  }
}

// Sizes may be symbols where torch.compile asks for shapes.
#if TORCH_VERSION_MAJOR >= 2
using Size = c10::SymInt;
inline bool is_symbolic(const at::Tensor& x) { return x.unsafeGetTensorImpl()->has_symbolic_sizes_strides(); }
inline Size size_of(const at::Tensor& x, int64_t dimension) { return x.sym_size(dimension); }
inline Size stride_of(const at::Tensor& x, int64_t dimension) { return x.sym_stride(dimension); }
inline at::Tensor empty(std::initializer_list<Size> sizes, const at::TensorOptions& options) {
  return at::empty_symint(sizes, options);
}
#else
using Size = int64_t;
inline bool is_symbolic(const at::Tensor&) { return false; }
inline Size size_of(const at::Tensor& x, int64_t dimension) { return x.size(dimension); }
inline Size stride_of(const at::Tensor& x, int64_t dimension) { return x.stride(dimension); }
inline at::Tensor empty(std::initializer_list<Size> sizes, const at::TensorOptions& options) {
  return at::empty(sizes, options);
}
#endif

/// An uninitialised [B,H,tokens,channels] in `like`'s order of dimensions: tokens before heads where `like` [B,H,T,d]
/// has them so (a view of [B,T,…,H,d]), else heads before tokens.
inline at::Tensor empty_tokens(const at::Tensor& like, const Size& tokens, const Size& channels) {
  const Size batch = size_of(like, 0), heads = size_of(like, 1);
  if (stride_of(like, 1) < stride_of(like, 2))
    return empty({batch, tokens, heads, channels}, like.options()).transpose(1, 2);
  return empty({batch, heads, tokens, channels}, like.options());
}

/// [B,T,3,H,d] -> three views [B,H,T,d].
inline Operands unpacked(const at::Tensor& qkv) {
  return {qkv.select(2, 0).transpose(1, 2), qkv.select(2, 1).transpose(1, 2), qkv.select(2, 2).transpose(1, 2)};
}

/// What an operator is given, {q, k, v} or a packed {qkv}, as three views.
Operands views_of(at::TensorList x);

/// [B,H,T,e] -> [B,T,H·e], free when tokens come before heads in memory.
inline at::Tensor merged_heads(const at::Tensor& out) { return out.transpose(1, 2).flatten(2); }

/// [B,T,H·e] -> [B,H,T,e], a view.
inline at::Tensor split_heads(const at::Tensor& merged, int64_t heads) {
  const int64_t channels = merged.size(2) / heads;
  return merged.view({merged.size(0), merged.size(1), heads, channels}).transpose(1, 2);
}

inline AttentionShape shape_of(const Operands& x) {
  return {x.q.size(0), x.q.size(1), x.q.size(2), x.k.size(2), x.q.size(3), x.v.size(3)};
}

// Tensors as the kernels take them.

inline at::Tensor with_contiguous_channels(const at::Tensor& x) {
  return x.size(3) == 1 || x.stride(3) == 1 ? x : x.contiguous();
}

template <class T>
TokenView<T> token_view(const at::Tensor& x) {
  return {x.data_ptr<std::remove_const_t<T>>(), x.stride(0), x.stride(1), x.stride(2)};
}

template <class T>
BiasView<T> bias_view(const at::Tensor& b) {
  if (!b.defined()) return {};
  const int64_t head_stride = b.size(1) == 1 ? 0 : b.stride(1);
  return {b.data_ptr<std::remove_const_t<T>>(), b.size(0), b.stride(0), head_stride, b.stride(2), b.stride(3)};
}

template <class T>
AttentionInputs<T> kernel_inputs(const Operands& x) {
  return {token_view<const T>(x.q), token_view<const T>(x.k), token_view<const T>(x.v)};
}

/// Whether the type is one that is computed in float32 and returned as it came.
inline bool is_reduced(at::ScalarType type) { return type == at::kHalf || type == at::kBFloat16; }

inline at::ScalarType computing_type(at::ScalarType type) { return is_reduced(type) ? at::kFloat : type; }

/// The results that forward fills: output and log-sum-exp [B,H,Tq].
inline Outputs empty_outputs(const Operands& x) {
  const at::Tensor& q = x.q;
  return {empty_tokens(q, size_of(q, 2), size_of(x.v, 3)),
          empty({size_of(q, 0), size_of(q, 1), size_of(q, 2)}, q.options().dtype(computing_type(q.scalar_type())))};
}

}  // namespace fib::ops
