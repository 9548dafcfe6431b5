// SPDX-License-Identifier: Apache-2.0
// Names that the operator's files share.
#pragma once

#include <torch/version.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "fibottention/attention.h"
#include "ops/support.h"

namespace fib::ops {

// LibTorch had an optional of its own, then made it an alias of the standard one, then dropped the name.
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 6)
template <class T>
using Optional = std::optional<T>;
inline constexpr auto nothing = std::nullopt;
#else
template <class T>
using Optional = c10::optional<T>;
inline constexpr auto nothing = c10::nullopt;
#endif

using OptionalTensor = Optional<at::Tensor>;

/// Output and log-sum-exp.
using Outputs = std::tuple<at::Tensor, at::Tensor>;

/// q, k [B,H,T,d] and v [B,H,T,e].
struct Operands {
  at::Tensor q, k, v;
};

/// A mechanism of the registry by its text, and where it stands.
struct NamedOptions {
  std::string attention;  ///< NAME or NAME:key=value,…
  int64_t cls;
  bool causal;
  Optional<int64_t> layer;
};

/// Everything about a call that is not q, k or v, as it travels through the dispatcher.
struct Call {
  SupportPtr support;      ///< none in dense attention
  OptionalTensor bias;     ///< [G, H or 1, Tq, Tk]
  OptionalTensor lengths;  ///< [B], int64
  Optional<double> scale;
  Masking masking = Masking::exclude;
  double dropout = 0.0;
  Optional<int64_t> seed;  ///< drawn from torch's generator when missing
  /// In place of a support, which is then made where the number of tokens is known: the operators of such a call take
  /// plain text and numbers, so that torch.compile can hold them in its graph.
  Optional<NamedOptions> named = {};
  OptionalTensor drawn_seed = {};  ///< int64 scalar, in place of seed: a graph must draw anew in every run
  bool dense = false;              ///< the support is every pair: the dense kernel takes the call, where there is one
};

}  // namespace fib::ops
