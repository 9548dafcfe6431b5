// SPDX-License-Identifier: Apache-2.0
// A SupportSet as torch knows it, torch.classes.fibottention.Support, and supports by the name of their mechanism.
#pragma once

#include <torch/custom_class.h>
#include <torch/version.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fibottention/attention.h"

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

/// A tensor that is not defined may be no argument of a torch Function.
inline OptionalTensor if_defined(const at::Tensor& x) { return x.defined() ? OptionalTensor(x) : nothing; }

/// Shares an immutable SupportSet. Made once per layer; passing it to the operator costs a reference count.
class Support : public torch::CustomClassHolder {
 public:
  explicit Support(std::shared_ptr<const SupportSet> set) : set_(std::move(set)) {}

  const SupportSet& set() const { return *set_; }
  const std::shared_ptr<const SupportSet>& shared() const { return set_; }

 private:
  std::shared_ptr<const SupportSet> set_;
};

using SupportPtr = c10::intrusive_ptr<Support>;

inline SupportPtr make_support_ptr(SupportSet set) {
  return c10::make_intrusive<Support>(std::make_shared<const SupportSet>(std::move(set)));
}

/// Square support over cls + patches tokens. `pairs` is empty or holds one int64 tensor [n, 2] of (query, key) per
/// head.
SupportPtr support_from_offsets(int64_t patches, int64_t cls, const std::vector<std::vector<int64_t>>& offsets,
                                const c10::List<bool>& diagonal, const std::vector<at::Tensor>& pairs, bool causal);

/// Support between two token sets of different size, from explicit pairs only.
SupportPtr support_from_pairs(int64_t query_tokens, int64_t key_tokens, const std::vector<at::Tensor>& pairs);

/// The pairs of tokens of one head as an int64 tensor [n, 2], rows ascending: the inverse of the two above.
at::Tensor support_pairs(const SupportSet& set, int64_t head);

/// The means of a tiling as a matrix [tiles,N].
at::Tensor averaging_matrix(const Tiling& tiling);

/// The support as booleans [H,Tq,Tk], summaries aside.
at::Tensor support_mask(const SupportSet& set);

/// A mechanism of the registry by its text, and where it stands.
struct NamedSupport {
  std::string attention;  ///< NAME or NAME:key=value,…
  int64_t cls = 1;
  bool causal = false;
  Optional<int64_t> layer = {};          ///< none: no permutation, draw 0
  std::vector<int64_t> grid_shape = {};  ///< height and width of the patches, and frames of a place; empty: a square
};

/// Made once for the same arguments. Safe to call from any thread. The cache is bounded: the support that was used
/// longest ago makes room for a new one.
SupportPtr cached_support(const NamedSupport& named, int64_t patches, int64_t heads);

}  // namespace fib::ops
