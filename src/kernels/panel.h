// SPDX-License-Identifier: Apache-2.0
// The pairs of one block of self rows, sorted by how they can be computed.
//
// A block has as many rows as a vector has lanes, and lane i belongs to row i. A *strip* gives every row of the block
// one partner: row i meets other token first + i·step, so a strip of offset o is a run of consecutive rows and softmax
// happens in all lanes at once. Where neighbors on the grid would lie across an edge, lanes of their strip are
// *masked*. What does not fill a strip (the ends of the sequence, short blocks, explicit pairs) becomes *loose* pairs,
// listed row by row. Values of pairs are kept strip by strip, those with summaries behind them.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "fibottention/pattern.h"
#include "kernels/prefetch.h"

namespace fib::kernels {

struct Strip {
  int64_t first;  ///< other token of lane 0
  int64_t step;   ///< 1, or 0 where all lanes meet the same class token
  int32_t shift;  ///< of an offset: which one, see shift_index
};

/// Signed offsets, key less query, as numbers: the diagonal, then offset i of the head downwards and upwards, then its
/// neighbors likewise.
inline int32_t shift_index(size_t i, bool upwards) { return static_cast<int32_t>(2 * i) + (upwards ? 2 : 1); }

struct Panel {
  int64_t self = 0;       ///< token of lane 0
  int64_t self_step = 1;  ///< 0 where all lanes are the same class token
  int64_t rows = 0;       ///< lanes in use
  std::vector<Strip> strips;
  std::vector<int32_t> lane, token;  ///< loose pairs, ascending lanes
  std::vector<int32_t> shift;        ///< of loose pairs: as in Strip where they lie on an offset
  std::vector<int64_t> loose_begin;  ///< [rows + 1]
  struct Edge {
    int64_t offset;
    int32_t shift;
    const GridOffset* neighbor;  ///< where only some of its pairs count
  };
  std::vector<Edge> edges;  ///< signed offsets, other less self, that reach only some rows of this block
  struct Masked {
    size_t strip;
    uint64_t lanes;  ///< a bit for each lane that counts
  };
  std::vector<Masked> masked;
  int64_t summaries = 0;      ///< that every row of the block meets
  int64_t first_summary = 0;  ///< their place among the keys, behind all tokens

  NextRows next;  ///< to be fetched meanwhile

  int64_t loose() const { return static_cast<int64_t>(lane.size()); }
  /// Vectors of values: of strips and of summaries.
  size_t vectors() const { return strips.size() + static_cast<size_t>(summaries); }
  /// Tokens that a row meets.
  int64_t tokens_of(int64_t row) const {
    int64_t count = static_cast<int64_t>(strips.size()) + loose_of(row);
    for (const Masked& m : masked) count -= (m.lanes >> row & 1) == 0 ? 1 : 0;
    return count;
  }
  int64_t loose_of(int64_t row) const {
    return loose_begin[static_cast<size_t>(row) + 1] - loose_begin[static_cast<size_t>(row)];
  }
  void clear(int64_t first_row, int64_t step, int64_t row_count);
  void add_loose(int64_t row, int64_t other, int32_t pair_shift);
};

/// What a self token of one head may meet, seen from the query's or from the key's side.
struct Neighbourhood {
  const SupportSet::Head* head = nullptr;
  int64_t cls = 0;
  int64_t class_end = 0;  ///< class tokens [0, class_end) are met by every patch token
  int64_t other_end = 0;  ///< other tokens from here on are padding
  bool below = true, above = true;
  bool self_is_query = true;
  int64_t summaries = 0;  ///< met by every patch token

  std::span<const int32_t> pairs_of(int64_t self) const {
    return self_is_query ? head->pairs.keys_of(self) : head->pairs.queries_of(self);
  }
};

Neighbourhood keys_of_queries(const SupportSet& support, int64_t h, int64_t key_end);
Neighbourhood queries_of_keys(const SupportSet& support, int64_t h, int64_t query_end);

/// The pairs of patch tokens [self, self + rows), rows <= lanes.
void collect_block(const Neighbourhood& n, int64_t self, int64_t rows, int64_t lanes, Panel& panel);

/// The pairs of one class token with tokens [begin, end): lanes run along the other side.
void collect_class_token(int64_t class_token, int64_t begin, int64_t end, int64_t lanes, Panel& panel);

}  // namespace fib::kernels
