// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "data/folder_dataset.h"
#include "data/open_dataset.h"
#include "files.h"

namespace fib {
namespace {

namespace fs = std::filesystem;
using test::error_of;
using test::mentions;
using test::TemporaryDirectory;
using test::write_file;

void make_files(const TemporaryDirectory& dir, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    fs::create_directories((dir / name).parent_path());
    write_file(dir / name, "x");
  }
}

std::string refusal(const TemporaryDirectory& dir) {
  return error_of([&] { list_image_folder(dir.path()); });
}

TEST(ImageFolder, sorts_named_classes_and_their_images) {
  TemporaryDirectory dir;
  make_files(dir, {"dog/b.jpg", "dog/a.PNG", "cat/x/deep.webp", "cat/notes.txt", "cat/.hidden.jpg", ".cache/a.jpg",
                   "top.jpg"});
  const ImageFolder folder = list_image_folder(dir.path());
  EXPECT_EQ(folder.classes, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(folder.num_labels, 2);
  ASSERT_EQ(folder.images.size(), 3u);
  EXPECT_EQ(folder.images[0].file, dir / "cat/x/deep.webp");
  EXPECT_EQ(folder.images[1].file, dir / "dog/a.PNG");
  EXPECT_EQ(folder.images[2].label, 1);
}

TEST(ImageFolder, reads_digits_as_class_indices) {
  TemporaryDirectory dir;
  make_files(dir, {"10/a.JPEG", "002/b.jpeg", "0/c.png"});
  const ImageFolder folder = list_image_folder(dir.path());
  EXPECT_EQ(folder.classes, (std::vector<std::string>{"0", "002", "10"}));
  EXPECT_EQ(folder.num_labels, 11);
  EXPECT_EQ(folder.images[0].label, 0);
  EXPECT_EQ(folder.images[1].label, 2);
  EXPECT_EQ(folder.images[2].label, 10);
}

TEST(ImageFolder, refuses_folders_that_are_none) {
  TemporaryDirectory dir;
  EXPECT_TRUE(mentions(error_of([&] { list_image_folder(dir / "none"); }), "none': No such file or directory"));
  EXPECT_TRUE(mentions(refusal(dir), "it holds no class folders"));
  make_files(dir, {"file.jpg"});
  EXPECT_TRUE(mentions(refusal(dir), "it holds no class folders"));
  EXPECT_TRUE(mentions(error_of([&] { list_image_folder(dir / "file.jpg"); }), "Not a directory"));
}

TEST(ImageFolder, refuses_a_class_without_images) {
  TemporaryDirectory dir;
  make_files(dir, {"cat/a.jpg", "dog/readme.txt"});
  EXPECT_TRUE(mentions(refusal(dir), "dog': this class has no images"));
}

TEST(ImageFolder, counts_images_of_kinds_that_are_not_read) {
  TemporaryDirectory dir;
  make_files(dir, {"cat/a.jpg", "cat/b.BMP", "cat/c.tiff", "cat/.d.bmp", "cat/notes.txt", "dog/a.jpg", "dog/e.bmp"});
  EXPECT_EQ(list_image_folder(dir.path()).skipped, (std::map<std::string, size_t>{{".bmp", 2}, {".tiff", 1}}));
  const auto notices = open_dataset("folder:" + dir.path().string(), DatasetPart::test)->info().notices;
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_TRUE(mentions(notices[0], "kinds that are not read: 2 .bmp, 1 .tiff (read are jpg, jpeg, png, webp)"));
  make_files(dir, {"eel/a.gif"});
  EXPECT_TRUE(mentions(refusal(dir), "this class has no images (jpg, jpeg, png, webp); of other kinds there are"));
}

TEST(ImageFolder, refuses_class_numbers_that_do_not_fit) {
  for (const char* name : {"99999999999999999999/a.jpg", "100000/a.jpg", "4294967296/a.jpg"}) {
    TemporaryDirectory dir;
    make_files(dir, {name, "1/a.jpg"});
    EXPECT_TRUE(mentions(refusal(dir), "accepted are numbers up to 99999")) << name;
  }
  TemporaryDirectory root;
  make_files(root, {"train/99999999999999999999/a.jpg", "val/1/a.jpg"});
  const auto error = error_of([&] { open_dataset("folder:" + root.path().string(), DatasetPart::test); });
  EXPECT_TRUE(mentions(error, "99999999999999999999', accepted are numbers up to 99999")) << error;
}

TEST(ImageFolder, refuses_ambiguous_class_names) {
  TemporaryDirectory mixed, twice;
  make_files(mixed, {"1/a.jpg", "dog/a.jpg"});
  EXPECT_TRUE(mentions(refusal(mixed), "mix numbers with names such as 'dog'"));
  make_files(twice, {"1/a.jpg", "01/a.jpg"});
  EXPECT_TRUE(mentions(refusal(twice), "'01' and '1' are the same class index"));
}

}  // namespace
}  // namespace fib
