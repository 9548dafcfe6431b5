// SPDX-License-Identifier: Apache-2.0
// The one list of attention problems: kernels, operator and gradients are all compared with the oracle on it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fibottention/attention.h"

namespace fib::test {

/// What a head looks at. Every way in which a SupportSet can be written occurs.
enum class SupportKind {
  fibonacci,
  local,
  full,
  diagonal,
  bigbird,
  random,
  crowded,  ///< half of all pairs explicit, more than are computed one by one
  nothing,
  rectangular,
  full_rectangular
};

/// How a [B,H,T,d] array lies in memory.
enum class Layout {
  head_major,   ///< [B,H,T,d]
  token_major,  ///< [B,T,H,d], as an output [B,T,H·d] is written
  packed,       ///< q, k, v as slices of one [B,T,3,H,d] where d = e, else token_major
  padded,       ///< rows three channels further apart than they are long, so nothing is aligned
  reversed      ///< head_major with a negative token stride
};

enum class BiasKind { none, shared, per_head, grouped };

struct AttentionCase {
  std::string name = {};
  int64_t batch = 1, heads = 1, patches = 1, cls = 0, dim = 1, value_dim = 1;
  SupportKind support = SupportKind::fibonacci;
  Layout layout = Layout::head_major;
  bool causal = false;
  Masking masking = Masking::exclude;
  bool lengths = false;
  BiasKind bias = BiasKind::none;
  double dropout = 0.0;
  std::optional<double> scale = {};
  PatchGrid grid = {};    ///< of the patches, where one of the next two is set
  int64_t neighbors = 0;  ///< along each side around a patch; 0: none
  PatchGrid tiles = {0};  ///< of the summaries; height 0: none

  AttentionShape shape() const;
  SupportSet make_support() const;
  /// The same with all pairs in its support, and a name that says so.
  void make_dense();
  std::vector<int64_t> make_lengths() const;  ///< per sample, from full down to nothing; empty when not asked for
};

const char* to_string(SupportKind kind);
const char* to_string(Layout layout);

/// The same on a grid, with its neighbors and summaries.
AttentionCase on_grid(AttentionCase c, const PatchGrid& grid, int64_t neighbors, const PatchGrid& tiles = {0});

/// T from 1 to 1000 with primes and powers of two ± 1; every dim with every layout; every support, causal or not, with
/// 0, 1 and 2 class tokens; every option; neighbors and summaries on grids of every shape.
std::vector<AttentionCase> attention_cases();

}  // namespace fib::test
