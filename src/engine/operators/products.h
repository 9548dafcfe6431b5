// SPDX-License-Identifier: Apache-2.0
// What steps that multiply matrices have in common.
#pragma once

#include "engine/product.h"
#include "engine/program.h"

namespace fib::engine {

inline Activation activation_of(Function function) {
  if (function == Function::gelu) return Activation::gelu;
  return function == Function::relu ? Activation::relu : Activation::none;
}

/// Output and epilogue of a product; rows and columns are the last two dimensions of out.
template <class AnyProduct>
void set_product(AnyProduct& p, const Step& s, const Memory& m, const ProductShape& shape) {
  const Operand &out = s.at(Role::out), &residual = s.at(Role::residual);
  p.shape = shape;
  p.out = m.floats(out);
  p.out_stride = out.strides[out.strides.size() - 2];
  p.epilogue = {m.optional(s.at(Role::bias)), activation_of(s.function), m.optional(residual),
                residual.given() ? residual.strides[residual.strides.size() - 2] : 0};
}

}  // namespace fib::engine
