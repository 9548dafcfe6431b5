// SPDX-License-Identifier: Apache-2.0
#include "kernels/checks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string>

#include "base/checked.h"

namespace fib::kernels {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw std::invalid_argument("attention: " + message); }

void check_count(const char* name, int64_t got, int64_t expected) {
  if (got != expected) {
    refuse(std::string(name) + " is " + std::to_string(got) + ", the support set has " + std::to_string(expected));
  }
}

void check_dim(const char* name, int64_t dim) {
  if (dim < 1 || dim > kMaxDim) {
    refuse(std::string(name) + " must be 1 to " + std::to_string(kMaxDim) + ", got " + std::to_string(dim));
  }
}

template <class T>
void check_pointer(const char* name, const T* pointer, const AttentionShape& shape) {
  if (pointer == nullptr && shape.batch > 0) refuse(std::string(name) + " must not be null");
}

/// A [batch, heads, tokens, channels] array of a call.
struct NamedArray {
  const char* name;
  const void* data;
  size_t alignment;
  int64_t batch_stride, head_stride, token_stride, tokens, channels;
};

template <class T>
NamedArray named(const char* name, const TokenView<T>& view, int64_t tokens, int64_t channels) {
  return {name, view.data, alignof(T), view.batch_stride, view.head_stride, view.token_stride, tokens, channels};
}

std::string strides_text(const NamedArray& a) {
  return std::to_string(a.batch_stride) + ", " + std::to_string(a.head_stride) + " and " +
         std::to_string(a.token_stride);
}

/// The distance between neighbors of a dimension, and their number.
struct Extent {
  Checked stride;
  int64_t size;
};

std::array<Extent, 3> extents(const NamedArray& a, const AttentionShape& shape) {
  const auto distance = [](int64_t stride) { return stride < 0 ? Checked(0) - stride : Checked(stride); };
  return {{{distance(a.batch_stride), shape.batch},
           {distance(a.head_stride), shape.heads},
           {distance(a.token_stride), a.tokens}}};
}

void check_reach(const NamedArray& a, const AttentionShape& shape) {
  if (reinterpret_cast<uintptr_t>(a.data) % a.alignment != 0)
    refuse(std::string(a.name) + " must be aligned to " + std::to_string(a.alignment) + " bytes");
  try {
    Checked reach = a.channels;
    for (const Extent& e : extents(a, shape)) reach += e.stride * std::max<int64_t>(0, e.size - 1);
    static_cast<void>(reach * static_cast<int64_t>(a.alignment));
  } catch (const std::overflow_error&) {
    refuse("strides of " + std::string(a.name) + " reach beyond all memory, got " + strides_text(a));
  }
}

/// Rows that lie within each other would be written by several threads. From the smallest stride on, each must step
/// over all that the smaller ones reach.
void check_disjoint_rows(const NamedArray& a, const AttentionShape& shape) {
  std::array<Extent, 3> sorted = extents(a, shape);
  std::ranges::sort(sorted, {}, &Extent::stride);
  Checked reached = a.channels;
  for (const Extent& e : sorted) {
    if (e.size <= 1) continue;
    if (e.stride < reached) refuse("rows of " + std::string(a.name) + " overlap, its strides are " + strides_text(a));
    reached += e.stride * (e.size - 1);
  }
}

/// What is written neither overlaps itself nor begins where anything else does.
void check_arrays(const AttentionShape& shape, std::span<const NamedArray> read, std::span<const NamedArray> written) {
  if (shape.batch == 0) return;
  for (const auto& arrays : {read, written})
    for (const NamedArray& a : arrays) check_reach(a, shape);
  for (size_t i = 0; i < written.size(); ++i) {
    check_disjoint_rows(written[i], shape);
    const auto check_apart = [&](const NamedArray& other) {
      if (other.data == written[i].data) refuse(std::string(written[i].name) + " must not be " + other.name);
    };
    std::ranges::for_each(read, check_apart);
    std::ranges::for_each(written.first(i), check_apart);
  }
}

void check_lengths(const int64_t* lengths, const AttentionShape& shape) {
  for (int64_t b = 0; lengths != nullptr && b < shape.batch; ++b) {
    if (lengths[b] < 0 || lengths[b] > shape.key_tokens) {
      refuse("length of sample " + std::to_string(b) + " must be 0 to " + std::to_string(shape.key_tokens) + ", got " +
             std::to_string(lengths[b]));
    }
  }
}

