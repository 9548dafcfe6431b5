// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <gtest/gtest.h>

#include "files.h"

namespace fib {
namespace {

std::string nested(int levels) {
  const auto times = static_cast<size_t>(levels);
  return std::string(times, '[') + std::string(times, ']');
}

TEST(Nesting, of_json_is_counted_outside_strings) {
  EXPECT_FALSE(json_nests_too_deeply(nested(kMaxNesting)));
  EXPECT_TRUE(json_nests_too_deeply(nested(kMaxNesting + 1)));
  EXPECT_TRUE(json_nests_too_deeply("[\"\\\"\"," + nested(kMaxNesting) + "]"));
  EXPECT_FALSE(json_nests_too_deeply("[\"\\\"" + nested(1000) + "\"]"));
  std::string beside = "[";
  for (int i = 0; i < 1000; ++i) beside += "{},";
  EXPECT_FALSE(json_nests_too_deeply(beside + "1]"));
}

TEST(Nesting, of_json_that_would_exhaust_the_stack_is_refused) {
  const std::string deep = nested(1 << 20);
  EXPECT_TRUE(test::mentions(test::error_of([&] { parse_json(deep); }), "nested more than 64 deep"));
  EXPECT_TRUE(parse_json_or_discard(deep).is_discarded());
}

TEST(Nesting, of_toml_that_would_exhaust_the_stack_is_refused) {
  std::string keys = "a";
  for (int i = 0; i < kMaxTomlDots; ++i) keys += ".a";
  EXPECT_NO_THROW(check_toml_nesting(keys, "a.toml"));
  EXPECT_TRUE(test::mentions(test::error_of([&] { check_toml_nesting(keys + ".a", "a.toml"); }), "a.toml: more than"));
}

}  // namespace
}  // namespace fib
