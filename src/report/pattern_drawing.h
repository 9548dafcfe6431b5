// SPDX-License-Identifier: Apache-2.0
// All heads of a support set as small multiples: queries down, keys across.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "fibottention/pattern.h"
#include "report/drawing.h"

namespace fib::report {

/// The attention and, since it moves the heads, the layer.
std::string pattern_title(const AttentionSpec& spec, std::optional<int64_t> layer);

/// A file of its own, or a part of a page, with small panels.
enum class PatternSize { file, page };

Drawing draw_pattern(const std::string& name, const SupportSet& support, PatternSize size = PatternSize::file);

}  // namespace fib::report
