// SPDX-License-Identifier: Apache-2.0
// Which videos belong to which part, told by folders, lists and names; none of them is opened.
#include "data/clip_dataset.h"

#include <gtest/gtest.h>

#include <set>

#include "data/open_dataset.h"
#include "fixtures.h"

namespace fib {
namespace {

using test::error_of;
using test::mentions;
using test::TemporaryDirectory;

void touch(const std::filesystem::path& file) {
  std::filesystem::create_directories(file.parent_path());
  test::write_file(file, "");
}

std::set<std::string> names_of(const Dataset& data) {
  std::set<std::string> names;
  for (size_t i = 0; i < data.size(); ++i) names.insert(std::filesystem::path(data.item_name(i)).filename().string());
  return names;
}

TEST(ClipFolder, holds_out_a_share_of_every_class_by_seed) {
  const TemporaryDirectory folder;
  for (const char* name : {"fight", "noFight"})
    for (int i = 0; i < 10; ++i) touch(folder / name / (std::to_string(i) + ".mp4"));
  const std::string source = "clips:" + folder.path().string();
  const DatasetPtr train = open_dataset(source, DatasetPart::train), test = open_dataset(source, DatasetPart::test);
  EXPECT_EQ(train->size(), 16U);
  EXPECT_EQ(test->size(), 4U);
  EXPECT_EQ(std::ranges::count(test->labels(), 0), 2);
  EXPECT_EQ(test->info().class_names, (std::vector<std::string>{"fight", "noFight"}));
  EXPECT_TRUE(test->info().clips);
  EXPECT_EQ(open_dataset(source + "?test=0.5", DatasetPart::test)->size(), 10U);
  const auto held_out = [&](const char* seed) {
    const DatasetPtr part = open_dataset(source + "?seed=" + seed, DatasetPart::test);
    std::set<std::string> files;
    for (size_t i = 0; i < part->size(); ++i) files.insert(part->item_name(i));
    return files;
  };
  EXPECT_EQ(held_out("0"), held_out("0"));
  EXPECT_NE(held_out("0"), held_out("1"));
  EXPECT_TRUE(mentions(error_of([&] { open_dataset(source + "?test=2", DatasetPart::test); }), "test=2: accepted"));
  EXPECT_TRUE(mentions(error_of([&] { open_dataset(source + "?tset=2", DatasetPart::test); }), "did you mean 'test'"));
}

TEST(ClipFolder, refuses_one_class) {
  const TemporaryDirectory folder;
  touch(folder / "only" / "a.mp4");
  EXPECT_TRUE(mentions(error_of([&] { open_dataset("clips:" + folder.path().string(), DatasetPart::train); }),
                       "one class is nothing to tell apart"));
}

TEST(ClipList, reads_both_ways_of_writing_it) {
  const TemporaryDirectory folder;
  for (const char* name : {"a.mp4", "b c.mp4", "d.mp4"}) touch(folder / "videos" / name);
  const auto root = folder / "videos";
  const auto spaces = parse_clip_list("a.mp4 0\n\nb c.mp4 2\r\n", "list", root);
  ASSERT_EQ(spaces.size(), 2U);
  EXPECT_EQ(spaces[1].file, root / "b c.mp4");
  EXPECT_EQ(spaces[1].label, 2);
  const auto commas = parse_clip_list("d.mp4,poses/d.npy,1\na.mp4,0\n", "list", root);
  ASSERT_EQ(commas.size(), 2U);
  EXPECT_EQ(commas[0].file, root / "d.mp4");
  EXPECT_EQ(commas[0].label, 1);
}

TEST(ClipList, names_the_line_of_what_is_missing) {
  const TemporaryDirectory folder;
  touch(folder / "a.mp4");
  const auto refusal = [&](const std::string& text) {
    return error_of([&] { parse_clip_list(text, "list.csv", folder.path()); });
  };
  EXPECT_TRUE(mentions(refusal("a.mp4 0\nnone.mp4 1\n"), "list.csv:2: no file '"));
  EXPECT_TRUE(mentions(refusal("a.mp4 0\n\na.mp4 x\n"), "list.csv:3: label 'x', accepted are 0 to"));
  EXPECT_TRUE(mentions(refusal("a.mp4\n"), "list.csv:1: accepted is 'path label'"));
  test::write_file(folder / "train.csv", "a.mp4 0\na.mp4 1\n");
  test::write_file(folder / "test.csv", "a.mp4 2\n");
  const std::string source = "clip-list:" + (folder / "train.csv").string() + "?test_list=test.csv";
  EXPECT_EQ(open_dataset(source, DatasetPart::train)->info().classes, 3);
  EXPECT_EQ(open_dataset(source, DatasetPart::test)->label(0), 2);
  EXPECT_TRUE(mentions(error_of([] { parse_data_source("clip-list"); }), "names no file"));
}

TEST(Smarthome, reads_names_and_divides_persons_or_cameras) {
  const auto name = parse_smarthome_name("Cook.Cleandishes_p02_r00_v02_c03.mp4");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->activity, "Cook.Cleandishes");
  EXPECT_EQ(name->person, 2);
  EXPECT_EQ(name->camera, 3);
  EXPECT_FALSE(parse_smarthome_name("Cook_p02.mp4"));

