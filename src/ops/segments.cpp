// SPDX-License-Identifier: Apache-2.0
#include "ops/segments.h"

#include <cmath>

namespace fib::ops {
namespace {

constexpr int64_t kTokenDim = 2;  // of [B,G,T,…]

TokenRange run(int64_t begin, int64_t count) { return {begin, count, 1, {}}; }
TokenRange one(int64_t token, int64_t count) { return {token, count, 0, {}}; }

/// Queries whose key lies `distance` further, both among the patch tokens.
Segment diagonal_segment(const SupportSet& set, int64_t distance) {
  const int64_t count = set.patches() - std::abs(distance);
  const int64_t query = set.cls() + std::max<int64_t>(0, -distance);
  return {run(query, count), run(query + distance, count)};
}

void add_class_tokens(const SupportSet& set, std::vector<Segment>& segments) {
  const int64_t tokens = set.query_tokens();
  for (int64_t c = 0; c < set.cls(); ++c) {
    const int64_t seen = set.causal() ? c + 1 : tokens;
    segments.push_back({one(c, seen), run(0, seen)});
    segments.push_back({run(set.cls(), set.patches()), one(c, set.patches())});
  }
}

/// Neighbors of which the other is further on, or with `upwards` false those the other way around.
Segment neighbor_segment(const SupportSet& set, const GridOffset& g, bool upwards, const at::Device& device) {
  std::vector<int64_t> lower;
  for (int64_t p = 0; p + g.offset < set.patches(); ++p)
    if (g.contains(p)) lower.push_back(set.cls() + p);
  const auto count = static_cast<int64_t>(lower.size());
  const at::Tensor below = at::tensor(lower, at::kLong).to(device), above = below + g.offset;
  return {{0, count, 1, upwards ? below : above}, {0, count, 1, upwards ? above : below}};
}

void add_summaries(const SupportSet& set, std::vector<Segment>& segments) {
  for (int64_t s = 0; set.summaries() && s < set.summaries()->count(); ++s) {
    segments.push_back({run(set.cls(), set.patches()), one(set.key_tokens() + s, set.patches()),
                        std::log(static_cast<double>(set.summaries()->size(s)))});
  }
}

Segment explicit_segment(const PairList& pairs, const at::Device& device) {
  const int64_t count = pairs.size();
  const at::Tensor queries = at::empty({count}, at::kLong), keys = at::empty({count}, at::kLong);
  int64_t* query = queries.data_ptr<int64_t>();
  int64_t* key = keys.data_ptr<int64_t>();
  for (const TokenPair& p : pairs.to_vector()) {
    *query++ = p.query;
    *key++ = p.key;
  }
  return {{0, count, 1, queries.to(device)}, {0, count, 1, keys.to(device)}};
}

// LibTorch 1.13 warns that scatter_reduce may change; nothing a user of attention should read.
#if TORCH_VERSION_MAJOR < 2
class Silence : c10::WarningHandler {
 public:
  Silence() : guard_(this) {}
  void process(const c10::SourceLocation&, const std::string&, const bool) override {}

 private:
  c10::Warning::WarningHandlerGuard guard_;
};
#else
struct Silence {
  Silence() {}
};
#endif

}  // namespace

at::Tensor TokenRange::take(const at::Tensor& x) const {
  if (index.defined()) return x.index_select(kTokenDim, index);
  if (step == 1) return x.narrow(kTokenDim, begin, count);
  std::vector<int64_t> sizes = x.sizes().vec();
  sizes[kTokenDim] = count;
  return x.narrow(kTokenDim, begin, 1).expand(sizes);
}

void TokenRange::add_to(const at::Tensor& acc, const at::Tensor& value) const {
  if (index.defined()) {
    acc.index_add_(kTokenDim, index, value);
  } else {
    at::Tensor place = acc.narrow(kTokenDim, begin, step == 1 ? count : 1);
    place.add_(step == 1 ? value : value.sum(kTokenDim, /*keepdim=*/true));
  }
}

void TokenRange::max_into(const at::Tensor& acc, const at::Tensor& value) const {
  if (index.defined()) {
    const Silence silence;
    acc.scatter_reduce_(kTokenDim, index.expand_as(value), value, "amax");
  } else {
    at::Tensor place = acc.narrow(kTokenDim, begin, step == 1 ? count : 1);
    place.copy_(at::maximum(place, step == 1 ? value : value.amax(kTokenDim, /*keepdim=*/true)));
  }
}

at::Tensor TokenRange::tokens(const at::Device& device) const {
  if (index.defined()) return index;
  const auto options = at::TensorOptions().dtype(at::kLong).device(device);
  return step == 1 ? at::arange(begin, begin + count, options) : at::full({count}, begin, options);
}

at::Tensor Segment::take_bias(const at::Tensor& bias) const {
  if (queries.index.defined()) {
    return bias.flatten(2).index_select(2, queries.index * bias.size(3) + keys.index);
  }
  const at::Tensor rows = bias.narrow(2, queries.begin, queries.step == 1 ? queries.count : 1);
  const at::Tensor block = rows.narrow(3, keys.begin, keys.step == 1 ? keys.count : 1);
  if (queries.step == 1 && keys.step == 1) return block.diagonal(0, 2, 3);
  return block.flatten(2);
}

std::vector<Segment> segments_of(const SupportSet& set, int64_t head, const at::Device& device) {
  const SupportSet::Head& h = set.head(head);
  std::vector<Segment> segments;
  add_class_tokens(set, segments);
  for (int64_t o : h.offsets) {
    segments.push_back(diagonal_segment(set, -o));
    if (!set.causal()) segments.push_back(diagonal_segment(set, o));
  }
  if (h.diagonal) segments.push_back(diagonal_segment(set, 0));
  for (const GridOffset& g : h.neighbors) {
    segments.push_back(neighbor_segment(set, g, false, device));
    if (!set.causal()) segments.push_back(neighbor_segment(set, g, true, device));
  }
  add_summaries(set, segments);
  if (!h.pairs.empty()) segments.push_back(explicit_segment(h.pairs, device));
  return segments;
}

}  // namespace fib::ops
