// SPDX-License-Identifier: Apache-2.0
// An axis of a plot: which values it shows, where they stand, and which of them are written beside it.
#pragma once

#include <string>
#include <vector>

namespace fib::report {

struct AxisOptions {
  bool from_zero = false;
  bool whole = false;              ///< only whole numbers are written: epochs, layers, severities
  bool log = false;                ///< for values above 0; others are not shown
  std::vector<double> ticks = {};  ///< these and no others, where there are few
};

struct Tick {
  double value = 0;
  std::string text;
};

class Axis {
 public:
  /// Holds all finite `values`, with a little room around them where nothing else says where it begins and ends.
  Axis(const std::vector<double>& values, const AxisOptions& options);

  /// 0 at the beginning, 1 at the end; NaN for what cannot be shown.
  double place(double value) const;
  const std::vector<Tick>& ticks() const { return ticks_; }

 private:
  void choose_linear(double least, double most, const AxisOptions& options);
  void choose_log(double least, double most);

  bool log_;
  double begin_ = 0, end_ = 1;  ///< logarithms on a logarithmic axis
  std::vector<Tick> ticks_;
};

}  // namespace fib::report
