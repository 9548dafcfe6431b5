// SPDX-License-Identifier: Apache-2.0
#include "data/registry/datasets.h"

#include <gtest/gtest.h>

#include <set>

#include "data/fixtures.h"
#include "data/open_dataset.h"

namespace fib {
namespace {

using test::error_of;
using test::mentions;

TEST(Datasets, rows_are_complete_and_names_unique) {
  std::set<std::string_view> names;
  for (const DatasetRow& row : dataset_rows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.what.empty());
    EXPECT_FALSE(row.how_to_get.empty());
    for (int c = 0; c < row.channels; ++c) EXPECT_GT(row.std[static_cast<size_t>(c)], 0) << row.name;
    EXPECT_TRUE(row.class_names.empty() || static_cast<int64_t>(row.class_names.size()) == row.classes);
    for (const DatasetFile& file : row.files) EXPECT_TRUE(file.md5.empty() || file.md5.size() == 32) << file.name;
  }
  EXPECT_EQ(names.size(), size_t{11});
}

TEST(Datasets, an_unknown_name_gets_the_nearest) {
  const auto error = error_of([] { parse_data_source("cifar-10:/x"); });
  EXPECT_TRUE(mentions(error, "unknown dataset 'cifar-10'"));
  EXPECT_TRUE(mentions(error, "did you mean 'cifar10'"));
}

TEST(Datasets, a_path_is_looked_in_first_and_then_the_archives_folder_in_it) {
  const DataSource source = parse_data_source("cifar10:/some:where");
  EXPECT_EQ(source.row->name, "cifar10");
  EXPECT_EQ(source.places, (std::vector<std::filesystem::path>{"/some:where", "/some:where/cifar-10-batches-bin"}));
}

TEST(Datasets, without_a_path_the_root_comes_from_the_environment) {
  const test::Environment root("FIB_DATA", "/my/data");
  EXPECT_EQ(parse_data_source("mnist").places, (std::vector<std::filesystem::path>{"/my/data/mnist"}));
  EXPECT_EQ(parse_data_source("fashion-mnist").places.back(), "/usr/share/datasets/fashion-mnist");
}

TEST(Datasets, the_root_defaults_to_the_cache_in_the_home_folder) {
  const test::Environment root("FIB_DATA", ""), home("HOME", "/home/someone");
  EXPECT_EQ(data_root(), "/home/someone/.cache/fibottention");
  const test::Environment homeless("HOME", "");
  EXPECT_EQ(data_root(), "data");
}

TEST(Datasets, a_folder_needs_a_path) {
  EXPECT_TRUE(mentions(error_of([] { parse_data_source("folder"); }), "accepted is folder:PATH"));
  EXPECT_TRUE(mentions(error_of([] { parse_data_source("folder:"); }), "accepted is folder:PATH"));
}

TEST(Datasets, what_is_missing_is_said_with_where_and_how) {
  const test::Environment root("FIB_DATA", "/no/such/root");
  const auto error = error_of([] { open_dataset("mnist", DatasetPart::train); });
  EXPECT_TRUE(mentions(error, "mnist: train-images-idx3-ubyte"));
  EXPECT_TRUE(mentions(error, "not found in /no/such/root/mnist; to get it: scripts/get-data.sh mnist"));
}

TEST(Datasets, a_path_that_leads_nowhere_is_named) {
  EXPECT_EQ(error_of([] { open_dataset("folder:/no/such", DatasetPart::train); }),
            "folder: there is no folder '/no/such'");
  EXPECT_EQ(error_of([] { open_dataset("clip-list:/no/such", DatasetPart::train); }),
            "clip-list: there is no list '/no/such'");
}

TEST(Datasets, verification_finds_a_changed_file) {
  const test::TemporaryDirectory folder;
  test::write_mnist(folder.path(), 2, 2);
  EXPECT_TRUE(mentions(error_of([&] { verify_dataset(dataset_row("mnist"), folder.path()); }), "the checksum is"));
}

TEST(Datasets, splits_hold_validation_out_of_training) {
  const test::TemporaryDirectory folder;
  test::write_mnist(folder.path(), 100, 20);
  SplitOptions options;
  options.validation_fraction = 0.2;
  const DataSplits splits = open_data_splits("mnist:" + folder.path().string(), options);
  EXPECT_EQ(splits.train->size(), size_t{80});
  EXPECT_EQ(splits.validation->size(), size_t{20});
  EXPECT_EQ(splits.test->size(), size_t{20});
  std::set<uint8_t> values;
  for (const DatasetPtr& part : {splits.train, splits.validation})
    for (size_t i = 0; i < part->size(); ++i) EXPECT_TRUE(values.insert(part->image(i).pixels[0]).second);
  EXPECT_EQ(values.size(), size_t{100});
  EXPECT_EQ(open_data_splits("mnist:" + folder.path().string(), {}).validation, nullptr);
}

}  // namespace
}  // namespace fib
