// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/dense_tiles.cpp"
#include "kernels/simd/dispatch.h"
//

#include "kernels/dense.h"
#include "kernels/simd/dense_backward-inl.h"
#include "kernels/simd/dense_forward-inl.h"
#include "kernels/simd/linear-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fib::kernels {
namespace HWY_NAMESPACE {

template <class T>
constexpr DenseTable<T> kDense{kDensePanels * kPanelWidth<T>, dense_forward<T>, dense_backward<T>};

const DenseTable<float>& dense_f32() { return kDense<float>; }
const DenseTable<double>& dense_f64() { return kDense<double>; }

// Here and not in a file of its own, because it is made of the same instances of the product.
const LinearTable& linear_table_f32() {
  static const LinearTable kTable{lanes<float>(), linear_panels,          pack_linear_outputs,    pack_linear_inputs,
                                  linear_rows,    linear_input_gradients, linear_weight_gradients};
  return kTable;
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fib::kernels {
HWY_EXPORT(dense_f32);
HWY_EXPORT(dense_f64);
HWY_EXPORT(linear_table_f32);
template <>
FIB_TABLE_OF_TARGET(DenseTable<float>, dense_of_target<float>, dense_f32)
template <>
FIB_TABLE_OF_TARGET(DenseTable<double>, dense_of_target<double>, dense_f64)
FIB_TABLE_OF_TARGET(LinearTable, linear_of_target, linear_table_f32)
}  // namespace fib::kernels
#endif
