// SPDX-License-Identifier: Apache-2.0
// The options of one mechanism as a person wrote them. What was not written is read from the default text of the
// mechanism's entry in the registry, by the same reader, so a default stands in one place.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fibottention/pattern.h"

namespace fib {

class OptionValues {
 public:
  /// Throws for an option the mechanism does not have, or one given twice.
  OptionValues(const PatternInfo& info, const AttentionSpec& spec, int64_t tokens);

  bool has(const std::string& key) const;
  /// An integer from `least` to kMaxTokens: digits, N, or N/k (rounded down, at least 1). A default may also be
  /// min(X, KEY): the smaller of such a number and another option.
  int64_t integer(const std::string& key, int64_t least = 1) const;
  /// A number from 0 to 1.
  double ratio(const std::string& key) const;
  /// One of the words that the option takes.
  std::string choice(const std::string& key) const;
  bool flag(const std::string& key) const { return choice(key) == "true"; }
  /// One to three numbers from 1 on, joined by x; empty for the word none.
  std::vector<int64_t> sides(const std::string& key) const;
  /// Options that take words need no geometry to be checked.
  void check_words() const;

  const std::string& mechanism() const { return info_.name; }
  /// Throws, saying what was written and what is accepted.
  [[noreturn]] void refuse(const std::string& key, const std::string& accepted) const;
  /// As it was written, such as the name of a file.
  const std::string& text(const std::string& key) const;

 private:
  /// What a person wrote; null where the default holds.
  const std::string* written(const std::string& key) const;
  const PatternOption& declared(const std::string& key) const;
  std::optional<int64_t> number(const std::string& key) const;

  const PatternInfo& info_;
  const AttentionSpec& spec_;
  int64_t tokens_;
};

}  // namespace fib
