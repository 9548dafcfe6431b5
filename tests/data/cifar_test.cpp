// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>

#include "data/file_formats.h"
#include "data/fixtures.h"
#include "data/open_dataset.h"

namespace fib {
namespace {

using test::error_of;
using test::mentions;

constexpr size_t kPixels = 32 * 32, kRecord10 = 1 + 3 * kPixels, kRecord100 = 2 + 3 * kPixels;

/// A file of zeros, which costs no disk: images of class 0, all black.
void write_zeros(const std::filesystem::path& file, size_t bytes) {
  test::write_file(file, "");
  std::filesystem::resize_file(file, bytes);
}

void overwrite(const std::filesystem::path& file, size_t at, const std::string& bytes) {
  std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
  out.seekp(static_cast<std::streamoff>(at));
  out << bytes;
}

void write_cifar10(const test::TemporaryDirectory& folder) {
  for (const DatasetFile& file : dataset_row("cifar10").files)
    write_zeros(folder / std::string(file.name), 10000 * kRecord10);
}

TEST(Cifar10, interleaves_the_planes_of_five_files) {
  const test::TemporaryDirectory folder;
  write_cifar10(folder);
  // Image 7 of the second file: class 4, red 1, green 2, blue 3 in its second pixel.
  const size_t at = 7 * kRecord10;
  overwrite(folder / "data_batch_2.bin", at, "\4");
  for (size_t c = 0; c < 3; ++c)
    overwrite(folder / "data_batch_2.bin", at + 2 + c * kPixels, std::string(1, static_cast<char>(c + 1)));
  const DatasetPtr train = open_dataset("cifar10:" + folder.path().string(), DatasetPart::train);
  ASSERT_EQ(train->size(), size_t{50000});
  EXPECT_EQ(train->label(10007), 4);
  const Image image = train->image(10007);
  EXPECT_EQ(image.width, 32);
  EXPECT_EQ(std::vector<uint8_t>(image.pixels.begin(), image.pixels.begin() + 9),
            (std::vector<uint8_t>{0, 0, 0, 1, 2, 3, 0, 0, 0}));
  EXPECT_TRUE(mentions(train->item_name(10007), "data_batch_2.bin image 7"));
}

TEST(Cifar10, refuses_a_truncated_file_and_a_label_out_of_range) {
  const test::TemporaryDirectory folder;
  write_cifar10(folder);
  const std::string source = "cifar10:" + folder.path().string();
  overwrite(folder / "test_batch.bin", 9999 * kRecord10, "\x0a");
  EXPECT_TRUE(mentions(error_of([&] { open_dataset(source, DatasetPart::test); }),
                       "test_batch.bin: image 9999 has label 10, accepted are 0 to 9"));
  write_zeros(folder / "test_batch.bin", 9999 * kRecord10);
  EXPECT_TRUE(mentions(error_of([&] { open_dataset(source, DatasetPart::test); }),
                       "test_batch.bin: 30726927 bytes, the published file has 30730000"));
  write_zeros(folder / "test_batch.bin", 10001 * kRecord10);
  EXPECT_TRUE(mentions(error_of([&] { open_dataset(source, DatasetPart::test); }),
                       "test_batch.bin: it goes on after 30730000 bytes"));
}

TEST(Cifar10, compares_checksums_when_asked) {
  const test::TemporaryDirectory folder;
  write_cifar10(folder);
  const auto error = error_of([&] { open_dataset("cifar10:" + folder.path().string(), DatasetPart::test, true); });
  EXPECT_TRUE(mentions(error, "test_batch.bin: the checksum is "));
  EXPECT_TRUE(mentions(error, "803d5f7f4d78ea53de84dbe85f74fb6d"));
}

TEST(Cifar10, is_found_below_the_folder_that_its_archive_makes) {
  const test::TemporaryDirectory root;
  std::filesystem::create_directory(root / "cifar-10-batches-bin");
  const std::string source = "cifar10:" + root.path().string();
  const auto error = error_of([&] { open_dataset(source, DatasetPart::test); });
  EXPECT_TRUE(mentions(error, "cifar10: data_batch_1.bin, data_batch_2.bin"));
  EXPECT_TRUE(mentions(error, "get-data.sh cifar10"));
  for (const DatasetFile& file : dataset_row("cifar10").files)
    write_zeros(root / "cifar-10-batches-bin" / file.name, 10000 * kRecord10);
  EXPECT_EQ(open_dataset(source, DatasetPart::test)->info().path, root / "cifar-10-batches-bin");
}

TEST(Cifar100, takes_the_fine_label_and_names_from_beside_the_data) {
  const test::TemporaryDirectory folder;
  write_zeros(folder / "train.bin", 50000 * kRecord100);
  write_zeros(folder / "test.bin", 10000 * kRecord100);
  overwrite(folder / "test.bin", 3 * kRecord100, "\x13\x63");
  std::string names;
  for (int i = 0; i < 100; ++i) names += "class" + std::to_string(i) + "\n";
  test::write_file(folder / "fine_label_names.txt", names + "\n");
  const DatasetPtr tested = open_dataset("cifar100:" + folder.path().string(), DatasetPart::test);
  EXPECT_EQ(tested->label(3), 99);
  EXPECT_EQ(tested->info().class_names[99], "class99");
  overwrite(folder / "test.bin", 3 * kRecord100, "\x13\x64");
  EXPECT_TRUE(mentions(error_of([&] { open_dataset("cifar100:" + folder.path().string(), DatasetPart::test); }),
                       "image 3 has label 100"));
}

TEST(Cifar10, rebuilding_refuses_what_is_not_the_copy_it_knows) {
  const test::TemporaryDirectory pngs, out;
  EXPECT_TRUE(
      mentions(error_of([&] { rebuild_cifar10(pngs.path(), out.path()); }), "train_lables.json': No such file"));
  test::write_file(pngs / "train_lables.json", "[1,2,3]");
  EXPECT_TRUE(mentions(error_of([&] { rebuild_cifar10(pngs.path(), out.path()); }), "a JSON list of 50000 labels"));
  std::string labels = "[11";
  for (int i = 1; i < 50000; ++i) labels += ",0";
  test::write_file(pngs / "train_lables.json", labels + "]");
  EXPECT_TRUE(
      mentions(error_of([&] { rebuild_cifar10(pngs.path(), out.path()); }), "entry 0 is 11, accepted are 0 to 9"));
  EXPECT_EQ(out.entries(), size_t{0});
}

TEST(Cifar10, the_real_one_has_the_published_checksums) {
  const char* folder = std::getenv("FIB_TEST_CIFAR10");
  if (folder == nullptr) GTEST_SKIP() << "FIB_TEST_CIFAR10 names no folder";
  const DatasetPtr train = open_dataset("cifar10:" + std::string(folder), DatasetPart::train, true);
  std::vector<int> counts(10);
  for (int64_t label : train->labels()) ++counts[static_cast<size_t>(label)];
  EXPECT_EQ(counts, std::vector<int>(10, 5000));
  EXPECT_EQ(train->info().class_names[static_cast<size_t>(train->label(0))], "frog");
}

}  // namespace
}  // namespace fib