template <class T>
void check_groups(const BiasView<T>& bias, const AttentionShape& shape) {
  if (bias.groups < 1 || shape.batch % bias.groups != 0) {
    refuse("bias groups must divide batch " + std::to_string(shape.batch) + ", got " + std::to_string(bias.groups));
  }
}

template <class T>
void check_options(const AttentionShape& shape, const AttentionOptions<T>& options) {
  if (options.scale && !std::isfinite(*options.scale)) {
    refuse("scale must be finite, got " + std::to_string(*options.scale));
  }
  check_dropout(options.dropout);
  check_lengths(options.lengths, shape);
  if (options.bias.data != nullptr) check_groups(options.bias, shape);
}

template <class T>
void check_options(const SupportSet& support, const AttentionShape& shape, const AttentionOptions<T>& options) {
  check_options(shape, options);
  check_masking(options.masking, support, options.lengths != nullptr, options.bias.data != nullptr, options.dropout);
}

template <class T>
void check_bias_gradient(const BiasView<T>& dbias, const BiasView<const T>& bias, const AttentionShape& shape) {
  if (dbias.data == nullptr) return;
  if (bias.data == nullptr) refuse("a bias gradient needs a bias");
  if (dbias.groups != bias.groups) {
    refuse("bias gradient has " + std::to_string(dbias.groups) + " groups, the bias " + std::to_string(bias.groups));
  }
  if (shape.heads > 1 && (dbias.head_stride == 0) != (bias.head_stride == 0)) {
    refuse("bias and its gradient must share heads alike, got head strides " + std::to_string(bias.head_stride) +
           " and " + std::to_string(dbias.head_stride));
  }
}

template <class T>
void check_inputs(const AttentionInputs<T>& inputs, const AttentionShape& shape) {
  check_pointer("q", inputs.q.data, shape);
  check_pointer("k", inputs.k.data, shape);
  check_pointer("v", inputs.v.data, shape);
}

template <class T>
std::array<NamedArray, 3> named_inputs(const AttentionInputs<T>& inputs, const AttentionShape& s) {
  return {named("q", inputs.q, s.query_tokens, s.dim), named("k", inputs.k, s.key_tokens, s.dim),
          named("v", inputs.v, s.key_tokens, s.value_dim)};
}

template <class T>
void check_forward_arrays(const AttentionShape& shape, const AttentionInputs<T>& inputs, const TokenView<T>& out) {
  check_inputs(inputs, shape);
  check_pointer("out", out.data, shape);
  const std::array written = {named("out", out, shape.query_tokens, shape.value_dim)};
  check_arrays(shape, named_inputs(inputs, shape), written);
}

template <class T>
void check_backward_arrays(const AttentionShape& shape, const AttentionInputs<T>& inputs, const TokenView<const T>& out,
                           const T* lse, const TokenView<const T>& grad_out, const AttentionGradients<T>& gradients,
                           const AttentionOptions<T>& options) {
  check_inputs(inputs, shape);
  check_bias_gradient(gradients.dbias, options.bias, shape);
  check_pointer("out", out.data, shape);
  check_pointer("lse", lse, shape);
  check_pointer("grad_out", grad_out.data, shape);
  check_pointer("dq", gradients.dq.data, shape);
  check_pointer("dk", gradients.dk.data, shape);
  check_pointer("dv", gradients.dv.data, shape);
  const auto [q, k, v] = named_inputs(inputs, shape);
  const std::array read = {q, k, v, named("out", out, shape.query_tokens, shape.value_dim),
                           named("grad_out", grad_out, shape.query_tokens, shape.value_dim)};
  const std::array written = {named("dq", gradients.dq, shape.query_tokens, shape.dim),
                              named("dk", gradients.dk, shape.key_tokens, shape.dim),
                              named("dv", gradients.dv, shape.key_tokens, shape.value_dim)};
  check_arrays(shape, read, written);
}

void check_at_least(const char* name, int64_t got, int64_t least) {
  if (got < least)
    refuse(std::string(name) + " must be " + std::to_string(least) + " or more, got " + std::to_string(got));
}

