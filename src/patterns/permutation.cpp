// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>

#include "fibottention/pattern.h"

namespace fib {
namespace {

/// Fills the state of std::mt19937 as the generator's reference init_by_array does, which is how CPython seeds it from
/// an integer: 32 bits at a time, least significant first. The standard's own seed_seq mixes differently.
class InitByArray {
 public:
  using result_type = uint32_t;

  explicit InitByArray(uint64_t seed) : key_{static_cast<uint32_t>(seed)} {
    if (seed >> 32) key_.push_back(static_cast<uint32_t>(seed >> 32));
  }

  template <class Iterator>
  void generate(Iterator begin, Iterator end) const {
    std::vector<uint32_t> state = scrambled(static_cast<size_t>(end - begin));
    std::copy(state.begin(), state.end(), begin);
  }

 private:
  static uint32_t folded(const std::vector<uint32_t>& s, size_t i) { return s[i - 1] ^ (s[i - 1] >> 30); }

  static std::vector<uint32_t> linear(size_t n) {
    std::vector<uint32_t> s(n, 19650218u);
    for (size_t i = 1; i < n; ++i) s[i] = 1812433253u * folded(s, i) + static_cast<uint32_t>(i);
    return s;
  }

  /// The index runs over 1 … n-1 in circles, and element 0 shadows the last one.
  static void advance(std::vector<uint32_t>& s, size_t& i) {
    if (++i < s.size()) return;
    s[0] = s.back();
    i = 1;
  }

  std::vector<uint32_t> scrambled(size_t n) const {
    std::vector<uint32_t> s = linear(n);
    size_t i = 1;
    for (size_t k = 0; k < std::max(n, key_.size()); ++k) {
      const size_t j = k % key_.size();
      s[i] = (s[i] ^ (folded(s, i) * 1664525u)) + key_[j] + static_cast<uint32_t>(j);
      advance(s, i);
    }
    for (size_t k = 0; k + 1 < n; ++k) {
      s[i] = (s[i] ^ (folded(s, i) * 1566083941u)) - static_cast<uint32_t>(i);
      advance(s, i);
    }
    s[0] = 0x80000000u;
    return s;
  }

  std::vector<uint32_t> key_;
};

/// CPython's randbelow: as many high bits as n has, drawn again until they are below n.
uint32_t random_below(std::mt19937& generator, uint32_t n) {
  const int bits = std::bit_width(n);
  uint32_t r = generator() >> (32 - bits);
  while (r >= n) r = generator() >> (32 - bits);
  return r;
}

}  // namespace

std::vector<int64_t> published_permutation(int64_t heads, int64_t layer) {
  if (heads < 1 || heads > kMaxTokens) {
    throw std::invalid_argument("heads must be 1 to " + std::to_string(kMaxTokens) + ", got " + std::to_string(heads));
  }
  if (layer < 0) throw std::invalid_argument("layer must be 0 or more, got " + std::to_string(layer));
  InitByArray seed(static_cast<uint64_t>(layer));
  std::mt19937 generator(seed);
  std::vector<int64_t> rows(static_cast<size_t>(heads));
  std::iota(rows.begin(), rows.end(), int64_t{0});
  for (size_t i = rows.size() - 1; i >= 1; --i) {
    std::swap(rows[i], rows[random_below(generator, static_cast<uint32_t>(i + 1))]);
  }
  return rows;
}

}  // namespace fib
