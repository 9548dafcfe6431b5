// SPDX-License-Identifier: Apache-2.0
#include "sequences/torch/decode_bench.h"

#include <fmt/format.h>

#include <memory>

#include "base/measure.h"
#include "bench/measure.h"
#include "kernels/decode.h"
#include "sequences/torch/decoder.h"

namespace fib::sequences {
namespace {

constexpr int64_t kSymbols = 256;
constexpr double kShareOfMemory = 0.8;

/// With rotary positions, which have no end.
DecoderDimensions dimensions_of(const DecodeBenchOptions& options, const AttentionSpec& attention, int64_t context) {
  DecoderDimensions dims = decoder_dimensions(options.model, {.attention = attention, .context = context});
  dims.row.positions = Positions::rotary;
  return dims;
}

int64_t cache_bytes(const DecoderDimensions& dims) {
  int64_t rows = 0;
  for (const auto& layer : dims.layers) rows += layer.rows(dims.row.context);
  return 2 * rows * dims.row.width * static_cast<int64_t>(sizeof(float));
}

/// Of the last token of the context.
int64_t keys_read(const DecoderDimensions& dims) {
  int64_t keys = 0;
  for (const auto& layer : dims.layers) keys += layer.pairs(dims.row.context) - layer.pairs(dims.row.context - 1);
  return keys;
}

/// A decoder whose cache is full; each call reads one more token.
class DecodeContestant {
 public:
  explicit DecodeContestant(const DecoderDimensions& dims)
      : dims_(dims), model_(dims, kSymbols), cache_(model_.trunk().make_cache()), q_(at::randn({dims.row.width})) {
    model_.eval();
    for (auto& layer : cache_.layers) {
      layer.k.normal_();
      layer.v.normal_();
    }
    cache_.position = dims.row.context;
    out_ = at::empty_like(q_);
  }

  void token() { model_.extend(cache_, token_); }

  void attention() {
    for (size_t i = 0; i < cache_.layers.size(); ++i) {
      const DecoderCache::Layer& layer = cache_.layers[i];
      const kernels::DecodeStep step{.heads = dims_.row.heads,
                                     .rows = layer.k.size(1),
                                     .dim = dims_.head_dim(),
                                     .position = cache_.position,
                                     .scale = 0.1F,
                                     .q = q_.data_ptr<float>(),
                                     .k = layer.k.data_ptr<float>(),
                                     .v = layer.v.data_ptr<float>(),
                                     .out = out_.data_ptr<float>()};
      dims_.layers[i].everything ? kernels::decode_everything(step)
                                 : kernels::decode_at_distances(step, dims_.layers[i].distances);
    }
    ++cache_.position;  // the next one reads other rows, as in writing
  }

 private:
  DecoderDimensions dims_;
  TextDecoder model_;
  DecoderCache cache_;
  at::Tensor q_, out_, token_ = at::zeros({1}, at::kLong);
};

}  // namespace

std::vector<DecodeBenchRow> bench_decode(const DecodeBenchOptions& options,
                                         const std::function<void(const std::string&, double)>& progress) {
  std::vector<DecodeBenchRow> rows;
  for (size_t c = 0; c < options.contexts.size(); ++c) {
    const size_t first = rows.size();
    std::vector<std::unique_ptr<DecodeContestant>> contestants;
    std::vector<std::function<void()>> calls;
    std::vector<size_t> timed;
    for (const AttentionSpec& attention : options.attentions) {
      const DecoderDimensions dims = dimensions_of(options, attention, options.contexts[c]);
      rows.push_back({.attention = attention.to_string(),
                      .context = options.contexts[c],
                      .keys = keys_read(dims),
                      .cache_bytes = cache_bytes(dims)});
      DecodeBenchRow& row = rows.back();
      const auto room = static_cast<int64_t>(kShareOfMemory * static_cast<double>(bench::available_memory()));
      if (row.cache_bytes > room) {
        row.reason =
            fmt::format("its keys and values take {:.1f} GB, {:.1f} GB are free",
                        static_cast<double>(row.cache_bytes) / kGigabyte, static_cast<double>(room) / kGigabyte);
        continue;
      }
      contestants.push_back(std::make_unique<DecodeContestant>(dims));
      DecodeContestant* const contestant = contestants.back().get();
      calls.emplace_back([contestant] { contestant->token(); });
      calls.emplace_back([contestant] { contestant->attention(); });
      timed.push_back(rows.size() - 1);
    }
    if (calls.empty()) continue;
    for (const auto& call : calls) call();
    const std::vector<bench::Timing> times = bench::time_interleaved(calls, options.timing, [&](double done) {
      progress(fmt::format("{} tokens", rows[first].context),
               (static_cast<double>(c) + done) / static_cast<double>(options.contexts.size()));
    });
    for (size_t i = 0; i < timed.size(); ++i) {
      rows[timed[i]].token = times[2 * i];
      rows[timed[i]].attention_step = times[2 * i + 1];
    }
  }
  return rows;
}

}  // namespace fib::sequences
