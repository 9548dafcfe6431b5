// SPDX-License-Identifier: Apache-2.0
// gnuplot's SVG as a part of a page: colours follow the page's theme, names do not clash with those of other plots.
#pragma once

#include <string>

#include "report/gnuplot.h"

namespace fib::report {

struct PlotOnPage {
  std::string id;   ///< unique on the page, letters and digits
  std::string alt;  ///< what it shows, for those who do not see it
};

/// A <figure> with the plot. Throws as gnuplot_svg does.
std::string inline_plot(const std::string& script, PlotSize size, const PlotOnPage& plot);

/// gnuplot's text made fit for a page; apart from inline_plot for tests.
std::string themed_svg(std::string svg, const PlotOnPage& plot);

}  // namespace fib::report