  const TemporaryDirectory folder;
  for (const char* file : {"Walk_p03_r00_v01_c01.mp4", "Walk_p02_r00_v01_c02.mp4", "WatchTV_p25_r00_v01_c05.mp4",
                           "Enter_p10_r01_v01_c05.mp4", "Enter_p19_r00_v01_c07.mp4", "notes.mp4"})
    touch(folder / "mp4" / file);
  const std::string source = "smarthome:" + folder.path().string();
  const auto part = [&](const std::string& split, DatasetPart which) {
    return names_of(*open_dataset(source + "?split=" + split, which));
  };
  using Names = std::set<std::string>;
  EXPECT_EQ(part("cs", DatasetPart::train),
            (Names{"Walk_p03_r00_v01_c01.mp4", "WatchTV_p25_r00_v01_c05.mp4", "Enter_p19_r00_v01_c07.mp4"}));
  EXPECT_EQ(part("cs", DatasetPart::test), (Names{"Walk_p02_r00_v01_c02.mp4", "Enter_p10_r01_v01_c05.mp4"}));
  EXPECT_EQ(open_dataset(source, DatasetPart::train)->info().classes, 31);
  // WatchTV is none of the 19 activities that all cameras see.
  EXPECT_EQ(part("cv2", DatasetPart::train), (Names{"Walk_p03_r00_v01_c01.mp4", "Enter_p19_r00_v01_c07.mp4"}));
  EXPECT_EQ(part("cv2", DatasetPart::validation), (Names{"Enter_p10_r01_v01_c05.mp4"}));
  EXPECT_EQ(part("cv2", DatasetPart::test), (Names{"Walk_p02_r00_v01_c02.mp4"}));
  EXPECT_EQ(open_dataset(source + "?split=cv2", DatasetPart::test)->info().classes, 19);
  EXPECT_EQ(open_dataset(source, DatasetPart::validation), nullptr);
  const DataSplits splits = open_data_splits(source + "?split=cv2", {.validation_fraction = 0.1});
  EXPECT_EQ(splits.train->size(), 2U);
  EXPECT_EQ(splits.validation->size(), 1U);
  EXPECT_TRUE(mentions(error_of([&] { part("cv1", DatasetPart::test); }), "split=cv1: accepted is cs or cv2"));
}

TEST(Nucla, divides_subjects_or_views) {
  const TemporaryDirectory folder;
  for (const char* file : {"a01/v01_s01_e00.avi", "a02/v02_s02_e01.avi", "a12/v03_s02_e01.avi", "a07/v01_s01_e00.avi"})
    touch(folder / file);
  const std::string source = "nucla:" + folder.path().string();
  const DatasetPtr test = open_dataset(source + "?test_subjects=2", DatasetPart::test);
  EXPECT_EQ(test->size(), 2U);
  EXPECT_EQ(test->info().classes, 10);
  EXPECT_EQ(test->info().class_names[static_cast<size_t>(test->label(1))], "carry");
  EXPECT_EQ(open_dataset(source + "?test_subjects=2", DatasetPart::train)->size(), 1U);
  EXPECT_EQ(open_dataset(source + "?test_views=3", DatasetPart::train)->size(), 2U);
  EXPECT_TRUE(mentions(error_of([&] { open_dataset(source, DatasetPart::train); }), "whom is it tested on"));
}

}  // namespace
}  // namespace fib
