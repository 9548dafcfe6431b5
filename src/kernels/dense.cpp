// SPDX-License-Identifier: Apache-2.0
#include "kernels/dense.h"

#include "base/parallel.h"
#include "fibottention/attention.h"
#include "kernels/checks.h"
#include "kernels/tiles.h"

namespace fib {
namespace {

using kernels::DenseCall;

template <class T>
DenseCall<T> make_call(const AttentionShape& shape, const AttentionInputs<T>& inputs, const DenseOptions<T>& options) {
  DenseCall<T> call;
  call.set(shape, inputs, options);
  call.causal = options.causal;
  return call;
}

template <class T>
kernels::DenseWorkspace<T>& dense_workspace() {
  thread_local kernels::DenseWorkspace<T> kept;
  return kept;
}

}  // namespace

template <class T>
void dense_attention_forward(const AttentionShape& shape, const AttentionInputs<T>& inputs, TokenView<T> out, T* lse,
                             const DenseOptions<T>& options) {
  kernels::check_dense_forward(shape, inputs, out, options);
  DenseCall<T> call = make_call(shape, inputs, options);
  call.out = out;
  call.lse = lse;
  const auto& table = kernels::dense_of_target<T>(kernels::chosen_target());
  const int64_t tiles = (shape.query_tokens + table.tile_queries - 1) / table.tile_queries;
  parallel_tasks(shape.batch * shape.heads * tiles, [&](int64_t task) {
    const int64_t head = task / tiles;
    table.forward(call, {head / shape.heads, head % shape.heads, task % tiles}, dense_workspace<T>());
  });
}

template <class T>
void dense_attention_backward(const AttentionShape& shape, const AttentionInputs<T>& inputs, TokenView<const T> out,
                              const T* lse, TokenView<const T> grad_out, const AttentionGradients<T>& gradients,
                              const DenseOptions<T>& options) {
  kernels::check_dense_backward(shape, inputs, out, lse, grad_out, gradients, options);
  DenseCall<T> call = make_call(shape, inputs, options);
  call.set_backward(out, lse, grad_out, gradients);
  const auto& table = kernels::dense_of_target<T>(kernels::chosen_target());
  const kernels::Grouping tasks = kernels::group_by_bias(shape, gradients.dbias);
  parallel_tasks(tasks.samples * tasks.heads, [&](int64_t task) {
    tasks.for_each(shape, task, [&](int64_t b, int64_t h) { table.backward(call, {b, h, 0}, dense_workspace<T>()); });
  });
}

#define FIB_INSTANTIATE(T)                                                                                        \
  template void dense_attention_forward<T>(const AttentionShape&, const AttentionInputs<T>&, TokenView<T>, T*,    \
                                           const DenseOptions<T>&);                                               \
  template void dense_attention_backward<T>(const AttentionShape&, const AttentionInputs<T>&, TokenView<const T>, \
                                            const T*, TokenView<const T>, const AttentionGradients<T>&,           \
                                            const DenseOptions<T>&);
FIB_INSTANTIATE(float)
FIB_INSTANTIATE(double)
#undef FIB_INSTANTIATE

}  // namespace fib
