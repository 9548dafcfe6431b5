// SPDX-License-Identifier: Apache-2.0
// The colors of plots, and what they are called in a page's style sheet, where they change in the dark.
#pragma once

#include <cstddef>
#include <string>

#include "report/drawing.h"

namespace fib::report {

inline constexpr Color kPlotText{29, 36, 51}, kPlotMuted{86, 96, 114}, kPlotGrid{213, 219, 230};
/// Of masks: captions, frame, ground, and pairs by an offset, of a class token and of a list.
inline constexpr Color kMaskCaption{91, 101, 119}, kMaskFrame{201, 209, 222}, kMaskGround{246, 248, 251},
    kMaskOffset{31, 78, 156}, kMaskClass{240, 160, 48}, kMaskListed{200, 30, 90};

/// The color of the i-th thing shown: Okabe and Ito's, which stay apart for color-blind readers; gray first, for what
/// others are compared with.
Color series_color(size_t i);

/// "var(--series-2)", "currentColor"; a color that is not of the palette as "#rrggbb".
std::string themed_color(Color color);
/// "#rrggbb".
std::string hex_color(Color color);

}  // namespace fib::report
