// SPDX-License-Identifier: Apache-2.0
// Which targets are compiled; to be included before any of Highway's headers.
#pragma once

// SSSE3 without SSE4 is found on no processor that still computes; the baseline, one lane at a time, serves it.
#define HWY_DISABLED_TARGETS HWY_SSSE3
