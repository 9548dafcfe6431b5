// SPDX-License-Identifier: Apache-2.0
// Plots are drawn by gnuplot.
#pragma once

#include <string>

namespace fib::report {

/// Whether a plot can be written under this name: .svg or .png. Throws std::invalid_argument otherwise.
void check_plot_name(const std::string& path);

struct PlotSize {
  int width = 1100, height = 480;
};

/// The colour of the i-th thing shown: Okabe and Ito's, which stay apart for colour-blind readers; grey first, for what
/// others are compared with.
const char* series_colour(size_t i);

/// A text as gnuplot reads it, between single quotes.
std::string quoted(const std::string& text);

/// The script's plot as the text of an SVG without a ground. Throws std::runtime_error when gnuplot is missing or
/// complains.
std::string gnuplot_svg(const std::string& script, PlotSize size);

/// Runs the script, which draws into what is already set up: an SVG or PNG that appears whole or not at all. Throws
/// std::runtime_error when gnuplot is missing or complains.
void draw_with_gnuplot(const std::string& script, const std::string& path, PlotSize size = {});

}  // namespace fib::report
