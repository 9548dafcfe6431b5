// SPDX-License-Identifier: Apache-2.0
#include "attention/equal_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "attention/registry.h"
#include "base/text.h"

namespace fib::attention {
namespace {

/// Shares of 1, such as the ratio of `random`, are written with a point.
bool is_share(const PatternOption& option) { return option.default_text.starts_with("0."); }

/// The shortest share of N x N pairs that leaves `kept` of them.
std::string share_text(int64_t kept, int64_t tokens) {
  const double all = static_cast<double>(tokens) * static_cast<double>(tokens);
  const double share = 1.0 - static_cast<double>(kept) / all;
  for (int digits = 1; digits < 17; ++digits) {
    std::string text = fmt::format("{:.{}f}", share, digits);
    if (std::round((1.0 - std::stod(text)) * all) == static_cast<double>(kept)) return text;
  }
  return fmt::format("{}", share);
}

/// The settings of one option in the order of a whole number: its value, or of a share the pairs that are left.
class Settings {
 public:
  Settings(const AttentionSpec& spec, const PatternOption& option, int64_t tokens, const PairCount& count)
      : spec_(spec), option_(option), tokens_(tokens), count_(count) {}

  AttentionSpec at(int64_t x) const {
    AttentionSpec spec = spec_;
    spec.options.emplace_back(option_.key, is_share(option_) ? share_text(x, tokens_) : std::to_string(x));
    return spec;
  }
  int64_t pairs(int64_t x) const { return count_(at(x)); }
  /// None where the mechanism refuses it, as BigBird refuses more random pairs than there are.
  std::optional<int64_t> accepted_pairs(int64_t x) const {
    try {
      return pairs(x);
    } catch (const std::invalid_argument&) {
      return std::nullopt;
    }
  }

 private:
  const AttentionSpec& spec_;
  const PatternOption& option_;
  int64_t tokens_;
  const PairCount& count_;
};

/// The smallest x from `first` to `last` at which `reached` holds, which then holds for all larger ones; last + 1 where
/// it never does. Steps double first: a support of many pairs takes long to make.
template <class Reached>
int64_t first_reached(int64_t first, int64_t last, const Reached& reached) {
  int64_t below = first - 1, above = first;
  while (above <= last && !reached(above)) below = std::exchange(above, above > last / 2 ? last + 1 : 2 * above);
  while (above - below > 1) {
    const int64_t middle = below + (above - below) / 2;
    (reached(middle) ? above : below) = middle;
  }
  return above;
}

/// Pairs grow with x, or fall (the stride of the Sparse Transformer). Windows below wmin are refused, too.
int64_t nearest(const Settings& settings, int64_t last, int64_t wanted) {
  const int64_t first = first_reached(1, last, [&](int64_t x) { return settings.accepted_pairs(x).has_value(); });
  if (first > last) return 1;  // which says why
  // Far apart: where wmin is wmax below 5, a larger window first has fewer pairs.
  const auto other = settings.accepted_pairs(std::min(64 * first, last));
  const int64_t sign = other && *other < settings.pairs(first) ? -1 : 1;
  const auto reach = [&](int64_t pairs, int64_t to) {
    return first_reached(first, to, [&](int64_t x) {
      const auto found = settings.accepted_pairs(x);
      return !found || sign * *found >= sign * pairs;
    });
  };
  const int64_t above = reach(wanted, last);
  if (above == first) return first;
  const int64_t under = settings.pairs(above - 1);
  const auto over = above <= last ? settings.accepted_pairs(above) : std::nullopt;
  if (over && std::pair(std::abs(*over - wanted), *over) < std::pair(std::abs(under - wanted), under)) return above;
  return reach(under, above - 1);
}

}  // namespace

const PatternOption* pairs_option(const AttentionSpec& spec) {
  const auto& options = find_mechanism(spec.name).options;
  const auto found = std::ranges::find_if(options, &PatternOption::sets_pairs);
  return found == options.end() ? nullptr : &*found;
}

bool leaves_pairs_open(const AttentionSpec& spec) {
  const PatternOption* option = pairs_option(spec);
  return option != nullptr && std::ranges::none_of(spec.options, [&](const auto& o) { return o.first == option->key; });
}

EqualPairs with_equal_pairs(const AttentionSpec& spec, const AttentionSpec& target, int64_t tokens,
                            const PairCount& count) {
  const PatternOption* option = pairs_option(spec);
  if (option == nullptr)
    throw std::invalid_argument("pairs cannot be matched: " + spec.name + " has no option that sets how many it has");
  if (!leaves_pairs_open(spec))
    throw std::invalid_argument("pairs are matched by setting " + option->key + " of " + spec.name + ", which " +
                                in_quotes(spec.to_string()) + " sets itself: leave one of the two out");
  const int64_t wanted = count(target);
  const Settings settings(spec, *option, tokens, count);
  const AttentionSpec found = settings.at(nearest(settings, tokens * tokens, wanted));
  return {found, count(found), wanted};
}

int64_t patch_pairs(const AttentionSpec& spec, const PatternGeometry& g) {
  if (find_mechanism(spec.name).support_set) return make_support(pattern_spec(spec), g).patch_pairs();
  Geometry geometry;
  geometry.heads = g.heads;
  geometry.cls = g.cls;
  geometry.query_grid = geometry.key_grid = {1, g.patches};
  return cost(spec, geometry).patch_pairs;
}

}  // namespace fib::attention
