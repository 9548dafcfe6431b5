// SPDX-License-Identifier: Apache-2.0
// All heads of a support set as small multiples: queries down, keys across.
#pragma once

#include <string>

#include "fibottention/pattern.h"
#include "report/drawing.h"

namespace fib::report {

Drawing draw_pattern(const std::string& name, const SupportSet& support);

}  // namespace fib::report
