// SPDX-License-Identifier: Apache-2.0
#include "patterns/measured_offsets.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <sstream>
#include <stdexcept>

#include "base/read_file.h"
#include "base/text.h"

namespace fib {
namespace {

constexpr size_t kMaxBytes = 16 << 20;
constexpr int64_t kMaxLayers = 4096;
constexpr const char* kTitle = "fibottention-offsets";

/// Runs name such files, so a pipe is not waited for.
std::string text_of(const std::filesystem::path& file) {
  if (std::filesystem::exists(file) && !std::filesystem::is_regular_file(file))
    throw std::runtime_error("cannot read '" + printable(file.string(), kLongestQuote) + "': it is no regular file");
  return read_file(file, kMaxBytes);
}

/// Lines of a file, with the number of the one that was read last.
class Lines {
 public:
  explicit Lines(const std::filesystem::path& file) : file_(file), text_(text_of(file)) {}

  bool next(std::vector<std::string>& words) {
    std::string line;
    if (!std::getline(text_, line)) return false;
    ++number_;
    std::istringstream parts(line);
    words.clear();
    for (std::string word; parts >> word;) words.push_back(word);
    return true;
  }
  [[noreturn]] void refuse(const std::string& reason) const {
    throw std::runtime_error("'" + printable(file_.string(), kLongestQuote) + "' line " + std::to_string(number_) +
                             ": " + reason);
  }

