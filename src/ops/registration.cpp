// SPDX-License-Identifier: Apache-2.0
// What torch.ops.fibottention and torch.classes.fibottention hold: schemas, and the function behind each key. All in
// one file, because the class must be known before a function that takes it, and torch registers file by file in the
// linker's order.
#include <torch/library.h>

#include "ops/checks.h"
#include "ops/dispatch.h"
#include "ops/layout.h"
#include "ops/named.h"

namespace fib::ops {
namespace {

/// Shapes, types and strides without data: the operators on torch's meta device.
namespace meta {

at::Tensor empty_bias_gradient(const Call& call, bool bias_grad) {
  return bias_grad && call.bias ? at::empty_like(*call.bias) : at::Tensor();
}

Outputs forward(const Operands& x, const Call& call) {
  if (!is_symbolic(x.q)) check_without_kernel(x, resolved(call, x));
  return empty_outputs(x);
}

Outputs packed_forward(const at::Tensor& qkv, const Call& call) {
  check_packed(qkv);
  const auto [out, lse] = forward(unpacked(qkv), call);
  return {merged_heads(out), lse};
}

Gradients backward(const Operands& x, const Results&, const Call& call, bool bias_grad) {
  const auto like = [](const at::Tensor& t) { return empty_tokens(t, size_of(t, 2), size_of(t, 3)); };
  return {like(x.q), like(x.k), like(x.v), empty_bias_gradient(call, bias_grad)};
}

PackedGradients packed_backward(const at::Tensor& qkv, const Results&, const Call& call, bool bias_grad) {
  return {at::empty_like(qkv, qkv.options(), at::MemoryFormat::Contiguous), empty_bias_gradient(call, bias_grad)};
}

}  // namespace meta

/// Under autocast q, k and v may arrive in different types; the widest of them is taken. The kernels compute reduced
/// types in float32 anyway, so nothing is narrowed here.
namespace autocast {

Call cast_bias(Call call, at::ScalarType type) {
  if (call.bias) call.bias = call.bias->to(type);
  return call;
}

template <c10::DispatchKey Key>
Outputs forward(const Operands& x, const Call& call) {
  const c10::impl::ExcludeDispatchKeyGuard guard(Key);
  const at::ScalarType type =
      c10::promoteTypes(c10::promoteTypes(x.q.scalar_type(), x.k.scalar_type()), x.v.scalar_type());
  return dispatch_forward({x.q.to(type), x.k.to(type), x.v.to(type)}, cast_bias(call, type));
}

template <c10::DispatchKey Key>
Outputs packed_forward(const at::Tensor& qkv, const Call& call) {
  const c10::impl::ExcludeDispatchKeyGuard guard(Key);
  return dispatch_packed_forward(qkv, cast_bias(call, qkv.scalar_type()));
}

}  // namespace autocast

}  // namespace
}  // namespace fib::ops

// What every form of the generic operator takes after its tensors. An order of arguments is written here and in
// dispatch.h.
#define FIB_CALL_SCHEMA                                                                                                \
  "__torch__.torch.classes.fibottention.Support support, Tensor? bias=None, Tensor? lengths=None, float? scale=None, " \
  "bool zero_masking=False, float dropout=0.0, int? seed=None"

// The same for a mechanism by its name; the seed is one that was drawn.
#define FIB_NAMED_SCHEMA                                                                                            \
  "str attention, int cls, bool causal, int? layer, Tensor? bias, bool zero_masking, float? scale, float dropout, " \
  "Tensor? seed"

// As people write it.
#define FIB_NAMED_PUBLIC_SCHEMA                                                                                \
  "str attention, int cls=1, bool causal=False, int? layer=None, Tensor? bias=None, str masking=\"exclude\", " \
  "float? scale=None, float dropout=0.0"
#define FIB_NAMED_PUBLIC_PARAMETERS                                                                            \
  const std::string &attention, int64_t cls, bool causal, Optional<int64_t> layer, const OptionalTensor &bias, \
      const std::string &masking, Optional<double> scale, double dropout
#define FIB_NAMED_PUBLIC_ARGUMENTS \
  { {attention, cls, causal, layer}, bias, parse_masking(masking), scale, dropout }

// Their shapes are known without running them, and what they compute is hidden from nobody: torch.compile may take
// them.
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 2)
#define FIB_PLAIN \
  , { at::Tag::pt2_compliant_tag }
#else
#define FIB_PLAIN
#endif

using fib::ops::Optional;
using fib::ops::Support;
using fib::ops::SupportPtr;

