// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "files.h"
#include "mini_vit.h"

namespace fib::test {
namespace {

using nlohmann::json;

const std::string kPicture = FIB_TEST_DATA "/images/rgb.jpg";

std::string broken_picture(const std::string& name, const std::string& content) {
  const std::string path = scratch_path(name);
  write_file(path, content);
  return path;
}

/// A PNG whose header claims 20,000 x 20,000 pixels.
std::string huge_picture() {
  std::string content = read_file(std::filesystem::path(FIB_TEST_DATA "/images/rgb.png"));
  const unsigned char sides[] = {0, 0, 0x4E, 0x20, 0, 0, 0x4E, 0x20};
  const unsigned char checksum[] = {0x6C, 0x12, 0xD1, 0x6E};
  content.replace(16, 8, reinterpret_cast<const char*>(sides), 8);
  content.replace(29, 4, reinterpret_cast<const char*>(checksum), 4);
  return broken_picture("huge.png", content);
}

std::string labels_file(size_t classes) {
  json names = json::array();
  for (size_t i = 0; i < classes; ++i) names.push_back("class " + std::to_string(i));
  return broken_picture("labels.json", names.dump());
}

TEST(Classify, ranks_classes_with_names_probabilities_and_logits) {
  const Outcome outcome =
      run_fib(with_mini_vit("classify") + "--json --top 3 --labels " + labels_file(10) + " " + kPicture);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json result = json::parse(outcome.out);
  ASSERT_EQ(result.size(), 1u);
  EXPECT_EQ(result[0]["image"], kPicture);
  ASSERT_EQ(result[0]["top"].size(), 3u);
  for (const json& entry : result[0]["top"]) {
    EXPECT_EQ(entry["label"], "class " + std::to_string(entry["class"].get<int>()));
  }
  EXPECT_GE(result[0]["top"][0]["logit"], result[0]["top"][1]["logit"]);
  EXPECT_GE(result[0]["top"][1]["probability"], result[0]["top"][2]["probability"]);
}

TEST(Classify, gives_probabilities_that_sum_to_one_and_null_without_names) {
  const Outcome outcome = run_fib(with_mini_vit("classify") + "--json --top 99 " + kPicture);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json top = json::parse(outcome.out)[0]["top"];
  ASSERT_EQ(top.size(), 10u);
  double sum = 0;
  for (const json& entry : top) {
    sum += entry["probability"].get<double>();
    EXPECT_TRUE(entry["label"].is_null());
  }
  EXPECT_NEAR(sum, 1.0, 1e-9);
}

TEST(Classify, goes_on_after_pictures_that_cannot_be_read) {
  const std::string text = broken_picture("text.jpg", "not an image\n");
  const std::string whole = read_file(std::filesystem::path(kPicture));
  const std::string cut = broken_picture("cut.jpg", whole.substr(0, whole.size() / 2));
  const Outcome outcome = run_fib(with_mini_vit("classify") + "--json " + text + " " + kPicture + " " + cut + " " +
                                  huge_picture() + " /nowhere.png " + kPicture);
  EXPECT_EQ(outcome.code, 1);
  const json result = json::parse(outcome.out);
  ASSERT_EQ(result.size(), 2u);
  EXPECT_EQ(result[1]["image"], kPicture);
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 5) << outcome.err;
  for (const char* part : {"text.jpg", "cut.jpg", "truncated", "huge.png", "20000", "/nowhere.png", "4 of 6 images"}) {
    EXPECT_TRUE(mentions(outcome.err, part));
  }
}

TEST(Classify, takes_folders_and_lists) {
  const std::string folder = scratch_path("folder");
  std::filesystem::create_directories(folder + "/deep/er");
  std::filesystem::copy_file(kPicture, folder + "/deep/er/b.jpg");
  std::filesystem::copy_file(kPicture, folder + "/a.jpg");
  write_file(folder + "/notes.txt", "no picture");
  const std::string list = broken_picture("list.txt", kPicture + "\r\n\n" + folder + "/deep\n");
  const Outcome outcome = run_fib(with_mini_vit("classify") + "--json --list " + list + " " + folder);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::vector<std::string> files;
  for (const json& image : json::parse(outcome.out)) files.push_back(image["image"]);
  EXPECT_EQ(files, (std::vector<std::string>{folder + "/a.jpg", folder + "/deep/er/b.jpg", kPicture,
                                             folder + "/deep/er/b.jpg"}));
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  expect_refusal(run_fib(with_mini_vit("classify") + folder), 1, {"no images below the folder", ".webp"});
  expect_refusal(run_fib(with_mini_vit("classify")), 2, {"which images?", "--list"});
  std::filesystem::remove_all(folder);
}

TEST(Classify, writes_csv_with_names_that_hold_commas) {
  const std::string labels = broken_picture("names.txt", "a\nb\nc\nd\ne\nf\ng\nh\ni\nthe \"j\", a class\n");
  const Outcome outcome = run_fib(with_mini_vit("classify") + "--csv --top 10 --labels " + labels + " " + kPicture);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("image,rank,class,label,probability,logit\n"));
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 11);
  EXPECT_TRUE(mentions(outcome.out, ",9,\"the \"\"j\"\", a class\",0."));
  EXPECT_EQ(run_fib(with_mini_vit("classify") + "--csv --json " + kPicture).code, 2);
}

TEST(Classify, refuses_labels_for_another_number_of_classes) {
  const Outcome outcome = run_fib(with_mini_vit("classify") + "--labels " + labels_file(9) + " " + kPicture);
  expect_refusal(outcome, 1, {"labels.json", "9", "10"});
}

TEST(Classify, refuses_a_resize_below_the_crop) {
  expect_refusal(run_fib(with_mini_vit("classify") + "--resize 32 " + kPicture), 2, {"--resize", "64", "32"});
  expect_refusal(run_fib(with_mini_vit("classify") + "--mean 0.1,0.2 " + kPicture), 2, {"--mean"});
}

TEST(Classify, sees_another_resolution_another_mean_and_another_attention) {
  const auto first_logit = [](const std::string& options) {
    const Outcome outcome = run_fib(with_mini_vit("classify") + "--json " + options + " " + kPicture);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return json::parse(outcome.out)[0]["top"][0]["logit"].get<double>();
  };
  const double usual = first_logit("");
  EXPECT_EQ(first_logit("--mean 0.5 --std 0.5,0.5,0.5 --crop 64 --resize 64"), usual);
  EXPECT_NE(first_logit("--mean 0.4"), usual);
  EXPECT_NE(first_logit("--crop 96"), usual);
  EXPECT_NE(first_logit("--attention fibottention"), usual);
}

TEST(Classify, is_silent_when_asked) {
  const Outcome outcome = run_fib(with_mini_vit("classify") + "--quiet " + kPicture);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out + outcome.err, "");
}

}  // namespace
}  // namespace fib::test
