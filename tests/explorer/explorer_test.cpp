// SPDX-License-Identifier: Apache-2.0
#include "explorer/explorer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "attention/registry.h"
#include "explorer/view.h"
#include "report/pattern_summary.h"

namespace fib::explorer {
namespace {

using Json = nlohmann::ordered_json;

Json request(const std::string& attention, int64_t height = 6, int64_t width = 5) {
  return {{"attention", attention}, {"height", height}, {"width", width}, {"heads", 4}, {"cls", 1}, {"layer", 2}};
}

Json open(const Json& r) { return Json::parse(fib_explorer_open(0, r.dump().c_str())); }

TEST(Explorer, describes_every_mechanism_of_the_registry) {
  const Json list = Json::parse(fib_explorer_mechanisms());
  ASSERT_EQ(list.size(), attention::mechanisms().size());
  for (const Json& m : list) {
    const Json answer = open(request(m["name"]));
    ASSERT_FALSE(answer.contains("error")) << answer;
    EXPECT_EQ(answer["pattern"].is_null(), !m["pattern"].get<bool>()) << m;
    EXPECT_GT(answer["cost"]["mechanism"]["macs"], 0) << m;
  }
}

TEST(Explorer, says_what_the_command_says) {
  const AttentionSpec spec = AttentionSpec::parse("bigbird:w=2,random=7");
  const auto support_of = [&](int64_t layer) {
    return make_support(spec, {.patches = 30, .cls = 1, .heads = 4, .layer = layer});
  };
  const SupportSet s = support_of(2);
  Json expected = report::pattern_json(report::summarize_pattern(spec, s, support_of, kReachLayers));
  expected.erase("memory_bytes");
  EXPECT_EQ(open(request("bigbird:w=2,random=7"))["pattern"], expected);
  const Json keys = Json::parse(fib_explorer_keys(0, 9));
  for (int64_t h = 0; h < 4; ++h) EXPECT_EQ(keys[static_cast<size_t>(h)], s.keys_of_row(h, 9));
}

TEST(Explorer, draws_a_pixel_for_every_pair) {
  open(request("bigbird:random=7"));
  const SupportSet s =
      make_support(AttentionSpec::parse("bigbird:random=7"), {.patches = 30, .cls = 1, .heads = 4, .layer = 2});
  const unsigned char* mask = fib_explorer_mask(0, 3, 31);
  ASSERT_NE(mask, nullptr);
  int listed = 0;
  for (int32_t q = 0; q < 31; ++q) {
    for (int32_t k = 0; k < 31; ++k) {
      EXPECT_EQ(mask[q * 31 + k] != 0, s.contains(3, {q, k}));
      listed += mask[q * 31 + k] == 4 ? 1 : 0;
    }
  }
  EXPECT_EQ(listed, 7);
}

TEST(Explorer, answers_what_it_cannot_show_with_one_line) {
  EXPECT_NE(open(request("fibotention"))["error"].get<std::string>().find("did you mean 'fibottention'"),
            std::string::npos);
  EXPECT_NE(open(request("local:w=0"))["error"].get<std::string>().find("got '0'"), std::string::npos);
  EXPECT_NE(open(request("local", 65, 64))["error"].get<std::string>().find("4160"), std::string::npos);
  EXPECT_TRUE(Json::parse(fib_explorer_open(0, "{")).contains("error"));
  EXPECT_TRUE(Json::parse(fib_explorer_open(7, request("local").dump().c_str())).contains("error"));
  EXPECT_TRUE(Json::parse(fib_explorer_keys(1, 0)).contains("error"));
  open(request("linformer"));
  EXPECT_TRUE(Json::parse(fib_explorer_svg(0)).contains("error"));
  EXPECT_EQ(fib_explorer_mask(0, 0, 10), nullptr);
}

}  // namespace
}  // namespace fib::explorer
