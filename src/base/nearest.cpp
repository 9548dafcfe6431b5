// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.h"

#include <algorithm>

#include "base/text.h"

namespace fib {

size_t edit_distance(std::string_view a, std::string_view b) {
  const size_t width = b.size() + 1;
  std::vector<size_t> table((a.size() + 1) * width);
  const auto at = [&](size_t i, size_t j) -> size_t& { return table[i * width + j]; };
  for (size_t i = 0; i <= a.size(); ++i) at(i, 0) = i;
  for (size_t j = 0; j <= b.size(); ++j) at(0, j) = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = at(i - 1, j - 1) + (a[i - 1] == b[j - 1] ? 0 : 1);
      at(i, j) = std::min({substituted, at(i - 1, j) + 1, at(i, j - 1) + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
    }
  }
  return table.back();
}

namespace {

/// The shortest candidate that begins with the word, or the longest that the word begins with: "vit_tiny" for
/// "vit_tiny_patch16_224", "evaluate" for "eval".
std::optional<std::string> begun(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr size_t kShortest = 3;  // of less too much begins alike
  std::optional<std::string> longer, shorter;
  for (const std::string& c : candidates) {
    if (word.size() >= kShortest && c.starts_with(word) && (!longer || c.size() < longer->size())) longer = c;
    if (c.size() > kShortest && word.starts_with(c) && (!shorter || c.size() > shorter->size())) shorter = c;
  }
  return longer ? longer : shorter;
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::optional<std::string> best = begun(word, candidates);
  if (best) return best;
  size_t fewest = 0;
  for (const std::string& c : candidates) {
    // More edits than half of the letters make a different word, not a slip; lengths alone can tell.
    const size_t longer = std::max(word.size(), c.size()), shorter = std::min(word.size(), c.size());
    if (2 * (longer - shorter) > longer) continue;
    const size_t edits = edit_distance(word, c);
    if (2 * edits > longer) continue;
    if (!best || edits < fewest) {
      best = c;
      fewest = edits;
    }
  }
  return best;
}

std::string unknown_name(std::string_view kind, std::string_view word, const std::vector<std::string>& candidates) {
  std::string line = "unknown " + std::string(kind) + " " + in_quotes(word);
  if (const auto guess = nearest(word, candidates)) line += ", did you mean '" + *guess + "'?";
  if (candidates.empty()) return line;
  line += line.back() == '?' ? " Known: " : "; known: ";
  return line + joined(candidates);
}

}  // namespace fib
