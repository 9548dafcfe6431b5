// SPDX-License-Identifier: Apache-2.0
#include "sequences/series.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "base/read_file.h"
#include "base/text.h"
#include "sequences/source.h"

namespace fib::sequences {
namespace {

constexpr size_t kMostSeriesBytes = size_t{1} << 31;
/// Squares of larger ones, summed over a window, leave the range of float32.
constexpr double kLargestValue = 1e15;
constexpr int64_t kDay = 86400;
constexpr int64_t kMonth = 30 * kDay;

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (size_t begin = 0;;) {
    const size_t comma = line.find(',', begin);
    fields.push_back(line.substr(begin, comma - begin));
    if (comma == std::string_view::npos) return fields;
    begin = comma + 1;
  }
}

bool is_date_column(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower == "date" || lower == "time" || lower == "timestamp" || lower == "datetime";
}

/// "2016-07-01", "2016-07-01 13:45" or "2016-07-01T13:45:00" as seconds since 1970.
std::optional<int64_t> parse_date(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:dd";
  if (text.size() != 10 && text.size() != 16 && text.size() != 19) return std::nullopt;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    const bool fits = kForm[i] == 'd' ? digit : text[i] == kForm[i] || (kForm[i] == 'T' && text[i] == ' ');
    if (!fits) return std::nullopt;
  }
  const auto number = [&](size_t at, size_t digits) {
    return at < text.size() ? parse_number<int>(text.substr(at, digits)).value_or(0) : 0;
  };
  const std::chrono::year_month_day day{std::chrono::year(number(0, 4)),
                                        std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                        std::chrono::day(static_cast<unsigned>(number(8, 2)))};
  const int hours = number(11, 2), minutes = number(14, 2), seconds = number(17, 2);
  if (!day.ok() || hours > 23 || minutes > 59 || seconds > 59) return std::nullopt;
  const int64_t days = std::chrono::sys_days(day).time_since_epoch().count();
  return days * kDay + hours * 3600 + minutes * 60 + seconds;
}

/// A table while it is read, line by line.
class Reader {
 public:
  explicit Reader(std::string name) : name_(std::move(name)) {}

  void header(std::string_view line) {
    ++line_;
    const std::vector<std::string_view> names = fields_of(line);
    const size_t other = line.find_first_of(";\t|");
    if (names.size() == 1 && other != std::string_view::npos)
      refuse(fmt::format("columns are divided by commas, got {}", in_quotes(line.substr(other, 1))));
    dated_ = is_date_column(names.front());
    for (size_t i = dated_ ? 1 : 0; i < names.size(); ++i) {
      if (parse_number<double>(names[i]))
        refuse(fmt::format("the first line names the columns, got {}", in_quotes(line)));
      series_.columns.emplace_back(names[i]);
    }
    if (series_.columns.empty()) refuse("there is no column of numbers");
  }

  void row(std::string_view line) {
    ++line_;
    const std::vector<std::string_view> fields = fields_of(line);
    const size_t expected = series_.columns.size() + (dated_ ? 1 : 0);
    if (fields.size() != expected) refuse(fmt::format("{} fields, the first line has {}", fields.size(), expected));
    if (dated_) date(fields.front());
    for (size_t i = 0; i < series_.columns.size(); ++i) number(fields[i + (dated_ ? 1 : 0)], i);
  }

  Series finish() {
    if (series_.values.empty()) throw std::runtime_error(in_quotes(name_) + ": there are no rows");
    return std::move(series_);
  }

 private:
  [[noreturn]] void refuse(const std::string& reason) const {
    throw std::runtime_error(fmt::format("{} line {}: {}", in_quotes(name_), line_, reason));
  }

  void date(std::string_view text) {
    const std::optional<int64_t> time = parse_date(text);
    if (!time) refuse(fmt::format("{} is no date such as 2016-07-01 13:45:00", in_quotes(text)));
    if (!series_.times.empty() && *time <= series_.times.back())
      refuse(fmt::format("the date {} is not after the one before, {}", in_quotes(text), series_.dates.back()));
    series_.times.push_back(*time);
    series_.dates.emplace_back(text);
  }

  void number(std::string_view text, size_t column) {
    const std::string where = "column " + in_quotes(series_.columns[column]);
    if (text.empty()) refuse(where + " is empty: holes are not filled in");
    const auto value = parse_number<double>(text);
    if (!value || !std::isfinite(*value)) refuse(fmt::format("{}: {} is no number", where, in_quotes(text)));
    if (std::abs(*value) > kLargestValue)
      refuse(fmt::format("{}: {} is larger than {:.0e}", where, in_quotes(text), kLargestValue));
    series_.values.push_back(static_cast<float>(*value));
  }

