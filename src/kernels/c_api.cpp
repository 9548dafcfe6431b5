// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <type_traits>

#include "fibottention/attention.h"
#include "fibottention/fibottention.h"
#include "kernels/c_guard.h"

struct fib_pattern {
  fib::SupportSet support;
};

namespace {

/// Fixed, so that reporting a lack of memory needs none.
thread_local char last_error[1024] = "";

}  // namespace

fib_status fib::kernels::report_failure(fib_status status, const char* message) noexcept {
  std::snprintf(last_error, sizeof(last_error), "%s", message);
  return status;
}

namespace {

using fib::kernels::guarded;

void require(bool ok, const std::string& message) {
  if (!ok) throw std::invalid_argument(message);
}

/// Of tokens, of which there may be kMaxTokens.
int64_t all_pairs(int64_t queries, int64_t keys) {
  for (const int64_t tokens : {queries, keys})
    require(tokens >= 1 && tokens <= fib::kMaxTokens,
            "tokens must be 1 to " + std::to_string(fib::kMaxTokens) + ", got " + std::to_string(tokens));
  return queries * keys;
}

std::vector<fib::TokenPair> pairs_of(const fib_head& head, int64_t most) {
  require(head.num_pairs >= 0, "num_pairs must be 0 or more, got " + std::to_string(head.num_pairs));
  require(head.num_pairs <= most, "num_pairs must be at most all pairs of tokens, " + std::to_string(most) + ", got " +
                                      std::to_string(head.num_pairs));
  require(head.num_pairs == 0 || head.pairs != nullptr, "pairs must not be null");
  std::vector<fib::TokenPair> pairs;
  for (int64_t i = 0; i < head.num_pairs; ++i) pairs.push_back({head.pairs[2 * i], head.pairs[2 * i + 1]});
  return pairs;
}

/// Counts that cannot be are refused before as much memory is read.
std::vector<fib::HeadPattern> patterns_of(const fib_head* heads, int64_t count, int64_t queries, int64_t keys) {
  const int64_t most_pairs = all_pairs(queries, keys);
  require(count >= 1 && count <= fib::kMaxHeads,
          "heads must be 1 to " + std::to_string(fib::kMaxHeads) + ", got " + std::to_string(count));
  require(heads != nullptr, "heads must not be null");
  std::vector<fib::HeadPattern> patterns;
  for (const fib_head* h = heads; h != heads + count; ++h) {
    require(h->num_offsets >= 0 && h->num_offsets < queries,
            "num_offsets must be 0 to " + std::to_string(queries - 1) + ", got " + std::to_string(h->num_offsets));
    require(h->num_offsets == 0 || h->offsets != nullptr, "offsets must not be null");
    patterns.push_back({0, {h->offsets, h->offsets + h->num_offsets}, h->diagonal != 0, pairs_of(*h, most_pairs), {}});
  }
  return patterns;
}

void give(fib_pattern** pattern, fib::SupportSet&& support) {
  require(pattern != nullptr, "pattern must not be null");
  *pattern = new fib_pattern{std::move(support)};
}

template <class T>
fib::TokenView<T> view(const fib_array& a) {
  return {static_cast<T*>(a.data), a.batch_stride, a.head_stride, a.token_stride};
}

template <class T>
fib::BiasView<T> view(const fib_bias& b) {
  return {static_cast<T*>(b.data), b.groups, b.group_stride, b.head_stride, b.query_stride, b.key_stride};
}

/// What a caller in C wrote, who may have written any number.
template <class Enum>
int number_of(const Enum& value) {
  std::underlying_type_t<Enum> number;
  std::memcpy(&number, &value, sizeof number);
  return static_cast<int>(number);
}

void check_call(const fib_pattern* pattern, const fib_attention* call) {
  require(pattern != nullptr, "pattern must not be null");
  require(call != nullptr, "call must not be null");
  require(call->abi_version == FIB_ABI_VERSION, "abi_version is " + std::to_string(call->abi_version) +
                                                    ", this library has " + std::to_string(FIB_ABI_VERSION) +
                                                    "; use fib_attention_init");
  const int type = number_of(call->type), masking = number_of(call->masking);
  require(type == FIB_F32 || type == FIB_F64, "type must be FIB_F32 or FIB_F64, got " + std::to_string(type));
  require(masking == FIB_MASKING_EXCLUDE || masking == FIB_MASKING_ZERO,
          "masking must be FIB_MASKING_EXCLUDE or FIB_MASKING_ZERO, got " + std::to_string(masking));
}

/// The call in the terms of attention.h.
template <class T>
struct Translated {
  fib::AttentionShape shape;
  fib::AttentionInputs<T> inputs;
  fib::AttentionOptions<T> options;

  Translated(const fib::SupportSet& s, const fib_attention& c)
      : shape{c.batch, s.num_heads(), s.query_tokens(), s.key_tokens(), c.dim, c.value_dim},
        inputs{view<const T>(c.q), view<const T>(c.k), view<const T>(c.v)} {
    if (c.scale != 0.0) options.scale = c.scale;
    options.masking = c.masking == FIB_MASKING_ZERO ? fib::Masking::zero : fib::Masking::exclude;
    options.lengths = c.lengths;
    options.bias = view<const T>(c.bias);
    options.dropout = c.dropout;
    options.dropout_seed = c.dropout_seed;
  }
};

template <class T>
void forward(const fib::SupportSet& support, const fib_attention& call, const fib_array& out, void* lse) {
  const Translated<T> t(support, call);
  fib::attention_forward<T>(support, t.shape, t.inputs, view<T>(out), static_cast<T*>(lse), t.options);
}

template <class T>
void backward(const fib::SupportSet& support, const fib_attention& call, const fib_array& out, const void* lse,
              const fib_array& grad_out, const fib_gradients& g) {
  const Translated<T> t(support, call);
  fib::attention_backward<T>(support, t.shape, t.inputs, view<const T>(out), static_cast<const T*>(lse),
                             view<const T>(grad_out), {view<T>(g.dq), view<T>(g.dk), view<T>(g.dv), view<T>(g.dbias)},
                             t.options);
}

}  // namespace

