// SPDX-License-Identifier: Apache-2.0
// What torch.ops.fibottention and torch.classes.fibottention hold: schemas, and the function behind each key. All in
// one file, because the class must be known before a function that takes it, and torch registers file by file in the
// linker's order.
//
// Two operators do the work, attention_forward and attention_backward, for x = [q, k, v] or [qkv]. They exist twice,
// because torch.compile cannot hold a Support in a graph: with a mechanism's text, and with a Support or none
// (support_attention_…). What people call is made of them.
#include "ops/operator.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <limits>
#include <mutex>

namespace fib::ops {
namespace {

// ---- Between flat arguments and structs ---------------------------------------------------------------------------

Masking masking_of(bool zero) { return zero ? Masking::zero : Masking::exclude; }

Pairs pairs_of(const Optional<SupportPtr>& support) { return {support.value_or(SupportPtr())}; }
Pairs pairs_of(const std::string& attention, int64_t cls, bool causal, Optional<int64_t> layer,
               at::IntArrayRef grid_shape) {
  return {{}, NamedSupport{attention, cls, causal, layer, grid_shape.vec()}};
}

/// A gradient that was not asked for leaves an operator as an empty tensor: a graph cannot hold undefined ones.
Gradients without_undefined(Gradients gradients) {
  if (!gradients.back().defined()) gradients.back() = at::empty({0}, gradients.front().options());
  return gradients;
}
Gradients with_undefined(Gradients gradients, bool bias_grad) {
  if (!bias_grad) gradients.back() = at::Tensor();
  return gradients;
}

/// The two operators whose pairs are given by arguments of these types. The order of all others is that of kArguments.
template <class... Given>
struct Family {
  template <auto implementation>
  static Outputs forward(at::TensorList x, Given... pairs, const OptionalTensor& bias, const OptionalTensor& lengths,
                         Optional<double> scale, bool zero_masking, double dropout, const OptionalTensor& seed) {
    return implementation(x,
                          Arguments{pairs_of(pairs...), bias, lengths, scale, masking_of(zero_masking), dropout, seed});
  }

  template <auto implementation>
  static Gradients backward(const at::Tensor& grad_out, at::TensorList x, const at::Tensor& out, const at::Tensor& lse,
                            Given... pairs, const OptionalTensor& bias, const OptionalTensor& lengths,
                            Optional<double> scale, bool zero_masking, double dropout, const OptionalTensor& seed,
                            bool bias_grad) {
    const Arguments a{pairs_of(pairs...), bias, lengths, scale, masking_of(zero_masking), dropout, seed};
    return without_undefined(implementation(x, Results{grad_out, out, lse}, a, bias_grad));
  }

  static auto find_forward(const char* name) { return find<decltype(forward<cpu_forward>)>(name); }
  static auto find_backward(const char* name) { return find<decltype(backward<cpu_backward>)>(name); }

