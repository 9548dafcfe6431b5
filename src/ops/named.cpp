// SPDX-License-Identifier: Apache-2.0
#include "ops/named.h"

#include <list>
#include <mutex>
#include <unordered_map>

#include "ops/checks.h"
#include "ops/dispatch.h"

namespace fib::ops {
namespace {

/// More than the layers of any model times the resolutions it is used at; a support of offsets takes a few kilobytes.
constexpr size_t kCapacity = 512;
/// Random pairs take more: those of twelve layers over 4096 tokens fit.
constexpr int64_t kCapacityBytes = INT64_C(1) << 30;

struct KeyHash {
  size_t operator()(const SupportKey& key) const {
    size_t hash = std::hash<std::string>()(key.attention) ^ (key.causal ? 1U : 0U);
    for (int64_t value : {key.patches, key.cls, key.heads, key.layer}) {
      hash = hash * UINT64_C(0x9E3779B97F4A7C15) + static_cast<size_t>(value);
      hash ^= hash >> 29;
    }
    return hash;
  }
};

SupportPtr build(const SupportKey& key) {
  PatternGeometry geometry{key.patches, key.cls, key.heads, std::nullopt, key.causal};
  if (key.layer >= 0) geometry.layer = key.layer;
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

void check_tokens(int64_t tokens, int64_t heads, const NamedOptions& named) {
  TORCH_CHECK_VALUE(named.cls >= 0 && named.cls < tokens, "attention: cls must leave a patch token: 0 to ", tokens - 1,
                    " for ", tokens, " tokens, got ", named.cls);
  TORCH_CHECK_VALUE(heads > 0, "attention: heads must be 1 or more, got 0");
  TORCH_CHECK_VALUE(!named.layer || *named.layer >= 0, "attention: layer must be None, or 0 or more, got ",
                    named.layer.value_or(0));
}

/// Every pair: the dense kernel's, which needs no list of them.
bool is_full(const NamedOptions& named) { return named.attention == "full" && !named.causal; }

}  // namespace

Masking parse_masking(const std::string& name) {
  if (name == "exclude") return Masking::exclude;
  TORCH_CHECK_VALUE(name == "zero", "attention: masking must be 'exclude' or 'zero', got '", name, "'");
  return Masking::zero;
}

std::string wythoff_text(const WythoffOptions& options) {
  return std::string(options.modified ? "fibottention-modified" : "fibottention") +
         ":wmin=" + std::to_string(options.wmin) + ",wmax=" + std::to_string(options.wmax);
}

Call named_call(const NamedArguments& arguments, const OptionalTensor& drawn_seed) {
  Call call;
  call.bias = arguments.bias;
  call.scale = arguments.scale;
  call.masking = arguments.masking;
  call.dropout = arguments.dropout;
  call.named = arguments.where;
  call.drawn_seed = drawn_seed;
  return call;
}

Call resolved(const Call& call, const Operands& x) {
  if (!call.named) return call;
  TORCH_CHECK_VALUE(x.q.dim() == 4, "attention: q must be [batch, heads, tokens, channels], got ", x.q.sizes());
  const NamedOptions& named = *call.named;
  const int64_t heads = x.q.size(1), tokens = x.q.size(2);
  check_tokens(tokens, heads, named);
  Call known = call;
  known.support =
      cached_support({named.attention, tokens - named.cls, named.cls, heads, named.layer.value_or(-1), named.causal});
  known.dense = is_full(named);
  if (call.drawn_seed && !x.q.is_meta()) known.seed = call.drawn_seed->item<int64_t>();  // shapes need no number
  known.named = nothing;
  return known;
}

SupportPtr cached_support(const SupportKey& key) {
  static Cache cache;
  return cache.find_or_build(key);
}

at::Tensor named_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           const NamedArguments& arguments) {
  return std::get<0>(dispatch_forward({q, k, v}, named_call(arguments)));
}

at::Tensor named_attention_packed(const at::Tensor& qkv, const NamedArguments& arguments) {
  return std::get<0>(dispatch_packed_forward(qkv, named_call(arguments)));
}

}  // namespace fib::ops
