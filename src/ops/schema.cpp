// SPDX-License-Identifier: Apache-2.0
// What torch.ops.fibottention and torch.classes.fibottention hold. Kernels are registered beside their code.
#include <torch/library.h>

#include "ops/support.h"

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
}
