// SPDX-License-Identifier: Apache-2.0
// Which targets are compiled; to be included before any of Highway's headers.
#pragma once

// SSSE3 without SSE4 is found on no processor that still computes; the baseline, one lane at a time, serves it.
// Scalable vectors cannot be members of a struct, as the sums of two strips are; processors with SVE run the NEON
// version.
#define FIB_UNUSED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)

// Under the sanitizers the baseline and AVX2 walk through every line, and compile in half the time.
#ifdef FIB_FEW_TARGETS
#define HWY_DISABLED_TARGETS (FIB_UNUSED_TARGETS | HWY_SSE4 | HWY_AVX3 | HWY_AVX3_DL)
#else
#define HWY_DISABLED_TARGETS FIB_UNUSED_TARGETS
#endif
