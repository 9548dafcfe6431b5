// SPDX-License-Identifier: Apache-2.0
// Decoders that tests of the cache try.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "attention/registry.h"
#include "files.h"
#include "sequences/torch/decoder.h"

namespace fib::test {

using sequences::TextDecoder, sequences::Positions;

constexpr int64_t kSymbols = 11;

/// Those of the registry that can be causal, and options of theirs.
inline std::vector<std::string> causal_mechanisms() {
  std::vector<std::string> names = {"fibottention:local=2", "fibottention:stretch=1,permute=none",
                                    "local:w=3,diagonal=true", "longformer:w=2,dilation=2"};
  for (const attention::MechanismInfo& mechanism : attention::mechanisms())
    if (error_of([&] { sequences::causal_layer({mechanism.name, {}}, {.heads = 2, .context = 40}); }).empty())
      names.push_back(mechanism.name);
  return names;
}

inline std::shared_ptr<TextDecoder> decoder(const std::string& attention, int64_t context, Positions positions) {
  torch::manual_seed(3);
  const char* const row = positions == Positions::rotary ? "mini_decoder_rotary" : "mini_decoder";
  auto model = std::make_shared<TextDecoder>(
      sequences::decoder_dimensions(row, {.attention = AttentionSpec::parse(attention), .context = context}), kSymbols);
  model->eval();
  const at::NoGradGuard no_grad;
  for (const auto& parameter : model->parameters()) parameter.add_(at::randn_like(parameter) * 0.2);  // far from even
  return model;
}

inline at::Tensor some_tokens(int64_t count) {
  torch::manual_seed(5);
  return at::randint(kSymbols, {count}, at::kLong);
}

}  // namespace fib::test
