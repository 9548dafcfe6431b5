// SPDX-License-Identifier: Apache-2.0
// How large a support set will be, known before it is made: making one takes time and memory of its own.
#pragma once

#include "fibottention/pattern.h"

namespace fib {

/// At most, over all heads.
struct SupportSize {
  double listed = 0;  ///< offsets and explicit pairs that are held
  double pairs = 0;   ///< (query, key) pairs, those of class tokens included
};

/// Throws as make_support does.
SupportSize support_size_at_most(const AttentionSpec& spec, const PatternGeometry& geometry);

}  // namespace fib
