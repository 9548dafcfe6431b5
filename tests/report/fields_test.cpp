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

TEST(Fields, leave_out_columns_without_a_value_in_any_row) {
  Fields<Row> list = fields();
  list.push_back(shown_field<Row>("note", [](const Row& r) { return r.count == 20 ? "twenty" : ""; }));
  EXPECT_EQ(fields_table(list, {{"a", 1}}), "what  count  time\na         1     –\n");
  EXPECT_EQ(fields_table(list, {{"a", 20}}), "what  count  time    note\na        20     –  twenty\n");
}

TEST(Fields, are_lines_of_one_row) {
  EXPECT_EQ(fields_lines(fields(), {"a", 1, 0.5}), "what   a\ncount  1\ntime   known\n");
}

TEST(Fields, are_a_table_of_html_whose_first_cell_heads_its_row) {
  const std::string html = fields_html(fields(), std::vector<Row>{{"<a>", 1}}, "sizes");
  EXPECT_NE(html.find("aria-label=\"sizes\""), std::string::npos) << html;
  EXPECT_NE(html.find("<th scope=\"col\">what</th><th scope=\"col\">count</th>"), std::string::npos) << html;
  EXPECT_NE(html.find("<tr><th scope=\"row\">&lt;a&gt;</th><td>1</td>"), std::string::npos) << html;
}

TEST(Fields, format_numbers_and_leave_out_keys_that_a_row_does_not_have) {
  const auto time = [](const Row& r) { return r.time; };
  const Fields<Row> list = {number_field<Row>("t", "t", time, 2, " s"), share_field<Row>("share", "share", time, 1),
                            count_field<Row>("count", "count", [](const Row& r) { return 1000 * r.count; }),
                            optional_field<Row>("known", time)};
  EXPECT_EQ(fields_table(list, {{"a", 3, 0.5}, {"b", 4}}),
            "     t   share  count\n0.50 s  50.0 %  3,000\n     –       –  4,000\n");
  EXPECT_EQ(fields_json(list, Row{"b", 4}),
            (nlohmann::ordered_json{{"t", nullptr}, {"share", nullptr}, {"count", 4000}}));
  EXPECT_EQ(fields_json(list, Row{"a", 3, 0.5})["known"], 0.5);
}

}  // namespace
}  // namespace fib::report
