// SPDX-License-Identifier: Apache-2.0
#include "ops/layout.h"

#include "ops/checks.h"

namespace fib::ops {

at::ScalarType computing_type(at::ScalarType type) { return is_reduced(type) ? at::kFloat : type; }

Outputs empty_outputs(const Operands& x) {
  const at::Tensor& q = x.q;
  return {empty_tokens(q, q.size(2), x.v.size(3)),
          at::empty({q.size(0), q.size(1), q.size(2)}, q.options().dtype(computing_type(q.scalar_type())))};
}

}  // namespace fib::ops