  std::string name_;
  Series series_;
  bool dated_ = false;
  int64_t line_ = 0;
};

int64_t rows_of_month(const Series& series) {
  if (series.times.size() < 2) throw std::invalid_argument("split=months needs a first column of dates, called date");
  const int64_t step = series.times[1] - series.times[0];
  if (step > kMonth) throw std::invalid_argument("split=months needs steps shorter than a month");
  return kMonth / step;
}

void require_windows(const SeriesPart& part, const char* what, const SeriesOptions& options) {
  if (windows_of(part, options).count > 0) return;
  throw std::invalid_argument(
      fmt::format("there are {} rows to {}: a window needs {} to look back at and {} to forecast", part.size(), what,
                  options.look_back, options.horizon));
}

}  // namespace

Series parse_series(std::string_view text, const std::string& name) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  if (text.empty()) throw std::runtime_error(in_quotes(name) + " is empty");
  Reader reader(name);
  for (bool first = true; !text.empty(); first = false) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    first ? reader.header(line) : reader.row(line);
  }
  return reader.finish();
}

Series read_series(const std::filesystem::path& file) {
  return parse_series(read_file(file, kMostSeriesBytes), file.string());
}

SeriesSource series_source(const std::string& data) {
  const Source source(data, "series", {"look_back", "horizon", "patch", "stride", "test", "split"});
  SeriesSource series{.file = source.file(), .options = {}, .patching = {}};
  SeriesOptions& o = series.options;
  Patching& p = series.patching;
  o.look_back = p.look_back = source.integer("look_back", o.look_back, 1);
  o.horizon = source.integer("horizon", o.horizon, 1);
  o.test_share = source.share("test", o.test_share);
  o.split = static_cast<SeriesSplit>(source.choice("split", {"shares", "months"}));
  p.length = source.integer("patch", p.length, 1);
  p.stride = source.integer("stride", p.stride, 1);
  if (p.length > p.look_back)
    throw std::invalid_argument(
        fmt::format("patch {} of series exceeds look_back {}: there is no patch", p.length, p.look_back));
  return series;
}

SeriesWindows windows_of(const SeriesPart& part, const SeriesOptions& options) {
  const int64_t first = std::max(part.begin, options.look_back);
  return {first, std::max<int64_t>(0, part.end - options.horizon + 1 - first)};
}

SeriesParts divided(const Series& series, const SeriesOptions& options) {
  SeriesParts parts;
  if (options.split == SeriesSplit::months) {
    const int64_t month = rows_of_month(series);
    if (series.rows() < 20 * month)
      throw std::invalid_argument(
          fmt::format("split=months needs 20 months of {} rows, got {} rows", month, series.rows()));
    parts = {{0, 12 * month}, {12 * month, 16 * month}, {16 * month, 20 * month}};
  } else {
    const auto part_of = [](double share, int64_t of) { return std::llround(share * static_cast<double>(of)); };
    const int64_t test = series.rows() - part_of(options.test_share, series.rows());
    const int64_t validation = test - part_of(options.validation_share, test);
    parts = {{0, validation}, {validation, test}, {test, series.rows()}};
  }
  require_windows(parts.train, "train on", options);
  if (parts.validation.size() > 0) require_windows(parts.validation, "choose by", options);
  require_windows(parts.test, "test on", options);
  return parts;
}

Scale Scale::of(const Series& series, const SeriesPart& part) {
  const int64_t width = series.width();
  Scale scale{std::vector<double>(static_cast<size_t>(width)), std::vector<double>(static_cast<size_t>(width))};
  const auto rows = static_cast<double>(part.size());
  for (int64_t c = 0; c < width; ++c) {
    const auto value = [&](int64_t r) {
      return static_cast<double>(series.values[static_cast<size_t>(r * width + c)]);
    };
    double sum = 0, squares = 0;
    for (int64_t r = part.begin; r < part.end; ++r) sum += value(r);
    const double mean = sum / rows;
    for (int64_t r = part.begin; r < part.end; ++r) squares += (value(r) - mean) * (value(r) - mean);
    const double deviation = std::sqrt(squares / rows);
    scale.mean[static_cast<size_t>(c)] = mean;
    scale.deviation[static_cast<size_t>(c)] = deviation > 0 ? deviation : 1;
  }
  return scale;
}

std::vector<float> Scale::scaled(const Series& series) const {
  std::vector<float> out(series.values.size());
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t c = i % series.columns.size();
    out[i] = static_cast<float>((static_cast<double>(series.values[i]) - mean[c]) / deviation[c]);
  }
  return out;
}

}  // namespace fib::sequences
