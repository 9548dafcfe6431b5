// SPDX-License-Identifier: Apache-2.0
#include "models/token_reduction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/nearest.h"
#include "base/text.h"

namespace fib::models {
namespace {

using Option = std::pair<std::string, std::vector<std::string>>;

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw std::invalid_argument(
      fmt::format("tokens {}: {}; accepted are tome:r=N and evit:keep=SHARE,at=BLOCK,BLOCK,…, both with "
                  "distance=compact or original",
                  in_quotes(text), why));
}

/// "keep=0.7,at=3,6,9": a word without '=' is a further value of the option before it.
std::vector<Option> parse_options(const std::string& list, const std::string& text) {
  std::vector<Option> options;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t comma = std::min(list.find(',', begin), list.size());
    const std::string word = list.substr(begin, comma - begin);
    const size_t equals = word.find('=');
    if (equals != std::string::npos) {
      options.push_back({word.substr(0, equals), {word.substr(equals + 1)}});
    } else if (options.empty()) {
      refuse(text, fmt::format("{} is no option", in_quotes(word)));
    } else {
      options.back().second.push_back(word);
    }
    begin = comma + 1;
  }
  return options;
}

class OptionReader {
 public:
  OptionReader(const Option& option, const std::string& text) : option_(option), text_(text) {}

  bool is(const char* key) const { return option_.first == key; }
  std::vector<int64_t> integers() const {
    std::vector<int64_t> list;
    for (const std::string& word : option_.second) {
      const auto number = parse_number<int64_t>(word);
      if (!number || *number < 0 || *number > kMost) refuse_value(word, fmt::format("integers from 0 to {}", kMost));
      list.push_back(*number);
    }
    return list;
  }
  int64_t integer() const {
    const std::vector<int64_t> list = integers();
    if (list.size() != 1) refuse_value(fmt::format("{}", fmt::join(option_.second, ",")), "one integer");
    return list.front();
  }
  double share() const {
    const auto number = parse_number<double>(one());
    if (!number || !(*number > 0 && *number <= 1)) refuse_value(one(), "a share above 0, at most 1");
    return *number;
  }
  TokenReduction::Distance distance() const {
    if (one() == "compact") return TokenReduction::Distance::compact;
    if (one() == "original") return TokenReduction::Distance::original;
    refuse_value(one(), "compact or original");
  }

 private:
  static constexpr int64_t kMost = 1 << 20;  // more than any model has

  std::string one() const { return fmt::format("{}", fmt::join(option_.second, ",")); }
  [[noreturn]] void refuse_value(const std::string& word, const std::string& accepted) const {
    refuse(text_, fmt::format("{} is {}, which must be {}", option_.first, in_quotes(word), accepted));
  }

  const Option& option_;
  const std::string& text_;
};

TokenReduction::Method method_of(const std::string& name, const std::string& text) {
  if (name == "tome") return TokenReduction::Method::tome;
  if (name == "evit") return TokenReduction::Method::evit;
  refuse(text, fmt::format("unknown method {}", in_quotes(name)));
}

void set_option(TokenReduction& reduction, const Option& option, const std::string& text) {
  const OptionReader value(option, text);
  const bool merges = reduction.method == TokenReduction::Method::tome;
  if (value.is("distance")) {
    reduction.distance = value.distance();
  } else if (merges && value.is("r")) {
    reduction.merged = value.integer();
  } else if (!merges && value.is("keep")) {
    reduction.keep = value.share();
  } else if (!merges && value.is("at")) {
    reduction.at = value.integers();
  } else {
    refuse(text, fmt::format("unknown option {}", in_quotes(option.first)));
  }
}

void refuse_repeats(const std::vector<Option>& options, const std::string& text) {
  for (size_t i = 0; i < options.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (options[i].first == options[j].first) refuse(text, fmt::format("{} is given twice", options[i].first));
    }
  }
}

}  // namespace

TokenReduction TokenReduction::parse(const std::string& text) {
  TokenReduction reduction;
  if (text.empty()) return reduction;
  const size_t colon = text.find(':');
  reduction.method = method_of(text.substr(0, colon), text);
  if (colon == std::string::npos) return reduction;
  const std::vector<Option> options = parse_options(text.substr(colon + 1), text);
  refuse_repeats(options, text);
  for (const Option& option : options) set_option(reduction, option, text);
  std::ranges::sort(reduction.at);
  if (std::ranges::adjacent_find(reduction.at) != reduction.at.end()) refuse(text, "a block stands in 'at' twice");
  return reduction;
}

std::string TokenReduction::to_string() const {
  if (method == Method::none) return "";
  const char* how = distance == Distance::compact ? "compact" : "original";
  if (method == Method::tome) return fmt::format("tome:r={},distance={}", merged, how);
  return fmt::format("evit:keep={},at={},distance={}", keep, fmt::join(at, ","), how);
}

std::vector<int64_t> TokenReduction::tokens_by_block(int64_t tokens, int64_t class_tokens, int64_t blocks) const {
  if (method == Method::evit && !at.empty() && at.back() >= blocks)
    refuse(to_string(), fmt::format("the model has blocks 0 to {}, not {}", blocks - 1, at.back()));
  std::vector<int64_t> counts{tokens};
  for (int64_t block = 0; block < blocks; ++block) {
    int64_t left = counts.back();
    if (method == Method::tome) {
      if (merged > (left - class_tokens) / 2)
        refuse(to_string(),
               fmt::format("block {} has {} tokens, of which {} pairs cannot be merged", block, left, merged));
      left -= merged;
    } else if (method == Method::evit && std::ranges::binary_search(at, block)) {
      const auto kept = static_cast<int64_t>(std::ceil(keep * static_cast<double>(left - class_tokens)));
      left = std::min(left, class_tokens + kept + 1);  // the others are one token
    }
    counts.push_back(left);
  }
  return counts;
}

}  // namespace fib::models
