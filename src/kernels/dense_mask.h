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

template <class T>
struct Masked {
  std::unique_ptr<T[]> mask;  ///< [H,Tq,Tk]: 0 for the pairs of the support, -inf for the others
  DenseOptions<T> options;    ///< with the mask as their bias
};

/// The same options for the dense kernel.
template <class T>
Masked<T> make_masked(const SupportSet& support, const AttentionOptions<T>& options);

}  // namespace fib::kernels