 private:
  template <class Signature>
  static auto find(const char* name) {
    return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
  }
};
using Named = Family<const std::string&, int64_t, bool, Optional<int64_t>, at::IntArrayRef>;
using Supported = Family<const Optional<SupportPtr>&>;

int64_t draw_seed() {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard lock(generator.mutex());
  return static_cast<int64_t>(at::check_generator<at::CPUGeneratorImpl>(generator)->random64());
}

bool is_zero(const Arguments& a) { return a.masking == Masking::zero; }
Optional<SupportPtr> if_any(const SupportPtr& support) { return support ? Optional<SupportPtr>(support) : nothing; }

void check_tokens(int64_t tokens, int64_t heads, const NamedSupport& named) {
  TORCH_CHECK_VALUE(named.cls >= 0 && named.cls < tokens, "attention: cls must leave a patch token: 0 to ", tokens - 1,
                    " for ", tokens, " tokens, got ", named.cls);
  TORCH_CHECK_VALUE(heads > 0, "attention: heads must be 1 or more, got 0");
  TORCH_CHECK_VALUE(!named.layer || *named.layer >= 0, "attention: layer must be None, or 0 or more, got ",
                    named.layer.value_or(0));
}

// ---- Shapes, types and strides without data: torch's meta device ----------------------------------------------------

Outputs meta_forward(at::TensorList x, const Arguments& a) {
  const Operands views = views_of(x);
  if (!is_symbolic(views.q)) {
    if (const SupportPtr support = support_of(a, views)) check_without_kernel(views, a, support->set());
    check_tensors(views, a);
  }
  const auto [out, lse] = empty_outputs(views);
  return {laid_out_as(x, out), lse};
}

Gradients meta_backward(at::TensorList x, const Results&, const Arguments& a, bool bias_grad) {
  Gradients gradients;
  for (const at::Tensor& t : x) {
    gradients.push_back(x.size() == 1 ? at::empty_like(t, t.options(), at::MemoryFormat::Contiguous)
                                      : empty_tokens(t, size_of(t, 2), size_of(t, 3)));
  }
  gradients.push_back(bias_grad && a.bias ? at::empty_like(*a.bias) : at::Tensor());
  return gradients;
}

/// Under autocast q, k and v may arrive in different types; the widest of them is taken. The kernels compute reduced
/// types in float32 anyway, so nothing is narrowed here.
template <c10::DispatchKey key>
Outputs autocast_forward(at::TensorList x, const Arguments& a) {
  const c10::impl::ExcludeDispatchKeyGuard guard(key);
  at::ScalarType type = x[0].scalar_type();
  for (const at::Tensor& t : x) type = c10::promoteTypes(type, t.scalar_type());
  return dispatch_forward(cast(x, type), with_bias_of(a, type));
}

// ---- As people write it ---------------------------------------------------------------------------------------------

Masking parse_masking(const std::string& name) {
  TORCH_CHECK_VALUE(name == "exclude" || name == "zero", "attention: masking must be 'exclude' or 'zero', got '", name,
                    "'");
  return masking_of(name == "zero");
}

/// The paper's mechanism by its parameters, as a text of the registry.
std::string wythoff_text(int64_t wmin, int64_t wmax, bool modified) {
  return std::string(modified ? "fibottention-modified" : "fibottention") + ":wmin=" + std::to_string(wmin) +
         ",wmax=" + std::to_string(wmax);
}

at::Tensor wythoff_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, int64_t wmin, int64_t wmax,
                             bool modified, int64_t cls, bool causal, Optional<int64_t> layer,
                             const std::string& masking, Optional<double> scale) {
  const NamedSupport named{wythoff_text(wmin, wmax, modified), cls, causal, layer};
  return attention({q, k, v}, {{{}, named}, nothing, nothing, scale, parse_masking(masking)});
}

at::Tensor wythoff_attention_packed(const at::Tensor& qkv, int64_t wmin, int64_t wmax, bool modified, int64_t cls,
                                    bool causal, Optional<int64_t> layer, const std::string& masking,
                                    Optional<double> scale, double dropout) {
  const NamedSupport named{wythoff_text(wmin, wmax, modified), cls, causal, layer};
  return attention({qkv}, {{{}, named}, nothing, nothing, scale, parse_masking(masking), dropout});
}

/// Of q, k and v, or of a packed qkv.
template <class... Tensors>
at::Tensor named_attention(const Tensors&... x, const std::string& name, int64_t cls, bool causal,
                           Optional<int64_t> layer, const OptionalTensor& bias, const std::string& masking,
                           Optional<double> scale, double dropout, at::IntArrayRef grid_shape) {
  const NamedSupport named{name, cls, causal, layer, grid_shape.vec()};
  return attention({x...}, {{{}, named}, bias, nothing, scale, parse_masking(masking), dropout});
}

template <class... Tensors>
Outputs support_attention(const Tensors&... x, const SupportPtr& support, const OptionalTensor& bias,
                          const OptionalTensor& lengths, Optional<double> scale, bool zero_masking, double dropout,
                          Optional<int64_t> seed) {
  const OptionalTensor given = seed ? OptionalTensor(at::scalar_tensor(*seed, at::kLong)) : nothing;
  return attention_with_lse({x...}, {{support}, bias, lengths, scale, masking_of(zero_masking), dropout, given});
}

// ---- Schemas --------------------------------------------------------------------------------------------------------

const std::string kThreeTensors = "Tensor q, Tensor k, Tensor v", kPackedTensor = "Tensor qkv";
const std::string kNamedPairs = "str attention, int cls, bool causal, int? layer, int[] grid_shape";
const std::string kSupport = "__torch__.torch.classes.fibottention.Support";
const std::string kArguments =
    "Tensor? bias, Tensor? lengths, float? scale, bool zero_masking, float dropout, Tensor? seed";

std::string forward_schema(const std::string& name, const std::string& pairs) {
  return name + "(Tensor[] x, " + pairs + ", " + kArguments + ") -> (Tensor out, Tensor lse)";
}
std::string backward_schema(const std::string& name, const std::string& pairs) {
  return name + "(Tensor grad_out, Tensor[] x, Tensor out, Tensor lse, " + pairs + ", " + kArguments +
         ", bool bias_grad) -> Tensor[]";
}
std::string named_schema(const std::string& name, const std::string& tensors) {
  return name + "(" + tensors +
         ", str attention, int cls=1, bool causal=False, int? layer=None, Tensor? bias=None, "
         "str masking=\"exclude\", float? scale=None, float dropout=0.0, int[] grid_shape=[]) -> Tensor";
}
std::string support_schema(const std::string& name, const std::string& tensors) {
  return name + "(" + tensors + ", " + kSupport +
         " support, Tensor? bias=None, Tensor? lengths=None, float? scale=None, bool zero_masking=False, "
         "float dropout=0.0, int? seed=None) -> (Tensor out, Tensor lse)";
}

/// Operators that torch.compile may take: their shapes are known without running them, and they are pure.
void define_pure(torch::Library& m, const std::string& schema) {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 2)
  m.def(schema.c_str(), {at::Tag::pt2_compliant_tag});
#else
  m.def(schema.c_str());
#endif
}

