// SPDX-License-Identifier: Apache-2.0
#include "sequences/source.h"

#include <gtest/gtest.h>

#include "files.h"
#include "sequences/series.h"
#include "sequences/text.h"

namespace fib::sequences {
namespace {

using test::error_of;
using test::mentions;

std::string text_error(const std::string& data) {
  return error_of([&] { text_source(data); });
}

TEST(Source, takes_options_after_the_file) {
  const TextSource text = text_source("text:a/b c.txt?symbols=characters&context=256&test=0.05&epoch_steps=250");
  EXPECT_EQ(text.file, "a/b c.txt");
  EXPECT_EQ(text.options.symbols, Symbols::characters);
  EXPECT_EQ(text.context, 256);
  EXPECT_EQ(text.options.test_share, 0.05);
  EXPECT_EQ(text.epoch_steps, 250);
  const SeriesSource series = series_source("series:e.csv?split=months&look_back=512&horizon=24&patch=12&stride=4");
  EXPECT_EQ(series.options.split, SeriesSplit::months);
  EXPECT_EQ(series.patching.count(), (512 - 12) / 4 + 1);
  EXPECT_EQ(series.options.horizon, 24);
}

TEST(Source, refuses_anything_else_in_one_line) {
  EXPECT_TRUE(mentions(text_error("cifar10"), "data 'cifar10': the task text takes text:FILE"));
  EXPECT_TRUE(mentions(text_error("text:"), "takes text:FILE"));
  EXPECT_TRUE(mentions(text_error("series:f.csv"), "takes text:FILE"));
  EXPECT_TRUE(
      mentions(text_error("text:f?simbols=bytes"), "unknown option of text 'simbols', did you mean 'symbols'?"));
  EXPECT_TRUE(mentions(text_error("text:f?symbols=words"), "received 'words', accepted bytes, characters"));
  EXPECT_TRUE(mentions(text_error("text:f?context=0"), "received '0', accepted an integer from 1"));
  EXPECT_TRUE(mentions(text_error("text:f?context"), "'context' of text: accepted is context=VALUE"));
  EXPECT_TRUE(mentions(text_error("text:f?context=2&context=3"), "once"));
  EXPECT_TRUE(mentions(text_error("text:f?test=1"), "accepted a number from 0 to below 1"));
  EXPECT_TRUE(
      mentions(error_of([] { series_source("series:f?patch=400"); }), "patch 400 of series exceeds look_back 336"));
}

}  // namespace
}  // namespace fib::sequences