TORCH_LIBRARY(fibottention, m) {
  m.class_<Support>("Support")
      .def(torch::init(&fib::ops::support_from_offsets), "",
           {torch::arg("patches"), torch::arg("cls"), torch::arg("offsets"), torch::arg("diagonal"),
            torch::arg("pairs") = std::vector<at::Tensor>(), torch::arg("causal") = false})
      .def_static("rectangular", &fib::ops::support_from_pairs)
      .def_static("named",
                  [](const std::string& attention, int64_t patches, int64_t cls, int64_t heads, Optional<int64_t> layer,
                     bool causal) {
                    return fib::ops::cached_support({attention, patches, cls, heads, layer.value_or(-1), causal});
                  })
      .def("heads", [](const SupportPtr& self) { return self->set().num_heads(); })
      .def("window", [](const SupportPtr& self, int64_t head) { return self->set().head(head).window; })
      .def("offsets", [](const SupportPtr& self, int64_t head) { return self->set().head(head).offsets; })
      .def("diagonal", [](const SupportPtr& self, int64_t head) { return self->set().head(head).diagonal; })
      .def("pairs", [](const SupportPtr& self, int64_t head) { return fib::ops::support_pairs(self->set(), head); })
      .def("mask", [](const SupportPtr& self) { return fib::ops::support_mask(self->set()); })
      .def("patch_pairs", [](const SupportPtr& self) { return self->set().patch_pairs(); })
      .def("pruning_ratio", [](const SupportPtr& self) { return self->set().pruning_ratio(); })
      .def("pruning_ratio_with_cls", [](const SupportPtr& self) { return self->set().pruning_ratio_with_cls(); });

  m.def(
      "attention(Tensor q, Tensor k, Tensor v, int wmin, int wmax, bool modified=False, int cls=1, bool causal=False, "
      "int? layer=None, str masking=\"exclude\", float? scale=None) -> Tensor" FIB_PLAIN);
  m.def(
      "attention_packed(Tensor qkv, int wmin, int wmax, bool modified=False, int cls=1, bool causal=False, int? "
      "layer=None, "
      "str masking=\"exclude\", float? scale=None, float dropout=0.0) -> Tensor" FIB_PLAIN);
  m.def("named_attention(Tensor q, Tensor k, Tensor v, " FIB_NAMED_PUBLIC_SCHEMA ") -> Tensor" FIB_PLAIN);
  m.def("named_attention_packed(Tensor qkv, " FIB_NAMED_PUBLIC_SCHEMA ") -> Tensor" FIB_PLAIN);
  m.def("attention_forward(Tensor q, Tensor k, Tensor v, " FIB_NAMED_SCHEMA ") -> (Tensor out, Tensor lse)" FIB_PLAIN);
  m.def("attention_packed_forward(Tensor qkv, " FIB_NAMED_SCHEMA ") -> (Tensor out, Tensor lse)" FIB_PLAIN);
  m.def("attention_backward(Tensor grad_out, Tensor q, Tensor k, Tensor v, Tensor out, Tensor lse, " FIB_NAMED_SCHEMA
        ", bool bias_grad) -> (Tensor dq, Tensor dk, Tensor dv, Tensor dbias)" FIB_PLAIN);
  m.def("attention_packed_backward(Tensor grad_out, Tensor qkv, Tensor out, Tensor lse, " FIB_NAMED_SCHEMA
        ", bool bias_grad) -> (Tensor dqkv, Tensor dbias)" FIB_PLAIN);
  m.def("support_attention(Tensor q, Tensor k, Tensor v, " FIB_CALL_SCHEMA ") -> (Tensor out, Tensor lse)");
  m.def("support_attention_packed(Tensor qkv, " FIB_CALL_SCHEMA ") -> (Tensor out, Tensor lse)");
  m.def(
      "support_attention_backward(Tensor grad_out, Tensor q, Tensor k, Tensor v, Tensor out, Tensor "
      "lse, " FIB_CALL_SCHEMA ", bool bias_grad=False) -> (Tensor dq, Tensor dk, Tensor dv, Tensor dbias)");
  m.def("support_attention_packed_backward(Tensor grad_out, Tensor qkv, Tensor out, Tensor lse, " FIB_CALL_SCHEMA
        ", bool bias_grad=False) -> (Tensor dqkv, Tensor dbias)");
}

TORCH_LIBRARY_IMPL(fibottention, CPU, m) {
  using namespace fib::ops;
  m.impl("support_attention", &forward_entry<&cpu::forward>);
  m.impl("attention_forward", &named_forward_entry<&cpu::forward>);
  m.impl("support_attention_packed", &packed_forward_entry<&cpu::packed_forward>);
  m.impl("attention_packed_forward", &named_packed_forward_entry<&cpu::packed_forward>);
  m.impl("support_attention_backward", &backward_entry<&cpu::backward>);
  m.impl("attention_backward", &named_backward_entry<&cpu::backward>);
  m.impl("support_attention_packed_backward", &packed_backward_entry<&cpu::packed_backward>);
  m.impl("attention_packed_backward", &named_packed_backward_entry<&cpu::packed_backward>);
}

