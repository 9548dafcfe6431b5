// SPDX-License-Identifier: Apache-2.0
// What this processor is: its caches, and which kernels OpenBLAS should use on it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace fib {

/// A value for OPENBLAS_CORETYPE, which must stand in the environment before the library is loaded: "SKYLAKEX" where
/// there is AVX-512, "HASWELL" where there is AVX2; none elsewhere. OpenBLAS chooses by a table of processor models,
/// and takes the slowest kernels for one that is newer than itself: measured, 70 GFLOP/s instead of 370 on two cores.
std::optional<std::string> openblas_core();

/// Bytes of the caches that a core has for itself.
struct Caches {
  int64_t first, second;
};

/// What this machine tells; 32 KB and 512 KB where it does not.
const Caches& caches();

}  // namespace fib
