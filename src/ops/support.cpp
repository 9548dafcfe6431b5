// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

#include <list>
#include <mutex>
#include <unordered_map>

#include "ops/tensors.h"

namespace fib::ops {
namespace {

std::vector<TokenPair> to_pairs(const at::Tensor& tensor) {
  TORCH_CHECK_VALUE(tensor.dim() == 2 && tensor.size(1) == 2 && tensor.scalar_type() == at::kLong,
                    "pairs must be an int64 tensor [n, 2], got ", tensor.scalar_type(), " ", tensor.sizes());
  const at::Tensor rows = tensor.cpu().contiguous();
  const int64_t* values = rows.data_ptr<int64_t>();
  std::vector<TokenPair> pairs;
  pairs.reserve(static_cast<size_t>(rows.size(0)));
  for (int64_t i = 0; i < rows.size(0); ++i) {
    const int64_t query = values[2 * i], key = values[2 * i + 1];
    TORCH_CHECK_VALUE(query >= 0 && query < kMaxTokens && key >= 0 && key < kMaxTokens, "pair (", query, ", ", key,
                      ") has an index outside 0 to ", kMaxTokens - 1);
    pairs.push_back({static_cast<int32_t>(query), static_cast<int32_t>(key)});
  }
  return pairs;
}

/// More than the layers of any model times the resolutions it is used at; a support of offsets takes a few kilobytes.
constexpr size_t kCapacity = 512;
/// Random pairs take more: those of twelve layers over 4096 tokens fit.
constexpr int64_t kCapacityBytes = INT64_C(1) << 30;

struct SupportKey {
  std::string attention;
  int64_t patches, cls, heads, layer;
  bool causal;
  std::vector<int64_t> grid;
  friend bool operator==(const SupportKey&, const SupportKey&) = default;
};

struct KeyHash {
  size_t operator()(const SupportKey& key) const {
    size_t hash = std::hash<std::string>()(key.attention) ^ (key.causal ? 1U : 0U);
    const auto mix = [&hash](int64_t value) {
      hash = hash * UINT64_C(0x9E3779B97F4A7C15) + static_cast<size_t>(value);
      hash ^= hash >> 29;
    };
    for (int64_t value : {key.patches, key.cls, key.heads, key.layer}) mix(value);
    for (int64_t side : key.grid) mix(side);
    return hash;
  }
};

PatchGrid grid_of(const std::vector<int64_t>& sides) {
  TORCH_CHECK_VALUE(sides.size() == 2 || sides.size() == 3, "attention: grid_shape must be [height, width] or ",
                    "[height, width, frames], got ", sides);
  return {sides[0], sides[1], sides.size() == 3 ? sides[2] : 1};
}

SupportPtr build(const SupportKey& key) {
  PatternGeometry geometry{key.patches, key.cls, key.heads, std::nullopt, key.causal};
  if (key.layer >= 0) geometry.layer = key.layer;
  if (!key.grid.empty()) geometry.grid = grid_of(key.grid);
  SupportPtr support;
  with_value_errors([&] { support = make_support_ptr(make_support(AttentionSpec::parse(key.attention), geometry)); });
  return support;
}

class Cache {
 public:
  SupportPtr find_or_build(const SupportKey& key) {
    const std::lock_guard lock(mutex_);
    if (const auto found = places_.find(key); found != places_.end()) {
      recent_.splice(recent_.begin(), recent_, found->second);
      return found->second->second;
    }
    recent_.emplace_front(key, build(key));
    places_[key] = recent_.begin();
    bytes_ += recent_.front().second->set().memory_bytes();
    while (recent_.size() > 1 && (recent_.size() > kCapacity || bytes_ > kCapacityBytes)) drop_last();
    return recent_.front().second;
  }

 private:
  void drop_last() {
    bytes_ -= recent_.back().second->set().memory_bytes();
    places_.erase(recent_.back().first);
    recent_.pop_back();
  }

  using Entries = std::list<std::pair<SupportKey, SupportPtr>>;
  std::mutex mutex_;
  Entries recent_;  // most recently used first
  std::unordered_map<SupportKey, Entries::iterator, KeyHash> places_;
  int64_t bytes_ = 0;
};

}  // namespace

SupportPtr support_from_offsets(int64_t patches, int64_t cls, const std::vector<std::vector<int64_t>>& offsets,
                                const c10::List<bool>& diagonal, const std::vector<at::Tensor>& pairs, bool causal) {
  const size_t heads = offsets.size();
  TORCH_CHECK_VALUE(diagonal.size() == heads, "offsets are given for ", heads, " heads, diagonal for ",
                    diagonal.size());
  TORCH_CHECK_VALUE(pairs.empty() || pairs.size() == heads, "offsets are given for ", heads, " heads, pairs for ",
                    pairs.size());
  std::vector<HeadPattern> patterns(heads);
  for (size_t h = 0; h < heads; ++h) {
    patterns[h].offsets = offsets[h];
    patterns[h].window = offsets[h].empty() ? 0 : offsets[h].back();
    patterns[h].diagonal = diagonal[h];
    if (!pairs.empty()) patterns[h].pairs = to_pairs(pairs[h]);
  }
  return make_support_ptr(SupportSet(patches, cls, std::move(patterns), causal));
}

SupportPtr support_from_pairs(int64_t query_tokens, int64_t key_tokens, const std::vector<at::Tensor>& pairs) {
  std::vector<std::vector<TokenPair>> heads;
  for (const at::Tensor& head : pairs) heads.push_back(to_pairs(head));
  return make_support_ptr(SupportSet::rectangular(query_tokens, key_tokens, std::move(heads)));
}

at::Tensor support_pairs(const SupportSet& set, int64_t head) {
  TORCH_CHECK_INDEX(head >= 0 && head < set.num_heads(), "head ", head, " is outside 0 to ", set.num_heads() - 1);
  const at::Tensor result = at::empty({set.pairs(head) - set.summary_pairs(), 2}, at::kLong);
  int64_t* out = result.data_ptr<int64_t>();
  for (int64_t query = 0; query < set.query_tokens(); ++query) {
    for (int64_t key : set.keys_of_row(head, query)) {
      *out++ = query;
      *out++ = key;
    }
  }
  return result;
}

at::Tensor averaging_matrix(const Tiling& tiling) {
  const at::Tensor matrix = at::zeros({tiling.count(), tiling.grid.tokens()}, at::kDouble);
  auto values = matrix.accessor<double, 2>();
  for (int64_t p = 0; p < tiling.grid.tokens(); ++p) {
    const int64_t tile = tiling.tile_of(p);
    values[tile][p] = 1.0 / static_cast<double>(tiling.size(tile));
  }
  return matrix;
}

at::Tensor support_mask(const SupportSet& set) {
  const at::Tensor mask = at::zeros({set.num_heads(), set.query_tokens(), set.key_tokens()}, at::kBool);
  for (int64_t h = 0; h < set.num_heads(); ++h) {
    const at::Tensor pairs = support_pairs(set, h);  // [n,2]
    mask[h].index_put_({pairs.select(1, 0), pairs.select(1, 1)}, true);
  }
  return mask;
}

SupportPtr cached_support(const NamedSupport& named, int64_t patches, int64_t heads) {
  static Cache cache;
  return cache.find_or_build(
      {named.attention, patches, named.cls, heads, named.layer.value_or(-1), named.causal, named.grid_shape});
}

}  // namespace fib::ops