template <class T>
void check_dense(const AttentionShape& shape, const DenseOptions<T>& options) {
  check_at_least("batch", shape.batch, 0);
  check_at_least("heads", shape.heads, 1);
  check_at_least("query_tokens", shape.query_tokens, 1);
  check_at_least("key_tokens", shape.key_tokens, 1);
  check_dim("dim", shape.dim);
  check_dim("value_dim", shape.value_dim);
  check_options<T>(shape, options);
  if (options.masking != Masking::exclude) refuse("dense attention excludes no pair, so masking must be exclude");
  if (options.causal && shape.query_tokens != shape.key_tokens) {
    refuse("causal needs as many queries as keys, got " + std::to_string(shape.query_tokens) + " and " +
           std::to_string(shape.key_tokens));
  }
}

}  // namespace

void check_shape(const SupportSet& support, const AttentionShape& shape) {
  check_at_least("batch", shape.batch, 0);
  check_count("heads", shape.heads, support.num_heads());
  check_count("query_tokens", shape.query_tokens, support.query_tokens());
  check_count("key_tokens", shape.key_tokens, support.key_tokens());
  check_dim("dim", shape.dim);
  check_dim("value_dim", shape.value_dim);
}

void check_dropout(double probability) {
  if (!(probability >= 0.0 && probability < 1.0))
    refuse("dropout must be in [0, 1), got " + std::to_string(probability));
}

namespace {

void check_summaries(const SupportSet& support, Masking masking, bool lengths) {
  if (!support.summaries()) return;
  const char* with = masking == Masking::zero ? "masking zero" : lengths ? "lengths" : nullptr;
  if (with != nullptr) refuse(std::string("summaries are refused together with ") + with);
}

}  // namespace

void check_masking(Masking masking, const SupportSet& support, bool lengths, bool bias, double dropout) {
  check_summaries(support, masking, lengths);
  if (masking != Masking::zero) return;
  const char* with = support.causal() ? "a causal support"
                     : lengths        ? "lengths"
                     : bias           ? "a bias"
                     : dropout != 0.0 ? "dropout"
                                      : nullptr;
  if (with != nullptr) refuse(std::string("masking zero is refused together with ") + with);
}

template <class T>
void check_forward(const SupportSet& support, const AttentionShape& shape, const AttentionInputs<T>& inputs,
                   const TokenView<T>& out, const AttentionOptions<T>& options) {
  check_shape(support, shape);
  check_options(support, shape, options);
  check_forward_arrays(shape, inputs, out);
}

template <class T>
void check_backward(const SupportSet& support, const AttentionShape& shape, const AttentionInputs<T>& inputs,
                    const TokenView<const T>& out, const T* lse, const TokenView<const T>& grad_out,
                    const AttentionGradients<T>& gradients, const AttentionOptions<T>& options) {
  check_shape(support, shape);
  check_options(support, shape, options);
  check_backward_arrays(shape, inputs, out, lse, grad_out, gradients, options);
}

template <class T>
void check_dense_forward(const AttentionShape& shape, const AttentionInputs<T>& inputs, const TokenView<T>& out,
                         const DenseOptions<T>& options) {
  check_dense(shape, options);
  check_forward_arrays(shape, inputs, out);
}

template <class T>
void check_dense_backward(const AttentionShape& shape, const AttentionInputs<T>& inputs, const TokenView<const T>& out,
                          const T* lse, const TokenView<const T>& grad_out, const AttentionGradients<T>& gradients,
                          const DenseOptions<T>& options) {
  check_dense(shape, options);
  check_backward_arrays(shape, inputs, out, lse, grad_out, gradients, options);
}

#define FIB_INSTANTIATE(T)                                                                                           \
  template void check_forward<T>(const SupportSet&, const AttentionShape&, const AttentionInputs<T>&,                \
                                 const TokenView<T>&, const AttentionOptions<T>&);                                   \
  template void check_backward<T>(const SupportSet&, const AttentionShape&, const AttentionInputs<T>&,               \
                                  const TokenView<const T>&, const T*, const TokenView<const T>&,                    \
                                  const AttentionGradients<T>&, const AttentionOptions<T>&);                         \
  template void check_dense_forward<T>(const AttentionShape&, const AttentionInputs<T>&, const TokenView<T>&,        \
                                       const DenseOptions<T>&);                                                      \
  template void check_dense_backward<T>(const AttentionShape&, const AttentionInputs<T>&, const TokenView<const T>&, \
                                        const T*, const TokenView<const T>&, const AttentionGradients<T>&,           \
                                        const DenseOptions<T>&);
FIB_INSTANTIATE(float)
FIB_INSTANTIATE(double)
#undef FIB_INSTANTIATE

}  // namespace fib::kernels
