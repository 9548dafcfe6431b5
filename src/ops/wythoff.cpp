// SPDX-License-Identifier: Apache-2.0
#include "ops/wythoff.h"

#include <list>
#include <mutex>
#include <unordered_map>

#include "ops/checks.h"
#include "ops/dispatch.h"

namespace fib::ops {
namespace {

/// More than the layers of any model times the resolutions it is used at; a support of offsets takes a few kilobytes.
constexpr size_t kCapacity = 512;

struct KeyHash {
  size_t operator()(const WythoffKey& key) const {
    size_t hash = (key.modified ? 1U : 0U) | (key.causal ? 2U : 0U);
    for (int64_t value : {key.patches, key.cls, key.heads, key.wmin, key.wmax, key.layer}) {
      hash = hash * UINT64_C(0x9E3779B97F4A7C15) + static_cast<size_t>(value);
      hash ^= hash >> 29;
    }
    return hash;
  }
};

SupportPtr build(const WythoffKey& key) {
  const AttentionSpec spec{key.modified ? "fibottention-modified" : "fibottention",
                           {{"wmin", std::to_string(key.wmin)}, {"wmax", std::to_string(key.wmax)}}};
  PatternGeometry geometry{key.patches, key.cls, key.heads, std::nullopt, key.causal};
  if (key.layer >= 0) geometry.layer = key.layer;
  return make_support_ptr(make_support(spec, geometry));
}

class Cache {
 public:
  SupportPtr find_or_build(const WythoffKey& key) {
    const std::lock_guard lock(mutex_);
    if (const auto found = places_.find(key); found != places_.end()) {
      recent_.splice(recent_.begin(), recent_, found->second);
      return found->second->second;
    }
    recent_.emplace_front(key, build(key));
    places_[key] = recent_.begin();
    if (recent_.size() > kCapacity) {
      places_.erase(recent_.back().first);
      recent_.pop_back();
    }
    return recent_.front().second;
  }

 private:
  using Entries = std::list<std::pair<WythoffKey, SupportPtr>>;
  std::mutex mutex_;
  Entries recent_;  // most recently used first
  std::unordered_map<WythoffKey, Entries::iterator, KeyHash> places_;
};

void check_tokens(int64_t tokens, int64_t heads, const WythoffOptions& w) {
  TORCH_CHECK_VALUE(w.cls >= 0 && w.cls < tokens, "attention: cls must leave a patch token: 0 to ", tokens - 1, " for ",
                    tokens, " tokens, got ", w.cls);
  TORCH_CHECK_VALUE(heads > 0, "attention: heads must be 1 or more, got 0");
  TORCH_CHECK_VALUE(!w.layer || *w.layer >= 0, "attention: layer must be None, or 0 or more, got ",
                    w.layer.value_or(0));
}

}  // namespace

Call wythoff_call(const WythoffOptions& options, const OptionalTensor& drawn_seed) {
  Call call;
  call.scale = options.scale;
  call.masking = options.masking;
  call.dropout = options.dropout;
  call.wythoff = options;
  call.drawn_seed = drawn_seed;
  return call;
}

Call resolved(const Call& call, const Operands& x) {
  if (!call.wythoff) return call;
  TORCH_CHECK_VALUE(x.q.dim() == 4, "attention: q must be [batch, heads, tokens, channels], got ", x.q.sizes());
  const WythoffOptions& w = *call.wythoff;
  const int64_t heads = x.q.size(1), tokens = x.q.size(2);
  check_tokens(tokens, heads, w);
  Call known = call;
  known.support = cached_wythoff_support(
      {tokens - w.cls, w.cls, heads, w.wmin, w.wmax, w.layer.value_or(-1), w.modified, w.causal});
  if (call.drawn_seed && !x.q.is_meta()) known.seed = call.drawn_seed->item<int64_t>();  // shapes need no number
  known.wythoff = nothing;
  return known;
}

SupportPtr cached_wythoff_support(const WythoffKey& key) {
  static Cache cache;
  return cache.find_or_build(key);
}

at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const WythoffOptions& options) {
  return std::get<0>(dispatch_forward({q, k, v}, wythoff_call(options)));
}

at::Tensor attention_packed(const at::Tensor& qkv, const WythoffOptions& options) {
  return std::get<0>(dispatch_packed_forward(qkv, wythoff_call(options)));
}

}  // namespace fib::ops
