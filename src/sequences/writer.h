// SPDX-License-Identifier: Apache-2.0
// Text that is written symbol by symbol, whatever carries out the decoder.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/rng.h"
#include "sequences/sampling.h"

namespace fib::sequences {

/// A decoder that reads tokens one after another and keeps what later ones look back at.
class TokenModel {
 public:
  TokenModel() = default;
  TokenModel(const TokenModel&) = delete;
  TokenModel& operator=(const TokenModel&) = delete;
  virtual ~TokenModel() = default;

  /// Reads the tokens that come next: the logits of what follows the last of them, until the next call.
  virtual std::span<const float> read(std::span<const int32_t> tokens) = 0;
  /// Forgets all tokens.
  virtual void restart() = 0;
  /// Where learned positions end; 0: nowhere.
  virtual int64_t most_positions() const = 0;
  /// Of the keys and values that it keeps.
  virtual int64_t cache_bytes() const = 0;
};

/// Reads symbols and writes the next ones, each after a look at the cache alone. Where learned positions end, it begins
/// anew with the later half of them.
class Writer {
 public:
  Writer(TokenModel& model, const SamplingOptions& sampling, uint64_t seed);

  void read(std::span<const int32_t> symbols);
  /// Draws a symbol and reads it. Something must have been read.
  int32_t next();

 private:
  void feed(std::span<const int32_t> symbols);

  TokenModel& model_;
  SamplingOptions sampling_;
  CounterRng rng_;
  std::vector<int32_t> seen_;  ///< since the model was empty; kept where places end
  std::span<const float> logits_;
};

}  // namespace fib::sequences
