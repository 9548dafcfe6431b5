// SPDX-License-Identifier: Apache-2.0
// Which kernels OpenBLAS should use on this processor.
#pragma once

#include <optional>
#include <string>

namespace fib {

/// A value for OPENBLAS_CORETYPE, which must stand in the environment before the library is loaded: "SKYLAKEX" where
/// there is AVX-512, "HASWELL" where there is AVX2; none elsewhere. OpenBLAS chooses by a table of processor models,
/// and takes the slowest kernels for one that is newer than itself: measured, 70 GFLOP/s instead of 370 on two cores.
std::optional<std::string> openblas_core();

}  // namespace fib
