// SPDX-License-Identifier: Apache-2.0
#include "data/folder_dataset.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "data/fixtures.h"
#include "data/open_dataset.h"

namespace fib {
namespace {

namespace fs = std::filesystem;
using test::error_of;
using test::mentions;

/// side × side, all of one grey value, which JPEG keeps; content decides, not the name.
void write_image(const fs::path& file, int value, int side = 6) {
  fs::create_directories(file.parent_path());
  Image image = make_image(side, side);
  std::ranges::fill(image.pixels, static_cast<uint8_t>(value));
  const auto bytes = encode_jpeg(image, 100);
  test::write_file(file, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

TEST(FolderDataset, gives_the_test_set_the_labels_of_the_training_set) {
  const test::TemporaryDirectory root;
  for (const char* name : {"ant", "bee", "cat"}) write_image(root / "train" / name / "a.png", 1);
  write_image(root / "val" / "cat" / "b.png", 7);
  const std::string source = "folder:" + root.path().string();
  const DatasetPtr train = open_dataset(source, DatasetPart::train), tested = open_dataset(source, DatasetPart::test);
  EXPECT_EQ(train->info().classes, 3);
  EXPECT_EQ(tested->info().classes, 3);
  EXPECT_EQ(tested->label(0), 2);
  EXPECT_EQ(tested->info().class_names, train->info().class_names);
  EXPECT_EQ(tested->image(0).pixels, std::vector<uint8_t>(6 * 6 * 3, 7));
  EXPECT_TRUE(mentions(tested->item_name(0), "val/cat/b.png"));
}

TEST(FolderDataset, refuses_a_test_class_that_was_never_trained) {
  const test::TemporaryDirectory root;
  write_image(root / "train" / "ant" / "a.png", 1);
  write_image(root / "val" / "bee" / "b.png", 1);
  const auto error = error_of([&] { open_dataset("folder:" + root.path().string(), DatasetPart::test); });
  EXPECT_TRUE(mentions(error, "class 'bee' is none of the 1 classes in"));
}

TEST(FolderDataset, folders_named_by_numbers_are_class_indices) {
  const test::TemporaryDirectory root;
  write_image(root / "003" / "a.png", 1);
  write_image(root / "11" / "b.png", 1);
  const DatasetPtr tested = open_dataset("folder:" + root.path().string(), DatasetPart::test);
  EXPECT_EQ(tested->labels(), (std::vector<int64_t>{3, 11}));
  EXPECT_EQ(tested->info().classes, 12);
}

class ClassFolders : public testing::Test {
 protected:
  ClassFolders() {
    for (const char* name : {"ant", "bee"})
      for (int i = 0; i < 10; ++i) write_image(root_ / name / (std::to_string(i) + ".jpg"), 1);
  }
  std::string source(const std::string& options = "") const { return "folder:" + root_.path().string() + options; }
  std::string refusal(const std::string& options) const {
    return error_of([&] { open_dataset(source(options), DatasetPart::test); });
  }

  test::TemporaryDirectory root_;
};

std::set<std::string> files_of(const Dataset& dataset) {
  std::set<std::string> files;
  for (size_t i = 0; i < dataset.size(); ++i) files.insert(dataset.item_name(i));
  return files;
}

TEST_F(ClassFolders, hold_out_a_share_of_each_class_where_they_are_trained_on) {
  const DataSplits splits = open_data_splits(source(), {});
  EXPECT_EQ(splits.train->size(), size_t{16});
  EXPECT_EQ(splits.test->size(), size_t{4});
  EXPECT_EQ(splits.test->info().class_names, (std::vector<std::string>{"ant", "bee"}));
  std::set<std::string> files = files_of(*splits.train);
  for (const std::string& file : files_of(*splits.test)) EXPECT_TRUE(files.insert(file).second) << file;
  EXPECT_EQ(files.size(), size_t{20});
  EXPECT_TRUE(mentions(splits.train->info().notices.at(0),
                       "4 of 20 images are held out to test on, a share of each "
                       "class (?test=0.2&seed=0)"));
  EXPECT_TRUE(splits.test->info().notices.empty());
}

TEST_F(ClassFolders, are_whole_where_they_are_only_tested_on) {
  EXPECT_EQ(open_dataset(source(), DatasetPart::test)->size(), size_t{20});
  EXPECT_EQ(open_dataset(divided_source(source()), DatasetPart::test)->size(), size_t{4});
}

TEST_F(ClassFolders, are_divided_as_their_options_say) {
  const auto tested = [&](const char* options) { return open_dataset(source(options), DatasetPart::test); };
  EXPECT_EQ(tested("?test=0.5")->size(), size_t{10});
  EXPECT_NE(files_of(*tested("?test=0.5")), files_of(*tested("?test=0.5&seed=1")));
  EXPECT_EQ(divided_source(source("?test=0.5")), source("?test=0.5&seed=0"));
  EXPECT_TRUE(mentions(refusal("?test=1"), "folder: test=1: accepted is above 0, below 1"));
  EXPECT_TRUE(mentions(refusal("?seed=x"), "folder: seed=x: accepted is a whole number from 0"));
  EXPECT_TRUE(mentions(refusal("?share=0.5"), "unknown option of folder 'share'"));
  EXPECT_TRUE(mentions(refusal("?test=0.01"), "of 20 images none is left to test on with ?test=0.01&seed=0"));
}

TEST_F(ClassFolders, with_a_folder_train_have_no_division_of_ours) {
  write_image(root_ / "train" / "ant" / "a.jpg", 1);
  EXPECT_EQ(divided_source(source()), source());
  EXPECT_TRUE(mentions(refusal("?test=0.5"), "it has a folder train/"));
}

TEST(FolderDataset, says_what_cannot_be_trained_or_tested_on) {
  const test::TemporaryDirectory root;
  const std::string source = "folder:" + root.path().string();
  write_image(root / "train" / "ant" / "a.png", 1);
  EXPECT_TRUE(mentions(error_of([&] { open_dataset(source, DatasetPart::test); }), "neither val/ nor test/"));
  EXPECT_TRUE(mentions(error_of([&] { open_dataset("folder:/no/such/place", DatasetPart::test); }), "/no/such/place"));
}

TEST(FolderDataset, imagenet_must_have_its_thousand_classes) {
  const test::TemporaryDirectory root;
  write_image(root / "train" / "n01" / "a.png", 1);
  write_image(root / "val" / "n01" / "a.png", 1);
  const auto error = error_of([&] { open_dataset("imagenet:" + root.path().string(), DatasetPart::train); });
  EXPECT_TRUE(mentions(error, "1 classes, imagenet has 1000; another set of images is folder:"));
}

TEST(FolderDataset, an_unreadable_image_names_its_file) {
  const test::TemporaryDirectory root;
  write_image(root / "ant" / "a.png", 1);
  test::write_file(root / "ant" / "b.png", "not a image");
  const DatasetPtr tested = open_dataset("folder:" + root.path().string(), DatasetPart::test);
  EXPECT_TRUE(mentions(error_of([&] { tested->image(1); }), "ant/b.png"));
}

class TinyImagenet : public testing::Test {
 protected:
  TinyImagenet() {
    std::string wnids, words;
    for (int i = 0; i < 200; ++i) {
      const std::string wnid = "n" + std::to_string(10000 + (i * 7) % 200);  // not in alphabetical order
      wnids += wnid + "\n";
      write_image(root_ / "train" / wnid / "images" / (wnid + "_0.JPEG"), 5, 4);
      test::write_file(root_ / "train" / wnid / (wnid + "_boxes.txt"), wnid + "_0.JPEG\t1\t0\t3\t2\n");
    }
    test::write_file(root_ / "wnids.txt", wnids);
    test::write_file(root_ / "words.txt", "n10003\tgoldfish, Carassius auratus\nn99999\tnone\n");
    write_image(root_ / "val" / "images" / "val_0.JPEG", 9, 4);
    annotate("val_0.JPEG\tn10003\t0\t1\t2\t3\n");
  }
  void annotate(const std::string& text) { test::write_file(root_ / "val" / "val_annotations.txt", text); }
  std::string source() const { return "tiny-imagenet:" + root_.path().string(); }

  test::TemporaryDirectory root_;
};

TEST_F(TinyImagenet, has_labels_names_and_boxes_in_both_parts) {
  const DatasetPtr train = open_dataset(source(), DatasetPart::train),
                   tested = open_dataset(source(), DatasetPart::test);
  ASSERT_EQ(train->size(), size_t{200});
  EXPECT_EQ(train->label(17), 17);
  ASSERT_TRUE(train->box(17).has_value());
  EXPECT_EQ(train->box(17)->right, 3);
  ASSERT_EQ(tested->size(), size_t{1});
  EXPECT_EQ(tested->label(0), 3);
  EXPECT_EQ(tested->info().class_names[3], "goldfish, Carassius auratus");
  EXPECT_EQ(tested->info().class_names[4], "n10004");
  EXPECT_EQ(tested->box(0)->top, 1);
  EXPECT_EQ(tested->image(0).pixels[0], 9);
}

TEST_F(TinyImagenet, refuses_annotations_it_cannot_use_and_names_the_line) {
  annotate("val_0.JPEG\tn10003\t0\t1\t2\t3\n\nval_1.JPEG\tn77777\t0\t1\t2\t3\n");
  EXPECT_TRUE(mentions(error_of([&] { open_dataset(source(), DatasetPart::test); }), "val_annotations.txt line 3"));
  annotate("val_0.JPEG\tn10003\t0\t1\t2\n");
  EXPECT_TRUE(mentions(error_of([&] { open_dataset(source(), DatasetPart::test); }), "line 1: expected a box of four"));
  test::write_file(root_ / "wnids.txt", "n10003\n");
  EXPECT_TRUE(mentions(error_of([&] { open_dataset(source(), DatasetPart::test); }), "1 classes, expected 200"));
}

}  // namespace
}  // namespace fib
