// SPDX-License-Identifier: Apache-2.0
#include "data/labels.h"

#include <gtest/gtest.h>

#include <cmath>

#include "files.h"

namespace fib {

namespace {

using test::error_of;
using test::mentions;
using test::TemporaryDirectory;
using test::write_file;

using Names = std::vector<std::string>;

std::vector<std::string> labels_of(const std::string& text, const std::string& file = "labels.json") {
  TemporaryDirectory dir;
  write_file(dir / file, text);
  return read_labels(dir / file);
}

std::string labels_refusal(const std::string& text, const std::string& file = "labels.json") {
  return error_of([&] { labels_of(text, file); });
}

TEST(Labels, reads_imagenet_class_index_by_number) {
  EXPECT_EQ(labels_of(R"({"1": ["n01443537", "goldfish"], "0": ["n01440764", "tench"]})"),
            (Names{"tench", "goldfish"}));
  std::string many = "{";
  for (int i = 0; i < 12; ++i) many += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":\"c" + std::to_string(i) + "\"";
  EXPECT_EQ(labels_of(many + "}").at(10), "c10");
}

TEST(Labels, reads_keys_padded_with_zeros) {
  EXPECT_EQ(labels_of(R"({"001": "goldfish", "000": "tench"})"), (Names{"tench", "goldfish"}));
  EXPECT_TRUE(mentions(labels_refusal(R"({"0": "a", "00": "b"})"), "'0"));
}

TEST(Labels, reads_a_plain_array) { EXPECT_EQ(labels_of(R"(["cat", "dog"])"), (Names{"cat", "dog"})); }

TEST(Labels, reads_one_name_a_line) {
  EXPECT_EQ(labels_of("tench, Tinca tinca\r\ngoldfish\n", "labels.txt"), (Names{"tench, Tinca tinca", "goldfish"}));
  EXPECT_EQ(labels_of("cat\ndog", "classes"), (Names{"cat", "dog"}));
  EXPECT_EQ(labels_of("[\"cat\"]", "classes.txt"), (Names{"cat"}));
  EXPECT_TRUE(mentions(labels_refusal("cat\n\ndog\n", "labels.txt"), "line 2 is empty, accepted is one name a line"));
  EXPECT_TRUE(mentions(labels_refusal("\n", "labels.txt"), "it names no classes"));
}

TEST(Labels, reads_csv_by_index_with_a_header_or_without) {
  EXPECT_EQ(labels_of("class,name\n1,\"goldfish, gold\"\n0,\"the \"\"tench\"\"\"\n", "labels.csv"),
            (Names{"the \"tench\"", "goldfish, gold"}));
  EXPECT_EQ(labels_of("0,n01440764,tench\n1,n01443537,goldfish\n", "labels.CSV"), (Names{"tench", "goldfish"}));
  EXPECT_TRUE(mentions(labels_refusal("0,a\n2,b\n", "l.csv"), "class '1' is missing, accepted are indices 0 to 1"));
  EXPECT_TRUE(mentions(labels_refusal("0,a\n00,b\n", "l.csv"), "class '00' is there twice"));
  EXPECT_TRUE(mentions(labels_refusal("0,a\nb\n", "l.csv"), "line 2 is 'b', accepted are lines index,name"));
  EXPECT_TRUE(mentions(labels_refusal("class,name\n", "l.csv"), "it names no classes"));
}

TEST(Labels, refuses_what_leaves_a_class_without_a_name) {
  EXPECT_TRUE(mentions(labels_refusal(R"({"0": "a", "2": "b"})"), "class '1' is missing, accepted are indices 0 to 1"));
  EXPECT_TRUE(mentions(labels_refusal(R"(["a", 3])"), "class '1' is neither"));
  EXPECT_TRUE(mentions(labels_refusal(R"({"0": []})"), "class '0' is neither"));
  EXPECT_TRUE(mentions(labels_refusal("{}"), "no classes"));
  EXPECT_TRUE(mentions(labels_refusal("3"), "accepted are an array"));
  EXPECT_TRUE(mentions(labels_refusal("[\"a\""), "not valid JSON"));
  EXPECT_TRUE(mentions(labels_refusal(""), "not valid JSON"));
  // Copied by recursion, it would end the process.
  EXPECT_TRUE(
      mentions(labels_refusal("{\"0\":" + std::string(1 << 20, '[') + std::string(1 << 20, ']') + "}"), "JSON"));
  EXPECT_TRUE(mentions(error_of([] { read_labels("/no/such/file.json"); }), "No such file"));
}

TEST(RankedClasses, begin_with_the_largest_and_the_lower_index_of_equals) {
  const std::vector<float> logits{1, 3, 0, 3};
  const std::vector<RankedClass> top = best_classes(logits, 3, {"a", "b", "c", "d"});
  ASSERT_EQ(top.size(), size_t{3});
  EXPECT_EQ(top[0].label, "b");
  EXPECT_EQ(top[1].index, 3);
  EXPECT_EQ(top[2].logit, 1);
  const double all = std::exp(1.0) + 2 * std::exp(3.0) + 1;
  EXPECT_NEAR(top[0].probability, std::exp(3.0) / all, 1e-12);
  EXPECT_NEAR(log_sum_exp(logits), std::log(all), 1e-12);
}

TEST(RankedClasses, are_all_where_more_are_asked_for_and_need_no_names) {
  const std::vector<float> large{1000, 1001};
  const std::vector<RankedClass> top = best_classes(large, 5, {});
  ASSERT_EQ(top.size(), size_t{2});
  EXPECT_EQ(top[0].label, "");
  EXPECT_NEAR(top[0].probability + top[1].probability, 1, 1e-12);
}

}  // namespace

}  // namespace fib
