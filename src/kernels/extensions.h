// SPDX-License-Identifier: Apache-2.0
// Instructions for products of low precision, which a processor may have beside those of its SIMD target: Highway's
// targets do not tell them apart. docs/targets.md says how to do without them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// Stands before an instruction of ARM's that the compiler's flags do not name. `.arch_extension` would not do: before
/// 2.41 binutils take neither sdot nor smmla for armv8-a, whatever extensions are named.
#if defined(__ARM_FEATURE_MATMUL_INT8) && defined(__ARM_FEATURE_BF16)
#define FIB_ARM_ARCH ""
#elif defined(__ARM_FEATURE_SVE)
#define FIB_ARM_ARCH ".arch armv8.6-a+crypto+sve\n\t"
#else
#define FIB_ARM_ARCH ".arch armv8.6-a+crypto\n\t"
#endif

namespace fib::kernels {

/// Bits of a set.
enum Extension : uint32_t {
  kAvx512Vnni = 1,   ///< four products of bytes added to each of 16 sums
  kAvxVnni = 2,      ///< to each of 8 sums, on processors without AVX-512
  kAvx512Bf16 = 4,   ///< two products of bfloat16 added to each of 16 sums
  kAmxInt8 = 8,      ///< tiles of 16 x 64 bytes
  kAmxBf16 = 16,     ///< tiles of 16 x 32 bfloat16
  kDotProduct = 32,  ///< ARM's products of four signed bytes
  kI8mm = 64,        ///< its products of two rows and two columns of eight
  kBf16Matrix = 128  ///< and of four bfloat16
};

/// Those in use: what the processor and the system grant, less FIB_WITHOUT or without_extensions.
uint32_t extensions();

/// Whether VDPBF16PS is worth its rounding. Zen 4 starts one in every cycle, which doubles what multiply-adds of
/// float32 do; Sapphire Rapids starts one in two cycles, half of what these do.
bool bfloat16_pairs_are_fast();

/// What FIB_WITHOUT accepts, separated by commas; those of `bits`.
std::vector<std::string> extension_names(uint32_t bits = ~0u);

/// Leaves out the named ones instead of those of FIB_WITHOUT, "" none; throws std::invalid_argument for a name that
/// does not exist. For tests, between products.
void without_extensions(const std::string& names);

}  // namespace fib::kernels
