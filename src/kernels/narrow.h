// SPDX-License-Identifier: Apache-2.0
// Attention of narrow heads, float32: rows of 8 to 32 channels are so short that vectors along them stay half empty and
// sums across lanes cost more than the products. A task is a head. Its arrays are transposed first, so that lanes are
// tokens all the way and an offset is a shifted load; backward keeps the probabilities of the head's pairs, so that
// the gradients of keys and values gather them and nothing is scattered.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/call.h"
#include "kernels/workspace.h"

namespace fib::kernels {

/// Channels that are summed side by side; d and e are whole groups of them.
inline constexpr int64_t kNarrowGroup = 8;

/// Whether a call is one for narrow heads: self-attention on offsets and class tokens alone, with either masking,
/// nothing added to the scores, few channels, and arrays of a head that stay in the second-level cache.
bool narrow_fits(const SupportSet& support, const AttentionShape& shape, const AttentionOptions<float>& options,
                 int64_t most_channels);
/// Up to so many channels it is faster than tiles. A tile's dot product over d channels takes d / lanes multiply-adds
/// and a sum across lanes, which costs as much as several of them; forward has one such sum a pair, backward two and
/// the gradients that are gathered here. With AVX2 and AVX-512 on a packed qkv the limits were measured where d is one
/// vector of AVX2 in forward, and four in backward. They do not follow the machine: the two ways add in another order,
/// and the same call shall give the same bits on all machines of a target.
inline constexpr int64_t kNarrowForward = 8, kNarrowBackward = 32;

/// All heads of a call that fits.
void narrow_forward(const SupportCall<float>& call);
void narrow_backward(const SupportCall<float>& call);

// ---- What the targets see -------------------------------------------------------------------------------------------

/// What all heads of a call share.
struct NarrowLayout {
  int64_t reach = 0;   ///< the largest offset of any head
  int64_t strips = 0;  ///< class tokens and signed offsets of the head that has most of them
};

/// What a block of tokens meets in one array: channel c of lane 0's partner is at row + c · step.
struct NarrowPartner {
  const float* row;
  int64_t step;
};

/// Lanes [first, last) of a block meet their partners in strip `index` of the head.
struct NarrowStrip {
  int64_t index, first, last;
};

/// Scratch of one thread. Between heads of equal sizes only patch tokens are written, so what surrounds them, and is
/// read by offsets that lead out of the image, stays zero.
struct NarrowWorkspace {
  Buffer<float> arrays, class_rows, block;
  Buffer<float> columns;  ///< masking zero, [2, e]: Σ over keys of v; in backward Σ over queries of rest · grad_out
  std::vector<int64_t> shifts;  ///< of a head: its signed offsets
  /// Of a block; only the first ones are in use.
  std::vector<NarrowStrip> strips;
  std::vector<NarrowPartner> scored, summed;
  std::vector<const float*> weights, other_weights;
  struct Sizes {
    int64_t rows = 0, stride = 0, margin = 0, lanes = 0;
    bool operator==(const Sizes&) const = default;
  };
  Sizes sizes;  ///< of `arrays`
};

struct NarrowHead {
  int64_t b, h;
};

/// Functions of one target.
struct NarrowTable {
  void (*forward)(const SupportCall<float>&, const NarrowLayout&, NarrowHead, NarrowWorkspace&);
  void (*backward)(const SupportCall<float>&, const NarrowLayout&, NarrowHead, NarrowWorkspace&);
};
const NarrowTable& narrow_of_target(int64_t target);

}  // namespace fib::kernels