 private:
  std::filesystem::path file_;
  std::istringstream text_;
  int64_t number_ = 0;
};

int64_t number_in(const Lines& lines, const std::string& word, int64_t least, int64_t most) {
  const auto number = parse_number<int64_t>(word);
  if (!number || *number < least || *number > most)
    lines.refuse("expected an integer from " + std::to_string(least) + " to " + std::to_string(most) + ", got " +
                 in_quotes(word));
  return *number;
}

Distances distances_in(const Lines& lines, const std::vector<std::string>& words, int64_t patches) {
  Distances distances;
  for (size_t i = 2; i < words.size(); ++i)
    distances.push_back(number_in(lines, words[i], distances.empty() ? 0 : distances.back() + 1, patches - 1));
  return distances;
}

/// Not one that names a file in turn.
std::string attention_in(const Lines& lines, const std::string& text) {
  if (AttentionSpec::parse(text).name == "offsets") lines.refuse("expected another attention than " + in_quotes(text));
  return text;
}

/// "fibottention-offsets 1 PATCHES LAYERS HEADS"
MeasuredOffsets read_title(Lines& lines) {
  std::vector<std::string> words;
  if (!lines.next(words) || words.size() != 5 || words[0] != kTitle || words[1] != "1")
    lines.refuse("expected 'fibottention-offsets 1 PATCHES LAYERS HEADS', as fib fit writes it");
  MeasuredOffsets offsets{
      number_in(lines, words[2], 1, kMaxTokens), static_cast<size_t>(number_in(lines, words[4], 1, kMaxLayers)), {}};
  offsets.layers.resize(static_cast<size_t>(number_in(lines, words[3], 1, kMaxLayers)));
  return offsets;
}

std::vector<Distances> first_rows(size_t rows, int64_t patches, int64_t pairs) {
  std::vector<Distances> all;
  for (size_t i = 1; i <= rows; ++i) {
    const SequenceStart start = wythoff_row(static_cast<int64_t>(i));
    Distances row;
    int64_t used = 0;
    for (const int64_t element : fibonacci_elements(start, patches - 1)) {
      used += pairs_at_distance(element, patches);
      if (used > pairs) break;
      row.push_back(element);
    }
    all.push_back(std::move(row));
  }
  return all;
}

}  // namespace

std::string to_text(const MeasuredOffsets& offsets) {
  std::ostringstream text;
  text << kTitle << " 1 " << offsets.patches << ' ' << offsets.layers.size() << ' ' << offsets.heads << '\n';
  for (size_t i = 0; i < offsets.layers.size(); ++i) {
    const MeasuredOffsets::Layer& layer = offsets.layers[i];
    if (!layer.attention.empty()) text << i << " as " << layer.attention << '\n';
    for (size_t head = 0; head < layer.heads.size(); ++head) {
      text << i << ' ' << head;
      for (const int64_t distance : layer.heads[head]) text << ' ' << distance;
      text << '\n';
    }
  }
  return text.str();
}

MeasuredOffsets read_measured_offsets(const std::filesystem::path& file) {
  Lines lines(file);
  MeasuredOffsets offsets = read_title(lines);
  std::vector<std::string> words;
  for (size_t i = 0; i < offsets.layers.size(); ++i) {
    MeasuredOffsets::Layer& layer = offsets.layers[i];
    while (layer.attention.empty() && layer.heads.size() < offsets.heads) {
      const std::vector<std::string> place = {std::to_string(i), std::to_string(layer.heads.size())};
      if (!lines.next(words)) words.clear();
      if (words.size() == 3 && words[0] == place[0] && words[1] == "as" && layer.heads.empty()) {
        layer.attention = attention_in(lines, words[2]);
      } else if (words.size() >= 2 && std::equal(place.begin(), place.end(), words.begin())) {
        layer.heads.push_back(distances_in(lines, words, offsets.patches));
      } else {
        lines.refuse("expected the distances of layer " + place[0] + ", head " + place[1]);
      }
    }
  }
  if (lines.next(words)) lines.refuse("expected no more");
  return offsets;
}

AttentionSpec in_layer(const AttentionSpec& attention, int64_t layer) {
  if (attention.name != "offsets") return attention;
  for (const auto& [key, file] : attention.options) {
    if (key != "file" || file == "none") continue;
    const MeasuredOffsets measured = read_measured_offsets(file);
    const auto i = static_cast<size_t>(layer);
    if (i < measured.layers.size() && !measured.layers[i].attention.empty())
      return AttentionSpec::parse(measured.layers[i].attention);
  }
  return attention;
}

int64_t pairs_at_distance(int64_t distance, int64_t patches) {
  return distance == 0 ? patches : 2 * std::max<int64_t>(0, patches - distance);
}

int64_t pairs_of(const Distances& distances, int64_t patches) {
  int64_t sum = 0;
  for (const int64_t d : distances) sum += pairs_at_distance(d, patches);
  return sum;
}

double kept(std::span<const double> attention, const Distances& distances) {
  double sum = 0;
  for (const int64_t d : distances) sum += attention[static_cast<size_t>(d)];
  return sum;
}

Distances free_offsets(std::span<const double> attention, int64_t pairs) {
  const auto patches = static_cast<int64_t>(attention.size());
  std::vector<int64_t> order(attention.size());
  std::iota(order.begin(), order.end(), 0);
  const auto density = [&](int64_t d) {
    return attention[static_cast<size_t>(d)] / static_cast<double>(pairs_at_distance(d, patches));
  };
  std::stable_sort(order.begin(), order.end(), [&](int64_t x, int64_t y) { return density(x) > density(y); });
  Distances chosen;
  for (int64_t left = pairs; const int64_t d : order) {
    if (pairs_at_distance(d, patches) > left) continue;
    left -= pairs_at_distance(d, patches);
    chosen.push_back(d);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

Distances window_offsets(std::span<const double> attention, int64_t pairs) {
  const auto patches = static_cast<int64_t>(attention.size());
  Distances chosen;
  for (int64_t d = 0, left = pairs; d < patches && (left -= pairs_at_distance(d, patches)) >= 0; ++d)
    chosen.push_back(d);
  return chosen;
}

std::vector<Distances> array_offsets(std::span<const std::vector<double>> heads, int64_t pairs) {
  const auto rows = first_rows(heads.size(), static_cast<int64_t>(heads.front().size()), pairs);
  std::vector<std::vector<double>> value;
  for (const std::vector<double>& attention : heads) {
    value.emplace_back();
    for (const Distances& row : rows) value.back().push_back(kept(attention, row));
  }
  std::vector<Distances> result;
  for (const size_t row : best_assignment(value)) result.push_back(rows[row]);
  return result;
}

/// Shortest augmenting paths on reduced costs (Jonker and Volgenant), workers joined one after another: O(n³).
std::vector<size_t> best_assignment(const std::vector<std::vector<double>>& value) {
  const size_t n = value.size(), none = n;
  for (const std::vector<double>& row : value)  // what is no number is never nearest, and no path would end
    if (!std::all_of(row.begin(), row.end(), [](double v) { return std::isfinite(v); }))
      throw std::invalid_argument("values to assign by must be finite numbers");
  std::vector<double> of_worker(n + 1, 0), of_job(n + 1, 0);  // dual variables; index n: the root of a path
  std::vector<size_t> worker_at(n + 1, none);
  for (size_t joining = 0; joining < n; ++joining) {
    std::vector<double> distance(n + 1, std::numeric_limits<double>::infinity());
    std::vector<size_t> before(n + 1, none);
    std::vector<bool> done(n + 1, false);
    size_t job = n;
    worker_at[n] = joining;
    do {
      done[job] = true;
      const size_t worker = worker_at[job];
      size_t nearest = none;
      double step = std::numeric_limits<double>::infinity();
      for (size_t j = 0; j < n; ++j) {
        if (done[j]) continue;
        const double reduced = -value[worker][j] - of_worker[worker] - of_job[j];
        if (reduced < distance[j]) {
          distance[j] = reduced;
          before[j] = job;
        }
        if (distance[j] < step) {
          step = distance[j];
          nearest = j;
        }
      }
      for (size_t j = 0; j <= n; ++j) {
        if (done[j]) {
          of_worker[worker_at[j]] += step;
          of_job[j] -= step;
        } else {
          distance[j] -= step;
        }
      }
      job = nearest;
    } while (worker_at[job] != none);
    for (; job != n; job = before[job]) worker_at[job] = worker_at[before[job]];
  }
  std::vector<size_t> job_of(n);
  for (size_t j = 0; j < n; ++j) job_of[worker_at[j]] = j;
  return job_of;
}

}  // namespace fib
