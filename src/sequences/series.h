// SPDX-License-Identifier: Apache-2.0
// Multivariate time series: a table of numbers from a CSV file, its parts, and windows of it.
//
// Letters: R rows (steps in time), C columns.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace fib::sequences {

struct Series {
  std::vector<std::string> columns;
  std::vector<float> values;       ///< [R,C]
  std::vector<int64_t> times;      ///< [R], seconds since 1970, ascending; empty where the file has no dates
  std::vector<std::string> dates;  ///< [R], as written; empty likewise

  int64_t rows() const { return static_cast<int64_t>(values.size() / columns.size()); }
  int64_t width() const { return static_cast<int64_t>(columns.size()); }
};

/// Fields divided by commas, below a line of names; a first column called date, time or timestamp holds dates as
/// 2016-07-01 or 2016-07-01 13:45:00. Throws std::runtime_error with one line that names file, line and column for a
/// hole, for text where a number belongs, for a line with more or fewer fields and for dates that do not ascend.
Series read_series(const std::filesystem::path& file);
/// The same of a text; `name` is for messages.
Series parse_series(std::string_view text, const std::string& name);

/// Rows [begin, end), of which forecasts are made; what they look back at may lie before.
struct SeriesPart {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

enum class SeriesSplit { shares, months };

struct SeriesOptions {
  SeriesSplit split = SeriesSplit::shares;
  double test_share = 0.2;        ///< the end of the series
  double validation_share = 0.1;  ///< of what is before it, its end
  int64_t look_back = 336, horizon = 96;
};

/// Patches of a look-back; the last of them ends where it ends.
struct Patching {
  int64_t look_back = 336, length = 16, stride = 8;

  int64_t count() const { return (look_back - length) / stride + 1; }
};

/// series:FILE.csv?look_back=N&horizon=N&patch=N&stride=N&test=SHARE&split=months, each option where it is wanted.
struct SeriesSource {
  std::filesystem::path file;
  SeriesOptions options;  ///< but for validation_share
  Patching patching;
};
/// Throws std::invalid_argument with one line for anything else, and for patches longer than the look-back.
SeriesSource series_source(const std::string& data);

struct SeriesParts {
  SeriesPart train, validation, test;
};

/// months: 12 of 30 days to train on, 4 to choose by, 4 to test on, as the ETT series are divided; the rest is not
/// used. Throws std::invalid_argument for a series that is too short for its windows or has no dates to tell months by.
SeriesParts divided(const Series& series, const SeriesOptions& options);

/// Windows whose forecast lies in the part and whose look-back lies in the series: their first forecast rows are
/// first, …, first + count - 1.
struct SeriesWindows {
  int64_t first = 0, count = 0;
};
SeriesWindows windows_of(const SeriesPart& part, const SeriesOptions& options);

/// Mean and deviation of each column over some rows; a column that never changes has deviation 1.
struct Scale {
  std::vector<double> mean, deviation;

  static Scale of(const Series& series, const SeriesPart& part);
  /// (x - mean) / deviation of all rows, [R,C].
  std::vector<float> scaled(const Series& series) const;
};

}  // namespace fib::sequences
