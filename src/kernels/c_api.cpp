// SPDX-License-Identifier: Apache-2.0
#include <omp.h>

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

/// Far beyond any machine; libgomp ends the program where it cannot make a thread.
constexpr int32_t kMostThreads = 1024;

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

void check_call(const fib_attention* call) {
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
  fib::DenseOptions<T> options;

  Translated(int64_t heads, int64_t query_tokens, int64_t key_tokens, const fib_attention& c)
      : shape{c.batch, heads, query_tokens, key_tokens, c.dim, c.value_dim},
        inputs{view<const T>(c.q), view<const T>(c.k), view<const T>(c.v)} {
    if (c.scale != 0.0) options.scale = c.scale;
    options.masking = c.masking == FIB_MASKING_ZERO ? fib::Masking::zero : fib::Masking::exclude;
    options.lengths = c.lengths;
    options.bias = view<const T>(c.bias);
    options.dropout = c.dropout;
    options.dropout_seed = c.dropout_seed;
  }
  Translated(const fib::SupportSet& s, const fib_attention& c)
      : Translated(s.num_heads(), s.query_tokens(), s.key_tokens(), c) {}
  Translated(const fib_dense& d, const fib_attention& c) : Translated(d.heads, d.query_tokens, d.key_tokens, c) {
    options.causal = d.causal != 0;
  }
};

template <class T>
fib::AttentionGradients<T> gradients_of(const fib_gradients& g) {
  return {view<T>(g.dq), view<T>(g.dk), view<T>(g.dv), view<T>(g.dbias)};
}

/// Calls body(0.0F) or body(0.0), whichever the call computes in.
template <class Body>
void in_type_of(const fib_attention* call, const Body& body) {
  check_call(call);
  call->type == FIB_F32 ? body(float{}) : body(double{});
}

/// Null for a pattern or a head that does not exist.
const fib::SupportSet::Head* head_of(const fib_pattern* pattern, int64_t head) {
  if (pattern == nullptr || head < 0 || head >= pattern->support.num_heads()) return nullptr;
  return &pattern->support.head(head);
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

const int64_t* fib_pattern_offsets(const fib_pattern* pattern, int64_t head, int64_t* count) {
  const auto* found = head_of(pattern, head);
  if (count != nullptr) *count = found == nullptr ? 0 : static_cast<int64_t>(found->offsets.size());
  return found == nullptr ? nullptr : found->offsets.data();
}

int64_t fib_pattern_window(const fib_pattern* pattern, int64_t head) {
  const auto* found = head_of(pattern, head);
  return found == nullptr ? -1 : found->window;
}

int32_t fib_pattern_diagonal(const fib_pattern* pattern, int64_t head) {
  const auto* found = head_of(pattern, head);
  return found == nullptr ? -1 : static_cast<int32_t>(found->diagonal);
}

int64_t fib_pattern_patch_pairs(const fib_pattern* pattern) {
  return pattern == nullptr ? 0 : pattern->support.patch_pairs();
}

int64_t fib_pattern_neighbor_pairs(const fib_pattern* pattern, int64_t head) {
  return head_of(pattern, head) == nullptr ? -1 : pattern->support.neighbor_pairs(head);
}

int64_t fib_pattern_summaries(const fib_pattern* pattern) {
  return pattern == nullptr || !pattern->support.summaries() ? 0 : pattern->support.summaries()->count();
}

fib_status fib_pattern_list_pairs(const fib_pattern* pattern, int64_t head, int64_t* pairs, int64_t capacity,
                                  int64_t* count) {
  return guarded([&] {
    require(count != nullptr, "count must not be null");
    require(head_of(pattern, head) != nullptr, "there is no head " + std::to_string(head));
    const fib::SupportSet& s = pattern->support;
    *count = s.pairs(head) - s.summary_pairs();
    if (pairs == nullptr) return;
    require(capacity >= *count,
            "capacity must be " + std::to_string(*count) + " or more, got " + std::to_string(capacity));
    for (int64_t query = 0; query < s.query_tokens(); ++query) {
      for (int64_t key : s.keys_of_row(head, query)) {
        *pairs++ = query;
        *pairs++ = key;
      }
    }
  });
}

int64_t fib_pattern_memory(const fib_pattern* pattern) {
  return pattern == nullptr ? 0 : pattern->support.memory_bytes();
}

void fib_attention_init(fib_attention* call) {
  if (call == nullptr) return;
  *call = fib_attention{};
  call->abi_version = FIB_ABI_VERSION;
  call->bias.groups = 1;
}

fib_status fib_attention_forward(const fib_pattern* pattern, const fib_attention* call, fib_array out, void* lse) {
  return guarded([&] {
    require(pattern != nullptr, "pattern must not be null");
    in_type_of(call, [&]<class T>(T) {
      const Translated<T> t(pattern->support, *call);
      fib::attention_forward<T>(pattern->support, t.shape, t.inputs, view<T>(out), static_cast<T*>(lse), t.options);
    });
  });
}

fib_status fib_attention_backward(const fib_pattern* pattern, const fib_attention* call, fib_array out, const void* lse,
                                  fib_array grad_out, const fib_gradients* gradients) {
  return guarded([&] {
    require(pattern != nullptr, "pattern must not be null");
    require(gradients != nullptr, "gradients must not be null");
    in_type_of(call, [&]<class T>(T) {
      const Translated<T> t(pattern->support, *call);
      fib::attention_backward<T>(pattern->support, t.shape, t.inputs, view<const T>(out), static_cast<const T*>(lse),
                                 view<const T>(grad_out), gradients_of<T>(*gradients), t.options);
    });
  });
}

fib_status fib_dense_attention_forward(const fib_dense* dense, const fib_attention* call, fib_array out, void* lse) {
  return guarded([&] {
    require(dense != nullptr, "dense must not be null");
    in_type_of(call, [&]<class T>(T) {
      const Translated<T> t(*dense, *call);
      fib::dense_attention_forward<T>(t.shape, t.inputs, view<T>(out), static_cast<T*>(lse), t.options);
    });
  });
}

fib_status fib_dense_attention_backward(const fib_dense* dense, const fib_attention* call, fib_array out,
                                        const void* lse, fib_array grad_out, const fib_gradients* gradients) {
  return guarded([&] {
    require(dense != nullptr, "dense must not be null");
    require(gradients != nullptr, "gradients must not be null");
    in_type_of(call, [&]<class T>(T) {
      const Translated<T> t(*dense, *call);
      fib::dense_attention_backward<T>(t.shape, t.inputs, view<const T>(out), static_cast<const T*>(lse),
                                       view<const T>(grad_out), gradients_of<T>(*gradients), t.options);
    });
  });
}

fib_status fib_set_num_threads(int32_t threads) {
  return guarded([&] {
    require(threads >= 1 && threads <= kMostThreads,
            "threads must be 1 to " + std::to_string(kMostThreads) + ", got " + std::to_string(threads));
    omp_set_num_threads(threads);
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
