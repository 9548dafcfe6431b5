// SPDX-License-Identifier: Apache-2.0
#include "ops/token_reduction.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include "base/parallel.h"
#include "kernels/token_reduction.h"
#include "ops/tensors.h"

namespace fib::ops {
namespace {

using at::Tensor;

/// On the CPU, in float32 or float64, without gradients.
Tensor as_numbers(const Tensor& t) {
  const auto type = t.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  return t.detach().to(at::TensorOptions().device(at::kCPU).dtype(type)).contiguous();
}

/// [B,columns] of numbers by `fill(sample, its row)`, on the device and in the type of `like`.
template <class T, class Fill>
Tensor rows_of(const Tensor& like, int64_t columns, const Fill& fill) {
  const int64_t B = like.size(0);
  Tensor out = at::empty({B, columns}, at::TensorOptions().dtype(c10::CppTypeToScalarType<T>::value));
  T* const rows = out.data_ptr<T>();
  parallel_tasks(B, [&](int64_t b) { fill(b, std::span(rows + b * columns, static_cast<size_t>(columns))); });
  return out.to(like.options());
}

template <class Body>
Tensor in_its_type(const Tensor& numbers, const Body& body) {
  return numbers.scalar_type() == at::kDouble ? body(double()) : body(float());
}

template <class T>
std::span<const T> row_of(const Tensor& rows, int64_t b) {
  return {rows.data_ptr<T>() + b * rows.size(1), static_cast<size_t>(rows.size(1))};
}

Tensor plan_merging_kernel(const Tensor& keys, int64_t merged, int64_t cls) {
  TORCH_CHECK_VALUE(keys.dim() == 4 && merged >= 0 && cls >= 0 && merged <= (keys.size(2) - cls) / 2,
                    "plan_merging: keys ", keys.sizes(), " have no ", merged, " pairs to merge");
  const Tensor k = as_numbers(keys);
  const int64_t H = k.size(1), T = k.size(2), d = k.size(3);
  return in_its_type(k, [&]<class Number>(Number) {
    return rows_of<Number>(keys, T, [&](int64_t b, std::span<Number> plan) {
      kernels::plan_merging<Number>({k.data_ptr<Number>() + b * H * T * d, H, T, d, T * d, d}, merged, cls, plan);
    });
  });
}

Tensor plan_keeping_kernel(const Tensor& score, int64_t kept, int64_t cls) {
  TORCH_CHECK_VALUE(score.dim() == 2 && kept >= 0 && cls >= 0 && kept <= score.size(1), "plan_keeping: of scores ",
                    score.sizes(), " not ", kept, " can be kept");
  const Tensor s = as_numbers(score);
  return in_its_type(s, [&]<class Number>(Number) {
    return rows_of<Number>(score, cls + s.size(1), [&](int64_t b, std::span<Number> plan) {
      kernels::plan_keeping<Number>(row_of<Number>(s, b), kept, cls, plan);
    });
  });
}

Tensor tell_tokens_kernel(const Tensor& owner, int64_t tokens, int64_t cls, int64_t height, int64_t width,
                          const std::string& fact) {
  TORCH_CHECK_VALUE(
      owner.dim() == 2 && tokens >= 1 && cls >= 0 && height >= 1 && width >= 1 && owner.size(1) == cls + height * width,
      "tell_tokens: owners ", owner.sizes(), " are not of ", height, " x ", width, " patches");
  const Tensor o = as_numbers(owner);
  const kernels::TokenFact what = kernels::token_fact(fact);
  const int64_t columns = kernels::is_of_slots(what) ? owner.size(1) : tokens;
  return in_its_type(o, [&]<class Number>(Number) {
    return rows_of<Number>(owner, columns, [&](int64_t b, std::span<Number> out) {
      kernels::tell_tokens<Number>(what, {tokens, cls, height, width}, row_of<Number>(o, b), out);
    });
  });
}

/// [B,U] as an index of [B,U,D].
Tensor index_of(const Tensor& places, int64_t channels) {
  return places.detach().to(at::kLong).unsqueeze(2).expand({-1, -1, channels});
}

Tensor merge_tokens_kernel(const Tensor& x, const c10::optional<Tensor>& weight, const Tensor& plan, int64_t tokens,
                           bool mean) {
  const auto sum = [&](const Tensor& values) {
    return at::zeros({x.size(0), tokens, values.size(2)}, values.options())
        .scatter_add(1, index_of(plan, values.size(2)), values);
  };
  Tensor factors = weight ? *weight : at::ones(plan.sizes(), x.options());
  if (!mean) factors = at::where(plan.eq(static_cast<double>(tokens - 1)), factors, at::ones({}, x.options()));
  factors = factors.unsqueeze(2);
  const Tensor sums = sum(x * factors);
  return mean ? sums / sum(factors) : sums;
}

Tensor take_tokens_kernel(const Tensor& x, const Tensor& index) { return x.gather(1, index_of(index, x.size(2))); }

/// Through torch's dispatcher, so that who records sees one call.
template <class Function, class... Values>
Tensor call(const char* name, Function*, const Values&... values) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Function>().call(values...);
}

}  // namespace

at::Tensor plan_merging(const Tensor& keys, int64_t merged, int64_t cls) {
  return call("fibottention::plan_merging", &plan_merging_kernel, keys, merged, cls);
}
at::Tensor plan_keeping(const Tensor& score, int64_t kept, int64_t cls) {
  return call("fibottention::plan_keeping", &plan_keeping_kernel, score, kept, cls);
}
at::Tensor merge_tokens(const Tensor& x, const Tensor& weight, const Tensor& plan, int64_t tokens, bool mean) {
  const auto optional = weight.defined() ? c10::optional<Tensor>(weight) : c10::nullopt;
  return call("fibottention::merge_tokens", &merge_tokens_kernel, x, optional, plan, tokens, mean);
}
at::Tensor take_tokens(const Tensor& x, const Tensor& index) {
  return call("fibottention::take_tokens", &take_tokens_kernel, x, index);
}
at::Tensor tell_tokens(const Tensor& owner, int64_t tokens, int64_t cls, int64_t height, int64_t width,
                       const std::string& fact) {
  return call("fibottention::tell_tokens", &tell_tokens_kernel, owner, tokens, cls, height, width, fact);
}

}  // namespace fib::ops

// Differentiated and dispatched through what they call.
TORCH_LIBRARY_FRAGMENT(fibottention, m) {
  using namespace fib::ops;
  m.def("plan_merging(Tensor keys, int merged, int cls) -> Tensor", &plan_merging_kernel);
  m.def("plan_keeping(Tensor score, int kept, int cls) -> Tensor", &plan_keeping_kernel);
  m.def("merge_tokens(Tensor x, Tensor? weight, Tensor plan, int tokens, bool mean) -> Tensor", &merge_tokens_kernel);
  m.def("take_tokens(Tensor x, Tensor index) -> Tensor", &take_tokens_kernel);
  m.def("tell_tokens(Tensor owner, int tokens, int cls, int height, int width, str fact) -> Tensor",
        &tell_tokens_kernel);
}
