// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>

#include "fibottention/pattern.h"

namespace fib {
namespace {

/// begin[i] … begin[i + 1] delimits row i in pairs sorted by that row.
template <class RowOf>
std::vector<int64_t> row_begins(const std::vector<TokenPair>& pairs, int64_t rows, RowOf row_of) {
  std::vector<int64_t> begin(static_cast<size_t>(rows) + 1, 0);
  for (const TokenPair& p : pairs) ++begin[static_cast<size_t>(row_of(p)) + 1];
  for (size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
  return begin;
}

void check_range(const TokenPair& p, int64_t query_tokens, int64_t key_tokens) {
  if (p.query >= 0 && p.query < query_tokens && p.key >= 0 && p.key < key_tokens) return;
  throw std::invalid_argument("pair (" + std::to_string(p.query) + ", " + std::to_string(p.key) + ") is outside " +
                              std::to_string(query_tokens) + " queries x " + std::to_string(key_tokens) + " keys");
}

}  // namespace

PairList::PairList(int64_t query_tokens, int64_t key_tokens, std::vector<TokenPair> pairs) {
  if (pairs.empty()) return;
  for (const TokenPair& p : pairs) check_range(p, query_tokens, key_tokens);
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  key_begin_ = row_begins(pairs, query_tokens, [](const TokenPair& p) { return p.query; });
  query_begin_ = row_begins(pairs, key_tokens, [](const TokenPair& p) { return p.key; });
  keys_.reserve(pairs.size());
  queries_.resize(pairs.size());
  std::vector<int64_t> next(query_begin_.begin(), query_begin_.end() - 1);
  for (const TokenPair& p : pairs) {
    keys_.push_back(p.key);
    queries_[static_cast<size_t>(next[static_cast<size_t>(p.key)]++)] = p.query;
  }
}

bool PairList::contains(TokenPair pair) const {
  const auto keys = keys_of(pair.query);
  return std::binary_search(keys.begin(), keys.end(), pair.key);
}

std::vector<TokenPair> PairList::to_vector() const {
  std::vector<TokenPair> pairs;
  pairs.reserve(keys_.size());
  for (int64_t q = 0; q + 1 < static_cast<int64_t>(key_begin_.size()); ++q) {
    for (int32_t k : keys_of(q)) pairs.push_back({static_cast<int32_t>(q), k});
  }
  return pairs;
}

int64_t PairList::memory_bytes() const {
  return static_cast<int64_t>((key_begin_.capacity() + query_begin_.capacity()) * sizeof(int64_t) +
                              (keys_.capacity() + queries_.capacity()) * sizeof(int32_t));
}

}  // namespace fib
