// SPDX-License-Identifier: Apache-2.0
// Supports of so many explicit pairs that all pairs are computed sooner, by the dense kernel, with -inf added to the
// scores of those that are excluded.
#pragma once

#include <memory>

#include "fibottention/attention.h"

namespace fib::kernels {

/// Whether the dense kernel is faster: by the share of explicit pairs, which are computed one by one. Not with what it
/// cannot do, or what takes the mask's place: masking zero, a bias.
template <class T>
bool dense_is_faster(const SupportSet& support, const AttentionShape& shape, const AttentionOptions<T>& options);

/// The same call for the dense kernel: its bias is the mask, 0 for the pairs of the support and -inf for the others.
template <class T>
class MaskedOptions {
 public:
  MaskedOptions(const SupportSet& support, const AttentionOptions<T>& options);
  operator const DenseOptions<T>&() const { return options_; }

 private:
  std::unique_ptr<T[]> mask_;  ///< [H,Tq,Tk]
  DenseOptions<T> options_;
};

}  // namespace fib::kernels
