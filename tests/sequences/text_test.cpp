// SPDX-License-Identifier: Apache-2.0
#include "sequences/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "files.h"
#include "sequences/sampling.h"

namespace fib::sequences {
namespace {

using test::error_of;
using test::mentions;

std::string read_error(const std::string& content, const TextOptions& options) {
  const test::TemporaryDirectory directory;
  test::write_file(directory / "t.txt", content);
  return error_of([&] { read_text(directory / "t.txt", options); });
}

TEST(Vocabulary, of_characters_is_in_the_order_of_their_code_points) {
  const Vocabulary v = Vocabulary::characters_of("zebra é€😀a");
  EXPECT_EQ(v.text(), " aberzé€😀");
  EXPECT_EQ(v.size(), 9);
  EXPECT_EQ(v.encode("a😀"), (std::vector<int32_t>{1, 8}));
  EXPECT_EQ(v.decode(std::vector<int32_t>{7, 0, 6}), "€ é");
  EXPECT_EQ(Vocabulary::parse(Symbols::characters, v.text()).text(), v.text());
}

TEST(Vocabulary, of_bytes_takes_every_byte_and_gives_it_back) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  const Vocabulary v = Vocabulary::bytes();
  EXPECT_EQ(v.size(), 256);
  EXPECT_EQ(v.decode(v.encode(all)), all);
}

TEST(Vocabulary, refuses_what_is_no_utf8_or_was_not_learned) {
  for (const char* text : {"ab\xff", "ab\xc0\xaf", "ab\xed\xa0\x80", "ab\xe2\x82", "ab\xf5\x80\x80\x80"})
    EXPECT_TRUE(mentions(error_of([&] { Vocabulary::characters_of(text); }), "byte 2 is 0x")) << text;
  const std::string error = error_of([] { Vocabulary::characters_of("abc").encode("abx"); });
  EXPECT_TRUE(mentions(error, "'x' at byte 2 is none of the 3"));
}

TEST(Text, is_divided_at_its_end) {
  const test::TemporaryDirectory directory;
  test::write_file(directory / "t.txt", std::string(1000, 'x'));
  const Text text = read_text(directory / "t.txt", {.test_share = 0.1, .validation_share = 0.2, .context = 8});
  EXPECT_EQ(text.test.begin, 900);
  EXPECT_EQ(text.test.end, 1000);
  EXPECT_EQ(text.validation.begin, 720);
  EXPECT_EQ(text.train.end, 720);
  EXPECT_EQ(text.bytes_per_symbol(), 1);
}

TEST(Text, refuses_a_bad_file_in_one_line) {
  EXPECT_TRUE(mentions(read_error("", {}), "is empty"));
  EXPECT_TRUE(mentions(read_error(std::string(100, 'x'), {.context = 64}), "needed, a context of 64 and one more"));
  EXPECT_TRUE(mentions(read_error(std::string(100, 'x'), {.test_share = 0, .validation_share = 0, .context = 8}),
                       "0 symbols to test on"));
  EXPECT_TRUE(mentions(read_error("abc\xff" + std::string(999, 'x'), {.symbols = Symbols::characters, .context = 8}),
                       "byte 3 is 0xff, which is no UTF-8: symbols=bytes takes any text"));
  EXPECT_TRUE(mentions(error_of([] { read_text("/no/such/file", {}); }), "/no/such/file"));
}

TEST(DrawSymbol, of_temperature_zero_is_the_most_probable) {
  CounterRng rng(1);
  EXPECT_EQ(draw_symbol(std::vector<float>{0, 3, 3, 1}, {.temperature = 0}, rng), 1);
}

TEST(DrawSymbol, draws_as_often_as_the_softmax_says) {
  const std::vector<float> logits = {0, 1, 2, -1};
  std::vector<double> counts(4);
  CounterRng rng(2);
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) ++counts[static_cast<size_t>(draw_symbol(logits, {.temperature = 0.5}, rng))];
  double sum = 0;
  for (const float x : logits) sum += std::exp(2 * static_cast<double>(x));
  for (size_t i = 0; i < 4; ++i)
    EXPECT_NEAR(counts[i] / kDraws, std::exp(2 * static_cast<double>(logits[i])) / sum, 0.01) << i;
}

TEST(DrawSymbol, of_top_k_draws_no_other) {
  const std::vector<float> logits = {0, 1, 0.9F, 0.8F};
  CounterRng rng(3);
  std::vector<int> counts(4);
  for (int i = 0; i < 500; ++i) ++counts[static_cast<size_t>(draw_symbol(logits, {.top_k = 2}, rng))];
  EXPECT_EQ(counts[0] + counts[3], 0);
  EXPECT_GT(counts[1], 0);
  EXPECT_GT(counts[2], 0);
}

TEST(DrawSymbol, refuses_logits_that_are_no_numbers) {
  CounterRng rng(4);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const std::vector<float> logits = {0, bad, 1};
    EXPECT_TRUE(mentions(error_of([&] { draw_symbol(logits, {}, rng); }), "no numbers, or infinite"));
  }
}

}  // namespace
}  // namespace fib::sequences
