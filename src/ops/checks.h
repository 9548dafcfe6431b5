// SPDX-License-Identifier: Apache-2.0
// Checks at the operator's boundary: one line that names what was received. Inner code trusts them.
#pragma once

#include <stdexcept>

#include "ops/types.h"

namespace fib::ops {

/// What only tensors can get wrong: types, devices, sizes that contradict each other. Sizes against the support and
/// the options' values are left to the kernels.
void check_call(const Operands& x, const Call& call);
/// All of it, where no kernel follows.
void check_without_kernel(const Operands& x, const Call& call);

/// Runs the body; what the kernels refuse becomes torch's ValueError.
template <class Body>
void with_value_errors(const Body& body) {
  try {
    body();
  } catch (const std::invalid_argument& e) {
    TORCH_CHECK_VALUE(false, e.what());
  }
}

/// [B,T,3,H,d], nothing else; the rest is checked on its three views.
void check_packed(const at::Tensor& qkv);

}  // namespace fib::ops
