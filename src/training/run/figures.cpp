// SPDX-License-Identifier: Apache-2.0
#include "training/run/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace fib::training {

FigureStyle figure_style(std::string_view name) {
  struct Row {
    std::string_view name;
    FigureStyle style;
  };
  static const std::vector<Row> rows = {
      {"agreement", {"agreement", true}},     {"top1", {"top-1", true}},
      {"top5", {"top-5", true, false}},       {"score", {"score"}},
      {"loss", {"loss", false, true, false}},
  };
  const auto found = std::ranges::find(rows, name, &Row::name);
  return found != rows.end() ? found->style : FigureStyle{std::string(name)};
}

std::string figure_text(const Figure& figure) {
  return figure_style(figure.name).percent ? fmt::format("{:.2f} %", 100 * figure.value)
                                           : fmt::format("{:.4f}", figure.value);
}

double Evaluation::value(std::string_view name) const {
  const auto found = std::ranges::find(figures, name, &Figure::name);
  if (found == figures.end()) throw std::out_of_range(fmt::format("the evaluation has no figure '{}'", name));
  return found->value;
}

}  // namespace fib::training
