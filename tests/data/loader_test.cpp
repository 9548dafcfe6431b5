// SPDX-License-Identifier: Apache-2.0
#include "data/loader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>
#include <stdexcept>

#include "data/fixtures.h"
#include "few_threads.h"

namespace fib {
namespace {

using test::error_of;
using test::mentions;

PipelineConfig grey_config() {
  return {.input_size = 8,
          .channels = 1,
          .mean = {0},
          .std = {1},
          .crop = CropMode::padded,
          .padding = 2,
          .flip = 0.5,
          .rand_augment = "rand-m9-n1-mstd0.5-inc1",
          .erasing = 0.25};
}

LoaderOptions options(int workers) {
  LoaderOptions result;
  result.sampler.batch = 8;
  result.sampler.seed = 21;
  result.mix = {.mixup_alpha = 0.8, .cutmix_alpha = 1, .probability = 0.5};
  result.workers = workers;
  return result;
}

std::vector<Batch> all_batches(const Loader& loader, uint64_t epoch, size_t first_step = 0) {
  std::vector<Batch> batches;
  BatchStream stream = loader.epoch(epoch, first_step);
  while (auto batch = stream.next()) batches.push_back(std::move(*batch));
  return batches;
}

void expect_equal(const Batch& a, const Batch& b) {
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.indices, b.indices);
  EXPECT_EQ(a.labels, b.labels);
  EXPECT_EQ(a.images, b.images);
  EXPECT_EQ(a.mix.kind, b.mix.kind);
  EXPECT_EQ(a.mix.lambda, b.mix.lambda);
}

TEST(Loader, refuses_more_workers_than_any_machine_needs) {
  EXPECT_TRUE(test::mentions(
      test::error_of([] { Loader(test::counting_dataset(100), Pipeline(grey_config()), options(40'000)); }),
      "loader with 40000 workers: accepted is 0 to 1024"));
}

TEST(Loader, says_in_one_line_that_threads_cannot_be_made) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers need the memory that is taken away here";
  const Loader loader(test::counting_dataset(100), Pipeline(grey_config()), options(1000));
  std::string error;
  {
    const test::FewThreads limited;
    error = test::error_of([&] { all_batches(loader, 0); });
  }
  EXPECT_TRUE(test::mentions(error, "cannot start 1000 loader threads: after ")) << error;
  EXPECT_EQ(error.find('\n'), std::string::npos);
}

TEST(Loader, delivers_the_same_batches_in_order_for_any_number_of_workers) {
  const auto data = test::counting_dataset(100);
  const auto expected = all_batches(Loader(data, Pipeline(grey_config()), options(0)), 4);
  ASSERT_EQ(expected.size(), size_t{12});
  for (int workers : {1, 2, 5}) {
    LoaderOptions with = options(workers);
    with.prefetch = workers == 2 ? 1 : 4;
    const auto batches = all_batches(Loader(data, Pipeline(grey_config()), with), 4);
    ASSERT_EQ(batches.size(), expected.size());
    for (size_t i = 0; i < batches.size(); ++i) expect_equal(batches[i], expected[i]);
  }
}

TEST(Loader, enters_an_epoch_at_any_step) {
  const auto data = test::counting_dataset(100);
  const Loader loader(data, Pipeline(grey_config()), options(2));
  const auto whole = all_batches(loader, 7), rest = all_batches(loader, 7, 9);
  ASSERT_EQ(rest.size(), size_t{3});
  for (size_t i = 0; i < 3; ++i) expect_equal(rest[i], whole[9 + i]);
  EXPECT_TRUE(all_batches(loader, 7, 12).empty());
  EXPECT_TRUE(all_batches(loader, 7, 100).empty());
}

TEST(Loader, an_image_is_augmented_alike_on_any_rank) {
  const auto data = test::counting_dataset(64);
  std::map<size_t, std::vector<float>> alone;
  for (const Batch& batch : all_batches(Loader(data, Pipeline(grey_config()), options(1)), 2))
    for (size_t i = 0; i < 8; ++i) alone[batch.indices[i]] = {&batch.images[64 * i], &batch.images[64 * i] + 64};
  size_t seen = 0;
  for (size_t rank = 0; rank < 4; ++rank) {
    LoaderOptions mine = options(1);
    mine.sampler.rank = rank;
    mine.sampler.world = 4;
    for (const Batch& batch : all_batches(Loader(data, Pipeline(grey_config()), mine), 2))
      for (size_t i = 0; i < 2; ++i, ++seen)
        ASSERT_EQ(std::vector<float>(&batch.images[64 * i], &batch.images[64 * i] + 64), alone.at(batch.indices[i]));
  }
  EXPECT_EQ(seen, size_t{64});
}

TEST(Loader, augments_every_repetition_of_an_image_anew_and_alike_on_any_rank) {
  const auto data = test::counting_dataset(64);
  std::map<size_t, std::set<std::vector<float>>> alone, shared;
  const auto collect = [&](const LoaderOptions& mine, auto& into) {
    for (const Batch& batch : all_batches(Loader(data, Pipeline(grey_config()), mine), 2))
      for (size_t i = 0; i < batch.size(); ++i)
        into[batch.indices[i]].insert({&batch.images[64 * i], &batch.images[64 * i] + 64});
  };
  LoaderOptions repeated = options(1);
  repeated.sampler.repeats = 4;
  collect(repeated, alone);
  EXPECT_EQ(alone.size(), size_t{16}) << "a quarter of the images";
  size_t views = 0;
  for (const auto& [index, different] : alone) views += different.size();
  EXPECT_GT(views, size_t{48}) << "few of the 64 are alike";
  repeated.sampler.world = 2;
  for (repeated.sampler.rank = 0; repeated.sampler.rank < 2; ++repeated.sampler.rank) collect(repeated, shared);
  EXPECT_EQ(shared, alone);
}

TEST(Loader, epochs_differ_in_order_augmentation_and_mixing) {
  const Loader loader(test::counting_dataset(64), Pipeline(grey_config()), options(1));
  const auto first = all_batches(loader, 0), second = all_batches(loader, 1);
  EXPECT_NE(first[0].indices, second[0].indices);
  std::set<double> lambdas;
  for (const auto& batches : {first, second})
    for (const Batch& batch : batches) lambdas.insert(batch.mix.lambda);
  EXPECT_GT(lambdas.size(), size_t{4});
}

TEST(Loader, labels_belong_to_their_images) {
  LoaderOptions plain = options(2);
  plain.mix = {};
  const PipelineConfig config{
      .input_size = 8, .channels = 1, .mean = {0}, .std = {1 / 255.0F}, .crop = CropMode::resize};
  for (const Batch& batch : all_batches(Loader(test::counting_dataset(50), Pipeline(config), plain), 0))
    for (size_t i = 0; i < batch.size(); ++i) {
      EXPECT_EQ(batch.labels[i], static_cast<int64_t>(batch.indices[i]) % 10);
      EXPECT_NEAR(batch.images[64 * i + 13], static_cast<double>(batch.indices[i]), 1e-4);
    }
}

TEST(Loader, the_last_batch_may_be_short_when_nothing_is_dropped) {
  LoaderOptions evaluation;
  evaluation.sampler = {.batch = 16, .shuffle = false, .drop_last = false};
  const PipelineConfig config{.input_size = 8, .channels = 1, .mean = {0}, .std = {1}, .crop = CropMode::resize};
  const auto batches = all_batches(Loader(test::counting_dataset(50), Pipeline(config), evaluation), 0);
  ASSERT_EQ(batches.size(), size_t{4});
  EXPECT_EQ(batches[3].size(), size_t{2});
  EXPECT_EQ(batches[3].images.size(), size_t{2 * 64});
}

TEST(Loader, stops_in_the_middle_of_an_epoch) {
  const Loader loader(test::counting_dataset(100), Pipeline(grey_config()), options(3));
  for (int taken = 0; taken < 4; ++taken) {
    BatchStream stream = loader.epoch(0);
    for (int i = 0; i < taken; ++i) ASSERT_TRUE(stream.next().has_value());
  }
}

/// Some images cannot be read; how often any was asked for is counted.
class FaultyDataset : public Dataset {
 public:
  FaultyDataset(DatasetPtr whole, std::set<size_t> faults)
      : Dataset(whole->info(), whole->labels()), whole_(std::move(whole)), faults_(std::move(faults)) {}
  Image image(size_t index) const override {
    ++reads;
    if (faults_.contains(index)) throw std::runtime_error(item_name(index) + ": is broken");
    return whole_->image(index);
  }
  std::string item_name(size_t index) const override { return "file" + std::to_string(index) + ".png"; }

  mutable std::atomic<size_t> reads = 0;

 private:
  DatasetPtr whole_;
  std::set<size_t> faults_;
};

std::shared_ptr<FaultyDataset> faulty(size_t n, std::set<size_t> faults) {
  return std::make_shared<FaultyDataset>(test::counting_dataset(n), std::move(faults));
}

TEST(Loader, an_unreadable_image_reaches_the_consumer_once_in_its_place) {
  for (int workers : {0, 1, 3}) {
    LoaderOptions in_order = options(workers);
    in_order.sampler.shuffle = false;
    const Loader loader(faulty(100, {37}), Pipeline(grey_config()), in_order);
    BatchStream stream = loader.epoch(0);
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(stream.next().has_value());
    EXPECT_EQ(error_of([&] { stream.next(); }), "file37.png: is broken");
    EXPECT_FALSE(stream.next().has_value());
  }
}

TEST(Loader, skipping_replaces_an_unreadable_image_alike_for_any_number_of_workers) {
  const auto run = [](int workers) {
    LoaderOptions skipping = options(workers);
    skipping.skip_bad = true;
    return all_batches(Loader(faulty(100, {3, 50, 51, 99}), Pipeline(grey_config()), skipping), 1);
  };
  const auto expected = run(0), threaded = run(3);
  std::vector<std::string> skipped;
  for (size_t i = 0; i < expected.size(); ++i) {
    expect_equal(expected[i], threaded[i]);
    EXPECT_EQ(expected[i].skipped, threaded[i].skipped);
    for (size_t slot = 0; slot < 8; ++slot) {
      EXPECT_EQ(expected[i].labels[slot], static_cast<int64_t>(expected[i].indices[slot] % 10));
      EXPECT_FALSE(std::set<size_t>({3, 50, 51, 99}).contains(expected[i].indices[slot]));
    }
    skipped.insert(skipped.end(), expected[i].skipped.begin(), expected[i].skipped.end());
  }
  EXPECT_GE(skipped.size(), size_t{3});
  EXPECT_TRUE(mentions(skipped[0], "is broken"));
}

TEST(Loader, gives_up_where_hardly_anything_can_be_read) {
  LoaderOptions skipping = options(1);
  skipping.skip_bad = true;
  std::set<size_t> all;
  for (size_t i = 0; i < 100; ++i) all.insert(i);
  EXPECT_TRUE(mentions(error_of([&] { all_batches(Loader(faulty(100, all), Pipeline(grey_config()), skipping), 0); }),
                       "too many to skip"));
}

TEST(Loader, prepares_no_more_than_it_may) {
  LoaderOptions bounded = options(2);
  bounded.prefetch = 2;
  const auto data = faulty(800, {});
  const Loader loader(data, Pipeline(grey_config()), bounded);
  {
    BatchStream stream = loader.epoch(0);
    for (int i = 0; i < 3; ++i) stream.next();
  }
  EXPECT_LE(data->reads, size_t{(3 + 2) * 8});
}

TEST(Loader, refuses_options_that_do_not_fit) {
  const auto data = test::counting_dataset(100);
  const auto error = [&](const LoaderOptions& o) {
    return error_of([&] { Loader(data, Pipeline(grey_config()), o); });
  };
  LoaderOptions odd = options(1);
  odd.sampler.batch = 9;
  EXPECT_TRUE(mentions(error(odd), "mixup with 9 images per rank"));
  LoaderOptions incomplete = options(1);
  incomplete.sampler.drop_last = false;
  EXPECT_TRUE(mentions(error(incomplete), "incomplete batches"));
  EXPECT_TRUE(mentions(error(options(-1)), "-1 workers"));
  LoaderOptions idle = options(1);
  idle.prefetch = 0;
  EXPECT_TRUE(mentions(error(idle), "prefetches 0 batches"));
}

}  // namespace
}  // namespace fib
