// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "data/file_formats.h"
#include "data/fixtures.h"
#include "data/open_dataset.h"

namespace fib {
namespace {

using test::error_of;
using test::mentions;

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

TEST(Idx, reads_shape_and_values) {
  const std::string file = test::idx_file({2, 3}, "abcdef");
  const IdxArray array = parse_idx(bytes_of(file), 2, "x");
  EXPECT_EQ(array.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(std::string(array.values.begin(), array.values.end()), "abcdef");
}

TEST(Idx, refuses_broken_files_with_one_line_that_names_them) {
  const auto error = [](const std::string& file, size_t rank) {
    return error_of([&] { parse_idx(bytes_of(file), rank, "some/file"); });
  };
  EXPECT_TRUE(mentions(error("", 1), "some/file: 0 bytes"));
  EXPECT_TRUE(mentions(error(std::string("\0\0\x08\x03", 4), 3), "4 bytes, an IDX header of rank 3 has 16"));
  EXPECT_TRUE(mentions(error(test::idx_file({2}, "ab"), 1).empty() ? "none" : "some", "none"));
  EXPECT_TRUE(mentions(error(std::string("\x89PNG\0\0\0\1a", 9), 1), "the magic number is 0x89504e47"));
  EXPECT_TRUE(mentions(error(test::idx_file({3}, "ab"), 1), "2 bytes after the header, its shape (3,) needs 3"));
  EXPECT_TRUE(mentions(error(test::idx_file({1}, "ab"), 1), "2 bytes after the header"));
  EXPECT_TRUE(mentions(error(test::idx_file({0xffffffff, 0xffffffff, 0xffffffff}, ""), 3),
                       "its header announces the shape (4294967295, 4294967295, 4294967295), accepted are up to"));
}

TEST(Mnist, opens_plain_and_gzipped_files) {
  const test::TemporaryDirectory folder;
  test::write_mnist(folder.path(), 30, 12);
  const DatasetPtr train = open_dataset("mnist:" + folder.path().string(), DatasetPart::train);
  const DatasetPtr tested = open_dataset("mnist:" + folder.path().string(), DatasetPart::test);
  ASSERT_EQ(train->size(), size_t{30});
  ASSERT_EQ(tested->size(), size_t{12});
  EXPECT_EQ(train->label(13), 3);
  EXPECT_EQ(train->image(13).pixels, std::vector<uint8_t>(28 * 28 * 3, 13));
  EXPECT_EQ(train->info().classes, 10);
  EXPECT_EQ(train->info().channels, 1);
  EXPECT_TRUE(mentions(tested->item_name(5), "t10k-images-idx3-ubyte.gz image 5"));
}

TEST(Mnist, does_not_wait_for_a_pipe) {
  const test::TemporaryDirectory folder;
  test::write_mnist(folder.path(), 3, 3);
  std::filesystem::remove(folder / "train-labels-idx1-ubyte");
  ASSERT_EQ(::mkfifo((folder / "train-labels-idx1-ubyte").c_str(), 0600), 0);
  const auto error = error_of([&] { open_dataset("mnist:" + folder.path().string(), DatasetPart::train); });
  EXPECT_TRUE(mentions(error, "train-labels-idx1-ubyte: is not a regular file"));
}

TEST(Mnist, refuses_labels_out_of_range) {
  const test::TemporaryDirectory folder;
  test::write_mnist(folder.path(), 3, 3);
  test::write_file(folder / "train-labels-idx1-ubyte", test::idx_file({3}, std::string("\1\2\x0a", 3)));
  const auto error = error_of([&] { open_dataset("mnist:" + folder.path().string(), DatasetPart::train); });
  EXPECT_TRUE(mentions(error, "train-labels-idx1-ubyte: image 2 has label 10, accepted are 0 to 9"));
}

TEST(Mnist, refuses_files_that_do_not_belong_together) {
  const test::TemporaryDirectory folder;
  test::write_mnist(folder.path(), 3, 3);
  test::write_file(folder / "train-labels-idx1-ubyte", test::idx_labels(4));
  const std::string source = "mnist:" + folder.path().string();
  EXPECT_TRUE(mentions(error_of([&] { open_dataset(source, DatasetPart::train); }), "4 labels for the 3 images of"));
  test::write_file(folder / "train-images-idx3-ubyte", test::idx_file({1, 2, 2}, "abcd"));
  test::write_file(folder / "train-labels-idx1-ubyte", test::idx_labels(1));
  EXPECT_TRUE(
      mentions(error_of([&] { open_dataset(source, DatasetPart::train); }), "images of (2, 2), mnist has 28 by 28"));
}

TEST(Mnist, refuses_a_compressed_file_that_ends_too_early) {
  const test::TemporaryDirectory folder;
  test::write_mnist(folder.path(), 3, 200);
  const std::string whole = test::read_file(folder / "t10k-images-idx3-ubyte.gz");
  test::write_file(folder / "t10k-images-idx3-ubyte.gz", whole.substr(0, whole.size() - 30));
  const auto error = error_of([&] { open_dataset("mnist:" + folder.path().string(), DatasetPart::test); });
  EXPECT_TRUE(mentions(error, "t10k-images-idx3-ubyte.gz: the compressed file ends too early"));
}

TEST(Mnist, refuses_a_compressed_file_as_soon_as_it_exceeds_its_header) {
  const test::TemporaryDirectory folder;
  test::write_mnist(folder.path(), 3, 3);
  test::write_gzip(folder / "t10k-images-idx3-ubyte.gz", test::idx_images(3) + std::string(300'000'000, '\0'));
  const std::string source = "mnist:" + folder.path().string();
  EXPECT_TRUE(mentions(error_of([&] { open_dataset(source, DatasetPart::test); }),
                       "t10k-images-idx3-ubyte.gz: it goes on after 2368 bytes"));
  test::write_gzip(folder / "t10k-images-idx3-ubyte.gz", test::idx_file({4'000'000'000, 28, 28}, "x"));
  EXPECT_TRUE(mentions(error_of([&] { open_dataset(source, DatasetPart::test); }),
                       "its header announces the shape (4000000000, 28, 28), accepted are up to"));
}

TEST(Mnist, compares_checksums_when_asked) {
  const test::TemporaryDirectory folder;
  test::write_mnist(folder.path(), 3, 3);
  const auto error = error_of([&] { open_dataset("mnist:" + folder.path().string(), DatasetPart::train, true); });
  EXPECT_TRUE(mentions(error, "train-images-idx3-ubyte: the checksum is "));
  EXPECT_TRUE(mentions(error, "the published file has 6bbc9ace898e44ae57da46a324031adb"));
}

TEST(FashionMnist, as_debian_installs_it_has_the_published_checksums) {
  const auto folder = find_dataset(parse_data_source("fashion-mnist:/usr/share/datasets/fashion-mnist"));
  if (!folder) GTEST_SKIP() << "dataset-fashion-mnist is not installed";
  const DatasetPtr tested = open_dataset("fashion-mnist:" + folder->string(), DatasetPart::test, true);
  EXPECT_EQ(tested->size(), size_t{10000});
  EXPECT_EQ(tested->info().class_names[static_cast<size_t>(tested->label(0))], "Ankle boot");
  double sum = 0;
  for (size_t i = 0; i < 500; ++i)
    for (uint8_t v : tested->image(i).pixels) sum += v;
  EXPECT_NEAR(sum / (500 * 28 * 28 * 3) / 255, tested->info().mean[0], 0.01);
}

}  // namespace
}  // namespace fib