int32_t fib_abi_version(void) { return FIB_ABI_VERSION; }

const char* fib_last_error(void) { return last_error; }

fib_status fib_pattern_from_spec(const char* spec, const fib_geometry* geometry, fib_pattern** pattern) {
  return guarded([&] {
    require(spec != nullptr && geometry != nullptr, "spec and geometry must not be null");
    fib::PatternGeometry g{geometry->patches, geometry->cls, geometry->heads, std::nullopt, geometry->causal != 0, {}};
    if (geometry->layer >= 0) g.layer = geometry->layer;
    if (geometry->height != 0 || geometry->width != 0)
      g.grid = fib::PatchGrid{geometry->height, geometry->width, std::max<int64_t>(1, geometry->frames)};
    give(pattern, fib::make_support(fib::AttentionSpec::parse(spec), g));
  });
}

fib_status fib_pattern_from_heads(const fib_head* heads, const fib_geometry* geometry, fib_pattern** pattern) {
  return guarded([&] {
    require(geometry != nullptr, "geometry must not be null");
    const auto [patches, cls, count, layer, causal, height, width, frames] = *geometry;
    require(cls >= 0 && cls <= fib::kMaxClassTokens,
            "cls must be 0 to " + std::to_string(fib::kMaxClassTokens) + ", got " + std::to_string(cls));
    require(patches >= 1 && patches <= fib::kMaxTokens - cls,
            "patches must be 1 to " + std::to_string(fib::kMaxTokens - cls) + ", got " + std::to_string(patches));
    give(pattern, fib::SupportSet(patches, cls, patterns_of(heads, count, patches + cls, patches + cls), causal != 0));
  });
}

fib_status fib_pattern_rectangular(const fib_head* heads, int64_t num_heads, int64_t query_tokens, int64_t key_tokens,
                                   fib_pattern** pattern) {
  return guarded([&] {
    std::vector<std::vector<fib::TokenPair>> lists;
    for (fib::HeadPattern& head : patterns_of(heads, num_heads, query_tokens, key_tokens))
      lists.push_back(std::move(head.pairs));
    give(pattern, fib::SupportSet::rectangular(query_tokens, key_tokens, std::move(lists)));
  });
}

void fib_pattern_free(fib_pattern* pattern) { delete pattern; }

int64_t fib_pattern_heads(const fib_pattern* pattern) { return pattern == nullptr ? 0 : pattern->support.num_heads(); }
int64_t fib_pattern_query_tokens(const fib_pattern* pattern) {
  return pattern == nullptr ? 0 : pattern->support.query_tokens();
}
int64_t fib_pattern_key_tokens(const fib_pattern* pattern) {
  return pattern == nullptr ? 0 : pattern->support.key_tokens();
}

int64_t fib_pattern_pairs(const fib_pattern* pattern, int64_t head) {
  if (pattern == nullptr || head >= pattern->support.num_heads()) return -1;
  return head < 0 ? pattern->support.pairs() : pattern->support.pairs(head);
}

double fib_pattern_pruning_ratio(const fib_pattern* pattern) {
  return pattern == nullptr ? 0.0 : pattern->support.pruning_ratio();
}

int32_t fib_pattern_contains(const fib_pattern* pattern, int64_t head, int64_t query, int64_t key) {
  if (pattern == nullptr || head < 0 || head >= pattern->support.num_heads()) return 0;
  const fib::SupportSet& s = pattern->support;
  if (query < 0 || query >= s.query_tokens() || key < 0 || key >= s.key_tokens()) return 0;
  return s.contains(head, {static_cast<int32_t>(query), static_cast<int32_t>(key)}) ? 1 : 0;
}

void fib_attention_init(fib_attention* call) {
  if (call == nullptr) return;
  *call = fib_attention{};
  call->abi_version = FIB_ABI_VERSION;
  call->bias.groups = 1;
}

fib_status fib_attention_forward(const fib_pattern* pattern, const fib_attention* call, fib_array out, void* lse) {
  return guarded([&] {
    check_call(pattern, call);
    call->type == FIB_F32 ? forward<float>(pattern->support, *call, out, lse)
                          : forward<double>(pattern->support, *call, out, lse);
  });
}

fib_status fib_attention_backward(const fib_pattern* pattern, const fib_attention* call, fib_array out, const void* lse,
                                  fib_array grad_out, const fib_gradients* gradients) {
  return guarded([&] {
    check_call(pattern, call);
    require(gradients != nullptr, "gradients must not be null");
    call->type == FIB_F32 ? backward<float>(pattern->support, *call, out, lse, grad_out, *gradients)
                          : backward<double>(pattern->support, *call, out, lse, grad_out, *gradients);
  });
}

const char* fib_simd_target(void) {
  thread_local std::string name;
  const char* text = nullptr;
  guarded([&] {
    name = fib::simd_target();
    text = name.c_str();
  });
  return text;
}

fib_status fib_set_simd_target(const char* name) {
  return guarded([&] {
    require(name != nullptr, "name must not be null");
    fib::set_simd_target(name);
  });
}
