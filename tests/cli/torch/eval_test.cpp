// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "files.h"
#include "mini_vit.h"

namespace fib::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Classes 0 … count-1, each with the same two images.
std::string picture_folder(int count) {
  const std::string folder = scratch_path("folder");
  fs::remove_all(folder);
  for (int c = 0; c < count; ++c) {
    fs::create_directories(folder + "/" + std::to_string(c));
    for (const char* name : {"rgb.jpg", "grey.jpg"}) {
      fs::copy_file(fs::path(FIB_TEST_DATA) / "images" / name, folder + "/" + std::to_string(c) + "/" + name);
    }
  }
  return folder;
}

TEST(Eval, counts_right_answers_over_a_folder_that_has_every_class_once) {
  const std::string folder = picture_folder(10);
  const Outcome outcome = run_fib(with_mini_vit("eval") + "--json --batch 3 --data folder:" + folder);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json result = json::parse(outcome.out);
  EXPECT_EQ(result["model"], "mini_vit");
  EXPECT_EQ(result["attention"], "full");
  EXPECT_EQ(result["data"], "folder:" + folder);
  EXPECT_EQ(result["images"], 20);
  // Each image is in every class, so it is right once of ten, and five times among the best five.
  EXPECT_DOUBLE_EQ(result["top1"], 0.1);
  EXPECT_DOUBLE_EQ(result["top5"], 0.5);
  EXPECT_GT(result["loss"], 0.0);
  EXPECT_GT(result["images_per_second"], 0.0);
}

TEST(Eval, agrees_with_classify) {
  const std::string folder = picture_folder(1);
  const Outcome evaluated = run_fib(with_mini_vit("eval") + "--json --data folder:" + folder);
  const Outcome classified =
      run_fib(with_mini_vit("classify") + "--json --top 10 " + folder + "/0/rgb.jpg " + folder + "/0/grey.jpg");
  ASSERT_EQ(evaluated.code, 0) << evaluated.err;
  ASSERT_EQ(classified.code, 0) << classified.err;
  double loss = 0;
  for (const json& image : json::parse(classified.out)) {
    for (const json& entry : image["top"]) {
      if (entry["class"] == 0) loss -= std::log(entry["probability"].get<double>()) / 2;
    }
  }
  EXPECT_NEAR(json::parse(evaluated.out)["loss"], loss, 1e-5);
}

TEST(Eval, counts_images_of_kinds_that_it_passes_by) {
  const std::string folder = picture_folder(1);
  for (const char* name : {"a.bmp", "b.BMP", "c.gif", "notes.txt"}) write_file(folder + "/0/" + name, "?");
  const Outcome outcome = run_fib(with_mini_vit("eval") + "--json --data folder:" + folder);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["images"], 2);
  EXPECT_TRUE(mentions(outcome.err, "passed by images of kinds that are not read: 2 .bmp, 1 .gif")) << outcome.err;
  EXPECT_EQ(run_fib(with_mini_vit("eval") + "--quiet --data folder:" + folder).err, "");
}

TEST(Eval, refuses_folders_it_cannot_use) {
  const std::string empty = scratch_path("empty");
  fs::create_directories(empty);
  expect_refusal(run_fib(with_mini_vit("eval") + "--data folder:" + empty), 1, {"empty"});
  expect_refusal(run_fib(with_mini_vit("eval") + "--data folder:/nowhere"), 1, {"/nowhere"});
  expect_refusal(run_fib(with_mini_vit("eval") + "--data floder:" + empty), 2, {"floder", "folder"});
  expect_refusal(run_fib(with_mini_vit("eval") + "--data folder:" + picture_folder(11)), 1, {"10"});
}

TEST(Eval, names_the_picture_that_cannot_be_read) {
  const std::string folder = picture_folder(2);
  write_file(folder + "/1/broken.jpg", "not an image\n");
  expect_refusal(run_fib(with_mini_vit("eval") + "--data folder:" + folder), 1, {"broken.jpg"});
}

}  // namespace
}  // namespace fib::test
