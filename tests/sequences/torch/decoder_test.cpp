// SPDX-License-Identifier: Apache-2.0
#include "sequences/torch/decoder.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "decoders.h"

namespace fib::sequences {
namespace {

using namespace test;

void expect_equal_token_by_token(const std::string& attention, Positions positions) {
  constexpr int64_t kContext = 40;
  const auto model = decoder(attention, kContext, positions);
  const at::NoGradGuard no_grad;
  const at::Tensor tokens = some_tokens(kContext);
  const at::Tensor whole = model->forward(tokens.unsqueeze(0))[0];
  DecoderCache one_by_one = model->trunk().make_cache();
  for (int64_t t = 0; t < kContext; ++t) {
    const at::Tensor next = model->extend(one_by_one, tokens.narrow(0, t, 1));
    EXPECT_LT((next - whole[t]).abs().max().item<double>(), 1e-5) << attention << ", token " << t;
  }
  DecoderCache in_parts = model->trunk().make_cache();
  model->extend(in_parts, tokens.narrow(0, 0, 17));
  const at::Tensor last = model->extend(in_parts, tokens.narrow(0, 17, kContext - 17));
  EXPECT_LT((last - whole[kContext - 1]).abs().max().item<double>(), 1e-5) << attention;
}

TEST(Decoder, with_a_cache_equals_the_whole_forward_for_every_mechanism) {
  const std::vector<std::string> names = causal_mechanisms();
  for (const char* needed :
       {"full", "fibottention", "fibottention-modified", "local", "longformer", "sparse-transformer"})
    EXPECT_TRUE(std::ranges::count(names, needed) == 1) << needed;
  for (const std::string& name : names)
    for (const Positions positions : {Positions::learned, Positions::rotary})
      expect_equal_token_by_token(name, positions);
}

/// The cache is a ring that holds what is looked back at: with rotary positions it serves any number of tokens.
TEST(Decoder, with_rotary_positions_goes_on_beyond_its_context) {
  const auto model = decoder("fibottention:local=2", 24, Positions::rotary);
  const at::NoGradGuard no_grad;
  const at::Tensor tokens = some_tokens(150);
  const at::Tensor whole = model->forward(tokens.unsqueeze(0))[0];
  DecoderCache cache = model->trunk().make_cache();
  EXPECT_LT(cache.layers.front().k.size(1), 24);
  for (int64_t t = 0; t < 150; ++t)
    EXPECT_LT((model->extend(cache, tokens.narrow(0, t, 1)) - whole[t]).abs().max().item<double>(), 1e-5) << t;
}

TEST(Decoder, looks_at_no_later_token) {
  for (const std::string& name : causal_mechanisms()) {
    const auto model = decoder(name, 40, Positions::learned);
    const at::NoGradGuard no_grad;
    at::Tensor tokens = some_tokens(40).unsqueeze(0);
    const at::Tensor before = model->forward(tokens);
    tokens[0][30] = (tokens[0][30] + 1) % kSymbols;
    const at::Tensor changed = (model->forward(tokens) - before).abs().amax(-1)[0];
    EXPECT_EQ(changed.narrow(0, 0, 30).max().item<double>(), 0) << name;
    EXPECT_GT(changed[30].item<double>(), 0) << name;
  }
}

TEST(Decoder, has_as_many_parameters_as_are_counted) {
  for (const char* name : {"nanogpt_cpu", "nanogpt_cpu_rotary"}) {
    const DecoderDimensions dims = decoder_dimensions(name);
    int64_t parameters = 0;
    for (const auto& parameter : TextDecoder(dims, 65).parameters()) parameters += parameter.numel();
    EXPECT_EQ(parameters, decoder_parameters(dims, 65));
  }
  // GPT-2's published size: the embedding of 50,257 symbols is the classifier too.
  EXPECT_EQ(decoder_parameters(decoder_dimensions("gpt2"), 50257), 124439808);
}

TEST(Decoder, refuses_what_does_not_fit) {
  EXPECT_TRUE(mentions(error_of([] { decoder_dimensions("gpt3"); }), "unknown decoder 'gpt3'"));
  EXPECT_TRUE(mentions(error_of([] { decoder_dimensions("gpt2", {.attention = {"topk", {}}}); }), "cannot be causal"));
  EXPECT_TRUE(mentions(error_of([] { decoder_dimensions("gpt2", {.context = 0}); }), "context must be 1 to"));
  const auto model = decoder("full", 8, Positions::learned);
  EXPECT_TRUE(mentions(error_of([&] { model->forward(some_tokens(9).unsqueeze(0)); }),
                       "learned positions for 8 tokens, got 9"));
}

}  // namespace
}  // namespace fib::sequences