template <auto forward>
void implement_forward(torch::Library& m) {
  m.impl("attention_forward", &Named::forward<forward>);
  m.impl("support_attention_forward", &Supported::forward<forward>);
}
template <auto backward>
void implement_backward(torch::Library& m) {
  m.impl("attention_backward", &Named::backward<backward>);
  m.impl("support_attention_backward", &Supported::backward<backward>);
}

}  // namespace

Outputs dispatch_forward(at::TensorList x, const Arguments& a) {
  if (const auto& n = a.pairs.named) {
    static const auto op = Named::find_forward("fibottention::attention_forward");
    return op.call(x, n->attention, n->cls, n->causal, n->layer, n->grid_shape, a.bias, a.lengths, a.scale, is_zero(a),
                   a.dropout, a.seed);
  }
  static const auto op = Supported::find_forward("fibottention::support_attention_forward");
  return op.call(x, if_any(a.pairs.support), a.bias, a.lengths, a.scale, is_zero(a), a.dropout, a.seed);
}

Gradients dispatch_backward(at::TensorList x, const Results& r, const Arguments& a, bool bias_grad) {
  if (const auto& n = a.pairs.named) {
    static const auto op = Named::find_backward("fibottention::attention_backward");
    return with_undefined(op.call(r.grad_out, x, r.out, r.lse, n->attention, n->cls, n->causal, n->layer, n->grid_shape,
                                  a.bias, a.lengths, a.scale, is_zero(a), a.dropout, a.seed, bias_grad),
                          bias_grad);
  }
  static const auto op = Supported::find_backward("fibottention::support_attention_backward");
  return with_undefined(op.call(r.grad_out, x, r.out, r.lse, if_any(a.pairs.support), a.bias, a.lengths, a.scale,
                                is_zero(a), a.dropout, a.seed, bias_grad),
                        bias_grad);
}

Outputs attention_with_lse(at::TensorList x, const Arguments& a) { return dispatch_forward(x, a); }

at::Tensor attention(at::TensorList x, const Arguments& a) { return std::get<0>(dispatch_forward(x, a)); }

Arguments with_seed(Arguments a) {
  if (a.dropout <= 0.0 || a.seed) return a;
  // A graph draws anew in every run only with an operator that it can hold.
  a.seed = a.pairs.named ? at::randint(std::numeric_limits<int64_t>::max(), {}, at::kLong)
                         : at::scalar_tensor(draw_seed(), at::kLong);
  return a;
}

SupportPtr support_of(const Arguments& a, const Operands& x) {
  if (!a.pairs.named) return a.pairs.support;
  if (a.pairs.named->attention != "full" || a.pairs.named->causal) return require_support(a, x);
  check_tokens(x.q.size(2), x.q.size(1), *a.pairs.named);
  return {};
}

SupportPtr require_support(const Arguments& a, const Operands& x) {
  TORCH_CHECK_VALUE(a.pairs.support || a.pairs.named, "attention: the support is missing");
  if (!a.pairs.named) return a.pairs.support;
  TORCH_CHECK_VALUE(x.q.dim() == 4, "attention: q must be [batch, heads, tokens, channels], got ", x.q.sizes());
  check_tokens(x.q.size(2), x.q.size(1), *a.pairs.named);
  return cached_support(*a.pairs.named, x.q.size(2) - a.pairs.named->cls, x.q.size(1));
}

}  // namespace fib::ops

using fib::ops::Optional;
using fib::ops::Support;
using fib::ops::SupportPtr;