TORCH_LIBRARY_IMPL(fibottention, Meta, m) {
  using namespace fib::ops;
  m.impl("support_attention", &forward_entry<&meta::forward>);
  m.impl("attention_forward", &named_forward_entry<&meta::forward>);
  m.impl("support_attention_packed", &packed_forward_entry<&meta::packed_forward>);
  m.impl("attention_packed_forward", &named_packed_forward_entry<&meta::packed_forward>);
  m.impl("support_attention_backward", &backward_entry<&meta::backward>);
  m.impl("attention_backward", &named_backward_entry<&meta::backward>);
  m.impl("support_attention_packed_backward", &packed_backward_entry<&meta::packed_backward>);
  m.impl("attention_packed_backward", &named_packed_backward_entry<&meta::packed_backward>);
}

TORCH_LIBRARY_IMPL(fibottention, Autograd, m) {
  using namespace fib::ops;
  m.impl("support_attention", &forward_entry<&fib::ops::autograd::forward>);
  m.impl("attention_forward", &named_forward_entry<&fib::ops::autograd::forward>);
  m.impl("support_attention_packed", &packed_forward_entry<&fib::ops::autograd::packed_forward>);
  m.impl("attention_packed_forward", &named_packed_forward_entry<&fib::ops::autograd::packed_forward>);
  m.impl("support_attention_backward", &backward_entry<&fib::ops::autograd::backward>);
  m.impl("attention_backward", &named_backward_entry<&fib::ops::autograd::backward>);
  m.impl("support_attention_packed_backward", &packed_backward_entry<&fib::ops::autograd::packed_backward>);
  m.impl("attention_packed_backward", &named_packed_backward_entry<&fib::ops::autograd::packed_backward>);
}

// Serves every backend that has no kernel of its own.
TORCH_LIBRARY_IMPL(fibottention, CompositeExplicitAutograd, m) {
  using namespace fib::ops;
  m.impl("support_attention", &forward_entry<&composite::forward>);
  m.impl("attention_forward", &named_forward_entry<&composite::forward>);
  m.impl("support_attention_packed", &packed_forward_entry<&composite::packed_forward>);
  m.impl("attention_packed_forward", &named_packed_forward_entry<&composite::packed_forward>);
}

TORCH_LIBRARY_IMPL(fibottention, AutocastCPU, m) {
  using namespace fib::ops;
  m.impl("support_attention", &forward_entry<&fib::ops::autocast::forward<c10::DispatchKey::AutocastCPU>>);
  m.impl("attention_forward", &named_forward_entry<&fib::ops::autocast::forward<c10::DispatchKey::AutocastCPU>>);
  m.impl("support_attention_packed",
         &packed_forward_entry<&fib::ops::autocast::packed_forward<c10::DispatchKey::AutocastCPU>>);
  m.impl("attention_packed_forward",
         &named_packed_forward_entry<&fib::ops::autocast::packed_forward<c10::DispatchKey::AutocastCPU>>);
}

TORCH_LIBRARY_IMPL(fibottention, AutocastCUDA, m) {
  using namespace fib::ops;
  m.impl("support_attention", &forward_entry<&fib::ops::autocast::forward<c10::DispatchKey::AutocastCUDA>>);
  m.impl("attention_forward", &named_forward_entry<&fib::ops::autocast::forward<c10::DispatchKey::AutocastCUDA>>);
  m.impl("support_attention_packed",
         &packed_forward_entry<&fib::ops::autocast::packed_forward<c10::DispatchKey::AutocastCUDA>>);
  m.impl("attention_packed_forward",
         &named_packed_forward_entry<&fib::ops::autocast::packed_forward<c10::DispatchKey::AutocastCUDA>>);
}

// Differentiated and dispatched through what they call.
TORCH_LIBRARY_IMPL(fibottention, CompositeImplicitAutograd, m) {
  using namespace fib::ops;
  m.impl("attention", [](const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, int64_t wmin, int64_t wmax,
                         bool modified, int64_t cls, bool causal, Optional<int64_t> layer, const std::string& masking,
                         Optional<double> scale) {
    return named_attention(
        q, k, v, {{wythoff_text({wmin, wmax, modified}), cls, causal, layer}, nothing, parse_masking(masking), scale});
  });
  m.impl("attention_packed", [](const at::Tensor& qkv, int64_t wmin, int64_t wmax, bool modified, int64_t cls,
                                bool causal, Optional<int64_t> layer, const std::string& masking,
                                Optional<double> scale, double dropout) {
    return named_attention_packed(
        qkv,
        {{wythoff_text({wmin, wmax, modified}), cls, causal, layer}, nothing, parse_masking(masking), scale, dropout});
  });
  m.impl("named_attention",
         [](const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, FIB_NAMED_PUBLIC_PARAMETERS) {
           return named_attention(q, k, v, FIB_NAMED_PUBLIC_ARGUMENTS);
         });
  m.impl("named_attention_packed", [](const at::Tensor& qkv, FIB_NAMED_PUBLIC_PARAMETERS) {
    return named_attention_packed(qkv, FIB_NAMED_PUBLIC_ARGUMENTS);
  });
}
