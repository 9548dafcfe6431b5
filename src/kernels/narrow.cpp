// SPDX-License-Identifier: Apache-2.0
#include "kernels/narrow.h"

#include <algorithm>

#include "base/parallel.h"
#include "kernels/tiles.h"

namespace fib::kernels {
namespace {

/// Floats of a head's arrays in backward, 1 MB: about a second-level cache. Fixed and not this machine's, because
/// tiles, which take what is larger, give other bits.
constexpr int64_t kMostFloats = int64_t{1} << 18;

int64_t strips_of(const SupportSet::Head& head) {
  return 2 * static_cast<int64_t>(head.offsets.size()) + (head.diagonal ? 1 : 0);
}

NarrowLayout narrow_layout(const SupportSet& support) {
  NarrowLayout layout;
  for (int64_t h = 0; h < support.num_heads(); ++h) {
    const SupportSet::Head& head = support.head(h);
    if (!head.offsets.empty()) layout.reach = std::max(layout.reach, head.offsets.back());
    layout.strips = std::max(layout.strips, support.cls() + strips_of(head));
  }
  return layout;
}

template <class Function>
void for_each_head(const SupportCall<float>& call, Function head_function) {
  const NarrowLayout layout = narrow_layout(*call.support);
  const AttentionShape& s = call.shape;
  parallel_tasks(s.batch * s.heads, [&](int64_t task) {
    thread_local NarrowWorkspace kept;
    head_function(call, layout, {task / s.heads, task % s.heads}, kept);
  });
}

}  // namespace

bool narrow_fits(const SupportSet& support, const AttentionShape& shape, const AttentionOptions<float>& options,
                 int64_t most_channels) {
  const int64_t widest = std::max(shape.dim, shape.value_dim);
  if (widest > most_channels || shape.dim % kNarrowGroup != 0 || shape.value_dim % kNarrowGroup != 0) return false;
  if (support.causal() || support.summaries() || shape.query_tokens != shape.key_tokens) return false;
  if (options.lengths != nullptr || options.bias.data != nullptr || options.dropout > 0) return false;
  for (int64_t h = 0; h < support.num_heads(); ++h)
    if (!support.head(h).pairs.empty() || !support.head(h).neighbors.empty()) return false;
  const NarrowLayout layout = narrow_layout(support);
  const int64_t rows = 7 * widest + 2 * layout.strips + 1;
  return rows * (shape.key_tokens + 2 * layout.reach) <= kMostFloats;
}

void narrow_forward(const SupportCall<float>& call) { for_each_head(call, narrow_of_target(chosen_target()).forward); }
void narrow_backward(const SupportCall<float>& call) {
  for_each_head(call, narrow_of_target(chosen_target()).backward);
}

}  // namespace fib::kernels
