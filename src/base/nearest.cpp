// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace fib {

size_t edit_distance(std::string_view a, std::string_view b) {
  // One row of the Levenshtein table: row[j] is the distance of a's prefix so far to b's first j bytes.
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::optional<std::string> best;
  size_t fewest = 0;
  for (const std::string& c : candidates) {
    const size_t edits = edit_distance(word, c);
    // More edits than two thirds of the letters is a different word, not a slip.
    if (3 * edits > 2 * std::max(word.size(), c.size())) continue;
    if (!best || edits < fewest) {
      best = c;
      fewest = edits;
    }
  }
  return best;
}

std::string unknown_name(std::string_view kind, std::string_view word, const std::vector<std::string>& candidates) {
  std::string line = "unknown " + std::string(kind) + " '" + std::string(word) + "'";
  if (const auto guess = nearest(word, candidates)) line += ", did you mean '" + *guess + "'?";
  if (candidates.empty()) return line;
  line += line.back() == '?' ? " Known: " : "; known: ";
  for (size_t i = 0; i < candidates.size(); ++i) line += (i ? ", " : "") + candidates[i];
  return line;
}

}  // namespace fib
