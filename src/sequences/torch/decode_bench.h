// SPDX-License-Identifier: Apache-2.0
// What the next token costs a decoder that has a context behind it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "fibottention/pattern.h"

namespace fib::sequences {

struct DecodeBenchOptions {
  std::string model = "nanogpt_cpu";
  std::vector<AttentionSpec> attentions;
  std::vector<int64_t> contexts = {1024, 262144};
  bench::TimingOptions timing{};
};

struct DecodeBenchRow {
  std::string attention;
  int64_t context = 0;
  int64_t keys = 0;                                  ///< that a token reads, over all layers and heads
  int64_t cache_bytes = 0;                           ///< of all keys and values that must be kept
  std::optional<bench::Timing> token = {};           ///< the whole model, embedding to logits
  std::optional<bench::Timing> attention_step = {};  ///< of that, the reading of keys and values alone
  std::string reason = {};                           ///< why there are no times
};

/// Weights, keys and values are random; positions are rotary. All attentions of a context take turns. `progress` is
/// told what is measured and how much of all is done.
std::vector<DecodeBenchRow> bench_decode(const DecodeBenchOptions& options,
                                         const std::function<void(const std::string&, double)>& progress);

}  // namespace fib::sequences