TORCH_LIBRARY(fibottention, m) {
  using namespace fib::ops;
  m.class_<Support>("Support")
      .def(torch::init(&support_from_offsets), "",
           {torch::arg("patches"), torch::arg("cls"), torch::arg("offsets"), torch::arg("diagonal"),
            torch::arg("pairs") = std::vector<at::Tensor>(), torch::arg("causal") = false})
      .def_static("rectangular", &support_from_pairs)
      .def_static("named",
                  [](const std::string& attention, int64_t patches, int64_t cls, int64_t heads, Optional<int64_t> layer,
                     bool causal, std::vector<int64_t> grid_shape) {
                    return cached_support({attention, cls, causal, layer, std::move(grid_shape)}, patches, heads);
                  })
      .def("heads", [](const SupportPtr& self) { return self->set().num_heads(); })
      .def("window", [](const SupportPtr& self, int64_t head) { return self->set().head(head).window; })
      .def("offsets", [](const SupportPtr& self, int64_t head) { return self->set().head(head).offsets; })
      .def("diagonal", [](const SupportPtr& self, int64_t head) { return self->set().head(head).diagonal; })
      .def("pairs", [](const SupportPtr& self, int64_t head) { return support_pairs(self->set(), head); })
      .def("mask", [](const SupportPtr& self) { return support_mask(self->set()); })
      .def("neighbor_pairs", [](const SupportPtr& self, int64_t head) { return self->set().neighbor_pairs(head); })
      .def("summaries",
           [](const SupportPtr& self) { return self->set().summaries() ? self->set().summaries()->count() : 0; })
      .def("patch_pairs", [](const SupportPtr& self) { return self->set().patch_pairs(); })
      .def("pruning_ratio", [](const SupportPtr& self) { return self->set().pruning_ratio(); })
      .def("pruning_ratio_with_cls", [](const SupportPtr& self) { return self->set().pruning_ratio_with_cls(); });

  define_pure(m, "attention(" + kThreeTensors +
                     ", int wmin, int wmax, bool modified=False, int cls=1, bool causal=False, int? layer=None, "
                     "str masking=\"exclude\", float? scale=None) -> Tensor");
  define_pure(m, "attention_packed(" + kPackedTensor +
                     ", int wmin, int wmax, bool modified=False, int cls=1, bool causal=False, int? layer=None, "
                     "str masking=\"exclude\", float? scale=None, float dropout=0.0) -> Tensor");
  define_pure(m, named_schema("named_attention", kThreeTensors));
  define_pure(m, named_schema("named_attention_packed", kPackedTensor));
  define_pure(m, forward_schema("attention_forward", kNamedPairs));
  define_pure(m, backward_schema("attention_backward", kNamedPairs));
  m.def(support_schema("support_attention", kThreeTensors).c_str());
  m.def(support_schema("support_attention_packed", kPackedTensor).c_str());
  m.def(forward_schema("support_attention_forward", kSupport + "? support").c_str());
  m.def(backward_schema("support_attention_backward", kSupport + "? support").c_str());
}

TORCH_LIBRARY_IMPL(fibottention, CPU, m) {
  fib::ops::implement_forward<fib::ops::cpu_forward>(m);
  fib::ops::implement_backward<fib::ops::cpu_backward>(m);
}

TORCH_LIBRARY_IMPL(fibottention, Meta, m) {
  fib::ops::implement_forward<fib::ops::meta_forward>(m);
  fib::ops::implement_backward<fib::ops::meta_backward>(m);
}

TORCH_LIBRARY_IMPL(fibottention, Autograd, m) {
  fib::ops::implement_forward<fib::ops::autograd_forward>(m);
  fib::ops::implement_backward<fib::ops::autograd_backward>(m);
}

// Serves every backend that has no kernel of its own.
TORCH_LIBRARY_IMPL(fibottention, CompositeExplicitAutograd, m) {
  fib::ops::implement_forward<fib::ops::composite_attention>(m);
}

TORCH_LIBRARY_IMPL(fibottention, AutocastCPU, m) {
  fib::ops::implement_forward<fib::ops::autocast_forward<c10::DispatchKey::AutocastCPU>>(m);
}

TORCH_LIBRARY_IMPL(fibottention, AutocastCUDA, m) {
  fib::ops::implement_forward<fib::ops::autocast_forward<c10::DispatchKey::AutocastCUDA>>(m);
}

// Differentiated and dispatched through what they call.
TORCH_LIBRARY_IMPL(fibottention, CompositeImplicitAutograd, m) {
  using namespace fib::ops;
  using at::Tensor;
  m.impl("attention", &wythoff_attention);
  m.impl("attention_packed", &wythoff_attention_packed);
  m.impl("named_attention", &named_attention<Tensor, Tensor, Tensor>);
  m.impl("named_attention_packed", &named_attention<Tensor>);
  m.impl("support_attention", &support_attention<Tensor, Tensor, Tensor>);
  m.impl("support_attention_packed", &support_attention<Tensor>);
}
