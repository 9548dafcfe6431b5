// SPDX-License-Identifier: Apache-2.0
// What torch.ops.fibottention and torch.classes.fibottention hold. Kernels are registered beside their code.
#include <torch/library.h>

#include <string>

#include "ops/support.h"

namespace {

// What every form of the generic operator takes after its tensors. An order of arguments is written here and in
// dispatch.h.
const std::string call_arguments =
    "__torch__.torch.classes.fibottention.Support support, Tensor? bias=None, Tensor? lengths=None, float? scale=None, "
    "str masking=\"exclude\", float dropout=0.0, int? seed=None";

}  // namespace

using fib::ops::Support;
using fib::ops::SupportPtr;

TORCH_LIBRARY(fibottention, m) {
  m.class_<Support>("Support")
      .def(torch::init(&fib::ops::support_from_offsets), "",
           {torch::arg("patches"), torch::arg("cls"), torch::arg("offsets"), torch::arg("diagonal"),
            torch::arg("pairs") = std::vector<at::Tensor>(), torch::arg("causal") = false})
      .def_static("rectangular", &fib::ops::support_from_pairs)
      .def("heads", [](const SupportPtr& self) { return self->set().num_heads(); })
      .def("pairs", [](const SupportPtr& self, int64_t head) { return fib::ops::support_pairs(self->set(), head); })
      .def("pruning_ratio", [](const SupportPtr& self) { return self->set().pruning_ratio(); });

  m.def(
      "attention(Tensor q, Tensor k, Tensor v, int wmin, int wmax, bool modified=False, int cls=1, bool causal=False, "
      "int? layer=None, str masking=\"exclude\", float? scale=None) -> Tensor");
  m.def("support_attention(Tensor q, Tensor k, Tensor v, " + call_arguments + ") -> (Tensor out, Tensor lse)");
  m.def("support_attention_packed(Tensor qkv, " + call_arguments + ") -> (Tensor out, Tensor lse)");
  m.def("support_attention_backward(Tensor grad_out, Tensor q, Tensor k, Tensor v, Tensor out, Tensor lse, " +
        call_arguments + ", bool bias_grad=False) -> (Tensor dq, Tensor dk, Tensor dv, Tensor dbias)");
  m.def("support_attention_packed_backward(Tensor grad_out, Tensor qkv, Tensor out, Tensor lse, " + call_arguments +
        ", bool bias_grad=False) -> (Tensor dqkv, Tensor dbias)");
}
