// SPDX-License-Identifier: Apache-2.0
// Attention on a SupportSet, forward and backward: time O(pairs · d), memory O(T · H) beyond inputs and outputs, and in
// backward at most 32 MB a thread for values of pairs; where explicit pairs are many, a mask of all pairs instead, at
// most 64 MB.
//
// Shapes: q [B,H,Tq,d], k [B,H,Tk,d], v [B,H,Tk,e], out [B,H,Tq,e], lse [B,H,Tq] (contiguous). Results are bitwise
// equal for any number of threads. Arrays are aligned to their type; what is written must not overlap itself or begin
// where an input does. Functions throw std::invalid_argument naming the value received; they never print.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fibottention/pattern.h"

namespace fib {

/// A [batch, heads, tokens, channels] array whose channels are contiguous. Strides count elements, so a packed
/// qkv [B,T,3,H,d] is three views of one buffer, and an output may be written as [B,T,H·d].
template <class T>
struct TokenView {
  T* data = nullptr;
  int64_t batch_stride = 0;
  int64_t head_stride = 0;
  int64_t token_stride = 0;

  T* row(int64_t b, int64_t h, int64_t t) const { return data + b * batch_stride + h * head_stride + t * token_stride; }
};

struct AttentionShape {
  int64_t batch = 1;
  int64_t heads = 1;
  int64_t query_tokens = 1;
  int64_t key_tokens = 1;
  int64_t dim = 1;        ///< d, channels of q and k: 1 to 512
  int64_t value_dim = 1;  ///< e, channels of v and out: 1 to 512
};

/// exclude: pairs outside the support have score -inf (the paper). zero: they keep score 0 and so weigh e⁰ (the
/// published code); refused together with causal, lengths, bias or dropout.
enum class Masking { exclude, zero };

/// An additive score [groups, heads or 1, Tq, Tk], read only at the pairs of the support; sample b uses group
/// b mod groups. Strides count elements; head_stride 0 shares one bias among the heads.
template <class T>
struct BiasView {
  T* data = nullptr;
  int64_t groups = 1;
  int64_t group_stride = 0;
  int64_t head_stride = 0;
  int64_t query_stride = 0;
  int64_t key_stride = 0;
};

template <class T>
struct AttentionOptions {
  std::optional<double> scale;  ///< default 1/√d
  Masking masking = Masking::exclude;
  /// [B]: tokens from lengths[b] on are padding, unseen and zero in every result. Where Tq != Tk it counts keys only.
  const int64_t* lengths = nullptr;
  BiasView<const T> bias;     ///< none when data is null
  double dropout = 0.0;       ///< probability in [0, 1) that a pair is dropped; the rest is scaled up
  uint64_t dropout_seed = 0;  ///< the same seed in backward drops the same pairs
};

template <class T>
struct AttentionInputs {
  TokenView<const T> q, k, v;
};

template <class T>
struct AttentionGradients {
  TokenView<T> dq, dk, dv;  ///< overwritten
  BiasView<T> dbias;        ///< none when data is null; same groups and head sharing as the bias; added to
};

/// lse may be null when no backward follows. A query without keys gives out = 0 and lse = -inf.
template <class T>
void attention_forward(const SupportSet& support, const AttentionShape& shape, const AttentionInputs<T>& inputs,
                       TokenView<T> out, T* lse, const AttentionOptions<T>& options = {});

/// Recomputes the probabilities from lse; out and lse are those of the forward with the same options.
template <class T>
void attention_backward(const SupportSet& support, const AttentionShape& shape, const AttentionInputs<T>& inputs,
                        TokenView<const T> out, const T* lse, TokenView<const T> grad_out,
                        const AttentionGradients<T>& gradients, const AttentionOptions<T>& options = {});

template <class T>
struct DenseOptions : AttentionOptions<T> {
  bool causal = false;  ///< a query sees no key behind itself; needs as many queries as keys
};

/// Attention of all queries with all keys, in tiles whose scores never leave the caches: time O(Tq · Tk · d), memory
/// O(T · d) per thread. Masking must be exclude, for nothing is excluded. All else as above.
template <class T>
void dense_attention_forward(const AttentionShape& shape, const AttentionInputs<T>& inputs, TokenView<T> out, T* lse,
                             const DenseOptions<T>& options = {});
template <class T>
void dense_attention_backward(const AttentionShape& shape, const AttentionInputs<T>& inputs, TokenView<const T> out,
                              const T* lse, TokenView<const T> grad_out, const AttentionGradients<T>& gradients,
                              const DenseOptions<T>& options = {});

/// Name of the SIMD target that runs ("AVX3", "AVX2", "SSE4", …). FIB_TARGET in the environment forces one.
std::string simd_target();
/// The targets this machine can run, best first.
std::vector<std::string> simd_targets();
/// Forces a target for this process, as FIB_TARGET does; "" chooses the best again.
void set_simd_target(const std::string& name);

}  // namespace fib
