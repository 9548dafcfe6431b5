// SPDX-License-Identifier: Apache-2.0
#include "sequences/decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/nearest.h"

namespace fib::sequences {
namespace {

constexpr int64_t kMostContext = int64_t{1} << 24;  // far beyond what anyone trains; a typed digit too many is caught

void check(const DecoderDimensions& d) {
  const auto require = [](bool good, const std::string& message) {
    if (!good) throw std::invalid_argument(message);
  };
  require(d.row.context >= 1 && d.row.context <= kMostContext,
          fmt::format("context must be 1 to {}, got {}", kMostContext, d.row.context));
  require(d.options.dropout >= 0 && d.options.dropout < 1,
          fmt::format("dropout must be in [0, 1), got {}", d.options.dropout));
  require(d.row.positions != Positions::rotary || d.head_dim() % 2 == 0,
          fmt::format("rotary positions turn pairs of channels: {} has heads of {}", d.row.name, d.head_dim()));
}

}  // namespace

const std::vector<DecoderRow>& decoders() {
  static const std::vector<DecoderRow> rows = [] {
    std::vector<DecoderRow> all = {
        // name, layers, heads, width, context
        {"gpt2", 12, 12, 768, 1024},     {"gpt2_medium", 24, 16, 1024, 1024}, {"gpt2_large", 36, 20, 1280, 1024},
        {"gpt2_xl", 48, 25, 1600, 1024}, {"nanogpt_char", 6, 6, 384, 256},  // nanoGPT's model of characters
        {"nanogpt_cpu", 4, 4, 128, 64},                                     // the same as nanoGPT trains it on a CPU
        {"series_small", 3, 4, 64, 64},  {"series_base", 3, 16, 128, 64},   // as wide as PatchTST's
        {"mini_decoder", 2, 2, 16, 16},                                     // milliseconds, for tests
    };
    for (size_t i = 0, count = all.size(); i < count; ++i) {
      all.push_back(all[i]);
      all.back().name += "_rotary";
      all.back().positions = Positions::rotary;
    }
    return all;
  }();
  return rows;
}

const DecoderRow& find_decoder(const std::string& name) {
  return find_named(decoders(), "decoder", name, &DecoderRow::name);
}

double DecoderDimensions::pruning_ratio() const {
  double sum = 0;
  for (const CausalLayer& layer : layers) sum += layer.pruning_ratio(row.context);
  return sum / static_cast<double>(layers.size());
}

DecoderDimensions decoder_dimensions(const std::string& name, const DecoderOptions& options) {
  DecoderDimensions d{find_decoder(name), options, {}};
  d.row.context = options.context.value_or(d.row.context);
  check(d);
  for (int64_t layer = 0; layer < d.row.layers; ++layer)
    d.layers.push_back(causal_layer(options.attention, {d.row.heads, d.row.context, layer}));
  return d;
}

int64_t decoder_parameters(const DecoderDimensions& d, int64_t symbols) {
  const int64_t w = d.row.width;
  const int64_t block = (w + 1) * 3 * w + (w + 1) * w + (w + 1) * 4 * w + (4 * w + 1) * w + 4 * w;
  const int64_t places = d.row.positions == Positions::learned ? d.row.context * w : 0;
  return symbols * w + places + d.row.layers * block + 2 * w;
}

}  // namespace fib::sequences
