// SPDX-License-Identifier: Apache-2.0
// Compiled decoders against LibTorch's whole forward.
#include "sequences/torch/compile_text.h"

#include <gtest/gtest.h>

#include "decoders.h"

namespace fib::sequences {
namespace {

using namespace test;

constexpr int64_t kTokens = 40;

/// As `fib compile` makes it of a run, but for the text that was learned.
std::filesystem::path compiled(const std::shared_ptr<TextDecoder>& model, const TemporaryDirectory& directory) {
  TrainedText text{.recipe = {}, .weights = {}, .vocabulary = Vocabulary::characters_of("abcdefghijk"), .model = model};
  text.recipe.model.name = model->trunk().dimensions().row.name;
  engine::TensorStore tensors;
  const engine::FibContent content = compiled_text(text, engine::Precision::f32, tensors);
  engine::write_fib(directory / "t.fib", content, tensors.views());
  return directory / "t.fib";
}

TEST(CompiledText, equals_the_whole_forward_token_by_token_for_every_mechanism) {
  const TemporaryDirectory directory;
  const at::Tensor tokens = some_tokens(kTokens);
  const std::vector<int64_t> numbers(tokens.data_ptr<int64_t>(), tokens.data_ptr<int64_t>() + kTokens);
  const std::vector<int32_t> symbols(numbers.begin(), numbers.end());
  for (const std::string& name : causal_mechanisms()) {
    for (const Positions positions : {Positions::learned, Positions::rotary}) {
      const auto model = decoder(name, kTokens, positions);
      const at::NoGradGuard no_grad;
      const at::Tensor whole = model->forward(tokens.unsqueeze(0))[0];
      CompiledText one_by_one(compiled(model, directory));
      const auto distance = [&](std::span<const float> logits, int64_t t) {
        const at::Tensor own = at::tensor(at::ArrayRef<float>(logits.data(), logits.size()));
        return (own - whole[t]).abs().max().item<double>();
      };
      for (int64_t t = 0; t < kTokens; ++t)
        EXPECT_LT(distance(one_by_one.read({&symbols[static_cast<size_t>(t)], 1}), t), 1e-5) << name << ", token " << t;
      one_by_one.restart();
      EXPECT_LT(distance(one_by_one.read(symbols), kTokens - 1), 1e-5) << name;
    }
  }
}

TEST(CompiledText, writes_what_libtorch_writes) {
  const TemporaryDirectory directory;
  for (const Positions positions : {Positions::learned, Positions::rotary}) {
    const auto model = decoder("fibottention:local=2", 16, positions);
    CachedDecoder ours(*model);
    CompiledText theirs(compiled(model, directory));
    const auto written = [](TokenModel& decoder) {
      Writer writer(decoder, {.temperature = 0}, 1);
      writer.read(std::vector<int32_t>{3, 1, 4});
      std::vector<int32_t> symbols;
      for (int i = 0; i < 40; ++i) symbols.push_back(writer.next());  // beyond the learned positions, too
      return symbols;
    };
    EXPECT_EQ(written(theirs), written(ours));
    EXPECT_EQ(theirs.cache_bytes() > 0, true);
    EXPECT_EQ(theirs.most_positions(), ours.most_positions());
  }
}

TEST(CompiledText, is_refused_where_its_symbols_are_others) {
  const TemporaryDirectory directory;
  const auto file = compiled(decoder("full", 16, Positions::rotary), directory);
  const SafetensorsFile read(file);
  const auto error = [&](const char* key, const char* value) {
    TensorMetadata metadata = read.metadata();
    metadata[key] = value;
    write_safetensors(directory / "other.fib", read.tensors(), metadata);
    return error_of([&] { CompiledText{directory / "other.fib"}; });
  };
  EXPECT_TRUE(mentions(error("vocabulary", "abc"), "has 3 symbols, its steps give logits of 11"));
  EXPECT_TRUE(mentions(error("symbols", "bytes"), "has 256 symbols"));
  EXPECT_TRUE(mentions(error("task", "series"), "is no decoder of texts"));
}

}  // namespace
}  // namespace fib::sequences
