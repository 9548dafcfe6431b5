// SPDX-License-Identifier: Apache-2.0
#include "kernels/checks.h"

#include <cmath>
#include <stdexcept>
#include <string>

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
void check_backward_arrays(const AttentionShape& shape, const TokenView<const T>& out, const T* lse,
                           const TokenView<const T>& grad_out, const AttentionGradients<T>& gradients,
                           const AttentionOptions<T>& options) {
  check_bias_gradient(gradients.dbias, options.bias, shape);
  check_pointer("out", out.data, shape);
  check_pointer("lse", lse, shape);
  check_pointer("grad_out", grad_out.data, shape);
  check_pointer("dq", gradients.dq.data, shape);
  check_pointer("dk", gradients.dk.data, shape);
  check_pointer("dv", gradients.dv.data, shape);
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

void check_masking(Masking masking, const SupportSet& support, bool lengths, bool bias, double dropout) {
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
  check_inputs(inputs, shape);
  check_pointer("out", out.data, shape);
}

template <class T>
void check_backward(const SupportSet& support, const AttentionShape& shape, const AttentionInputs<T>& inputs,
                    const TokenView<const T>& out, const T* lse, const TokenView<const T>& grad_out,
                    const AttentionGradients<T>& gradients, const AttentionOptions<T>& options) {
  check_shape(support, shape);
  check_options(support, shape, options);
  check_inputs(inputs, shape);
  check_backward_arrays(shape, out, lse, grad_out, gradients, options);
}

template <class T>
void check_dense_forward(const AttentionShape& shape, const AttentionInputs<T>& inputs, const TokenView<T>& out,
                         const DenseOptions<T>& options) {
  check_dense(shape, options);
  check_inputs(inputs, shape);
  check_pointer("out", out.data, shape);
}

template <class T>
void check_dense_backward(const AttentionShape& shape, const AttentionInputs<T>& inputs, const TokenView<const T>& out,
                          const T* lse, const TokenView<const T>& grad_out, const AttentionGradients<T>& gradients,
                          const DenseOptions<T>& options) {
  check_dense(shape, options);
  check_inputs(inputs, shape);
  check_backward_arrays(shape, out, lse, grad_out, gradients, options);
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
