// SPDX-License-Identifier: Apache-2.0
#include "report/page/inline_plot.h"

#include <fmt/format.h>

#include "report/markup.h"

namespace fib::report {
namespace {

void replace_all(std::string& text, const std::string& what, const std::string& with) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
}

/// As gnuplot writes #0072B2: rgb(  0, 114, 178).
std::string rgb_text(const std::string& hex) {
  const auto part = [&](size_t at) { return std::stoi(hex.substr(at, 2), nullptr, 16); };
  return fmt::format("rgb({:3}, {:3}, {:3})", part(1), part(3), part(5));
}

/// Black becomes the page's colour of text, colours of series become the theme's.
void use_theme(std::string& svg) {
  constexpr size_t kSeries = 7;  // the eighth is black
  for (const char* quote : {"'", "\""})
    replace_all(svg, fmt::format("{0}black{0}", quote), fmt::format("{0}currentColor{0}", quote));
  for (size_t s = 0; s < kSeries; ++s) replace_all(svg, rgb_text(series_colour(s)), fmt::format("var(--series-{})", s));
  replace_all(svg, rgb_text("#bbbbbb"), "var(--grid)");
  replace_all(svg, rgb_text("#dddddd"), "var(--grid)");
}

void make_names_unique(std::string& svg, const std::string& id) {
  for (const char* name : {"gpDot", "gpPt", "textbox", "greybox", "gnuplot_"}) {
    for (const char* before : {"id='", "id=\"", "href='#", "url(#"})
      replace_all(svg, before + std::string(name), before + id + name);
  }
}

}  // namespace

std::string themed_svg(std::string svg, const PlotOnPage& plot) {
  const size_t begin = svg.find("<svg"), view = svg.find("viewBox", begin), end = svg.find('>', begin);
  const std::string box = svg.substr(view, svg.find('"', view + 9) + 1 - view);
  const size_t body = svg.find("</desc>", end);
  svg = fmt::format("<svg {} role=\"img\" aria-label=\"{}\" xmlns:xlink=\"http://www.w3.org/1999/xlink\">", box,
                    escaped_markup(plot.alt)) +
        svg.substr(body == std::string::npos ? end + 1 : body + 7);
  use_theme(svg);
  make_names_unique(svg, plot.id);
  return svg;
}

std::string inline_plot(const std::string& script, PlotSize size, const PlotOnPage& plot) {
  return fmt::format("<figure class=\"plot\" style=\"max-width:{}px\">{}</figure>\n", size.width,
                     themed_svg(gnuplot_svg(script, size), plot));
}

}  // namespace fib::report
