// SPDX-License-Identifier: Apache-2.0
// What an evaluation finds: numbers by name. How each is shown stands here once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fib::training {

struct Metric {
  std::string name;  ///< as in metrics.jsonl and summary.json
  double value = 0;
};

/// How a figure is shown to a person.
struct MetricStyle {
  std::string label;
  bool percent = false;  ///< a share of 1, shown in hundredths
  bool brief = true;     ///< stands in the line of an evaluation
  bool result = true;    ///< stands in the result of a run
};

/// A name that no row knows is shown as it is.
MetricStyle metric_style(std::string_view name);
/// "12.34 %" or "0.1234".
std::string metric_text(const Metric& metric);

/// How a run is judged: by the figure of this name.
struct Score {
  std::string name = "top1";
  bool higher_is_better = true;

  bool better(double value, double than) const { return higher_is_better ? value > than : value < than; }
};

/// The result of one evaluation.
struct Evaluation {
  int64_t samples = 0;
  std::vector<Metric> metrics = {};  ///< in the order in which they are reported
  double seconds = 0;

  /// Throws std::out_of_range for a name that is not there.
  double value(std::string_view name) const;
  double samples_per_second() const { return seconds > 0 ? static_cast<double>(samples) / seconds : 0; }
};

}  // namespace fib::training
