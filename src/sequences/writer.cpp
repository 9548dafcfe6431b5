// SPDX-License-Identifier: Apache-2.0
#include "sequences/writer.h"

#include <algorithm>

namespace fib::sequences {
namespace {

/// Keeps what is written apart from all other uses of the seed.
constexpr uint64_t kWritingStream = 0x77726974;

/// Read at once where places do not end: as long as a signal should wait at most.
constexpr size_t kMostAtOnce = 1024;

}  // namespace

Writer::Writer(TokenModel& model, const SamplingOptions& sampling, uint64_t seed)
    : model_(model), sampling_(sampling), rng_(seed, {kWritingStream}) {}

void Writer::feed(std::span<const int32_t> symbols) {
  logits_ = model_.read(symbols);
  if (model_.most_positions() > 0) seen_.insert(seen_.end(), symbols.begin(), symbols.end());
}

void Writer::read(std::span<const int32_t> symbols) {
  const auto places = static_cast<size_t>(model_.most_positions());
  while (!symbols.empty()) {
    if (places > 0 && seen_.size() == places) {
      const std::vector<int32_t> later(seen_.end() - static_cast<int64_t>(places / 2), seen_.end());
      model_.restart();
      seen_.clear();
      if (!later.empty()) feed(later);
    }
    const size_t count = std::min(symbols.size(), places > 0 ? places - seen_.size() : kMostAtOnce);
    feed(symbols.first(count));
    symbols = symbols.subspan(count);
  }
}

int32_t Writer::next() {
  const int32_t symbol = draw_symbol(logits_, sampling_, rng_);
  read({&symbol, 1});
  return symbol;
}

}  // namespace fib::sequences
