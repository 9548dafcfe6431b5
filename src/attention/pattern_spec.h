// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fibottention/pattern.h"

namespace fib::attention {

/// The same mechanism as the registry of patterns knows it, checked and without `masking`: what is outside a support is
/// not its business.
AttentionSpec pattern_spec(const AttentionSpec& spec);

}  // namespace fib::attention
