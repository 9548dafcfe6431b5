// SPDX-License-Identifier: Apache-2.0
#include "report/fields.h"

#include <gtest/gtest.h>

namespace fib::report {
namespace {

struct Row {
  std::string name;
  int64_t count = 0;
  std::optional<double> time = {};
};

Fields<Row> fields() {
  return {text_field<Row>("name", "what", [](const Row& r) { return r.name; }),
          field<Row>(
              "size.count", "count", [](const Row& r) { return r.count; }, [](int64_t n) { return std::to_string(n); }),
          hidden_field<Row>("size.double", [](const Row& r) { return 2 * r.count; }),
          field<Row>(
              "time", "time", [](const Row& r) { return r.time; },
              [](std::optional<double> t) { return t ? "known" : "–"; })};
}

TEST(Fields, give_json_and_table_of_one_list) {
  const std::vector<Row> rows = {{"a", 1, 0.5}, {"a", 20}};
  const auto json = fields_json(fields(), rows);
  EXPECT_EQ(json[0], (nlohmann::ordered_json{{"name", "a"}, {"size", {{"count", 1}, {"double", 2}}}, {"time", 0.5}}));
  EXPECT_TRUE(json[1]["time"].is_null());
  EXPECT_EQ(fields_table(fields(), rows), "what  count   time\na         1  known\na        20      –\n");
  EXPECT_EQ(fields_table(fields(), rows, 1), "what  count   time\na         1  known\n         20      –\n");
}

}  // namespace
}  // namespace fib::report
