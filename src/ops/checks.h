// SPDX-License-Identifier: Apache-2.0
// Checks at the operator's boundary: one line that names what was received. Inner code trusts them.
#pragma once

#include "ops/types.h"

namespace fib::ops {

void check_call(const Operands& x, const Call& call);

/// [B,T,3,H,d], nothing else; the rest is checked on its three views.
void check_packed(const at::Tensor& qkv);

/// Whether the type is one that is computed in float32 and returned as it came.
inline bool is_reduced(at::ScalarType type) { return type == at::kHalf || type == at::kBFloat16; }

}  // namespace fib::ops
