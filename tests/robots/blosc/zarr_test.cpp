// SPDX-License-Identifier: Apache-2.0
#include "robots/zarr.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <limits>

#include "bench/measure.h"
#include "robots/demonstrations.h"
#include "robots/recording.h"

namespace fib::robots {
namespace {

using nlohmann::json;
using test::error_of;
using test::mentions;

constexpr int64_t kTwo[] = {2};

TEST(ZarrArray, reads_rows_across_chunks) {
  const test::TemporaryDirectory folder;
  std::vector<float> values;
  for (int i = 0; i < 22; ++i) values.push_back(static_cast<float>(i));
  test::write_zarr<float>(folder / "a", "<f4", {2}, values, 4);
  ZarrArray array(folder / "a", ZarrType::float32, kTwo);
  EXPECT_EQ(array.rows(), 11);
  EXPECT_EQ(array.read<float>(0, 11), values);
  EXPECT_EQ(array.read<float>(3, 5), (std::vector<float>{6, 7, 8, 9}));
  EXPECT_EQ(array.read<float>(2, 2), std::vector<float>());
}

TEST(ZarrArray, reads_chunks_that_are_not_compressed_and_lie_in_folders) {
  const test::TemporaryDirectory folder;
  json header = test::zarr_header("<f4", {2, 2}, 2);
  header["compressor"] = nullptr;
  header["dimension_separator"] = "/";
  std::filesystem::create_directories(folder / "a/0");
  test::write_file(folder / "a/.zarray", header.dump());
  const std::vector<float> values = {1, 2, 3, 4};
  test::write_file(folder / "a/0/0", test::raw_bytes(std::span<const float>(values)));
  EXPECT_EQ(ZarrArray(folder / "a", ZarrType::float32, kTwo).read<float>(0, 2), values);
}

/// One line each, that names what was found and what is accepted.
TEST(Zarray, refuses_what_it_cannot_read) {
  const auto refused = [](const char* key, const json& value) {
    json header = test::zarr_header("<f4", {11, 2}, 4);
    header[key] = value;
    const std::string error = error_of([&] { parse_zarray(header.dump(), "a/.zarray"); });
    EXPECT_EQ(error.find('\n'), std::string::npos);
    EXPECT_TRUE(mentions(error, "a/.zarray")) << key;
    return error;
  };
  EXPECT_TRUE(mentions(refused("zarr_format", 3), "zarr_format"));
  EXPECT_TRUE(mentions(refused("order", "F"), "order"));
  EXPECT_TRUE(mentions(refused("filters", json::array({1})), "filters"));
  EXPECT_TRUE(mentions(refused("dtype", ">f4"), "accepted: <f4, <i8"));
  EXPECT_TRUE(mentions(refused("compressor", {{"id", "lz77\n"}}), "accepted: blosc or none"));
  EXPECT_TRUE(mentions(refused("compressor", 5), "accepted: blosc or none"));
  EXPECT_TRUE(mentions(refused("dimension_separator", "-"), "dimension_separator"));
  for (const json& shape :
       {json(), json::array(), json{-1, 2}, json{0, 2}, json{1.5, 2}, json{"a"}, json{1, 1, 1, 1, 1, 1, 1, 1, 1}}) {
    EXPECT_TRUE(mentions(refused("shape", shape), "positive integers"));
  }
  EXPECT_TRUE(mentions(refused("shape", json{INT64_MAX, 2}), "below 2^63"));
  EXPECT_TRUE(mentions(refused("chunks", json{4, 1}), "whole rows"));
  EXPECT_TRUE(mentions(refused("chunks", json::array({4})), "whole rows"));
  EXPECT_TRUE(mentions(refused("chunks", json{int64_t{1} << 40, 2}), "bytes each"));
  EXPECT_TRUE(mentions(refused("chunks", json{INT64_MAX, 2}), "bytes each"));
  EXPECT_TRUE(mentions(error_of([] { parse_zarray("{}", "a"); }), "no field"));
  EXPECT_TRUE(mentions(error_of([] { parse_zarray("[1", "a"); }), "not a JSON object"));
  EXPECT_TRUE(mentions(error_of([] { parse_zarray(std::string(1000, '['), "a"); }), "not a JSON object"));
}

TEST(ZarrChunk, must_hold_exactly_what_the_header_says) {
  const ZarrHeader header = parse_zarray(test::zarr_header("<f4", {11, 2}, 4).dump(), "a");
  const std::vector<float> values(8, 1);
  const std::string good = test::blosc_bytes(test::raw_bytes(std::span<const float>(values)), 4);
  const auto decode = [&](const std::string& bytes) {
    return error_of([&] { decode_zarr_chunk(std::as_bytes(std::span(bytes)), header, "a/0.0"); });
  };
  EXPECT_EQ(decode(good), "");
  EXPECT_TRUE(mentions(decode(""), "damaged or cut short"));
  EXPECT_TRUE(mentions(decode(good.substr(0, good.size() - 1)), "damaged or cut short"));
  EXPECT_TRUE(mentions(decode(test::blosc_bytes(std::string(36, 'x'), 4)), "36 bytes of values; accepted: 32"));
  for (size_t i = 0; i < good.size(); ++i) {  // whatever a damaged byte does, it does it within bounds
    std::string damaged = good;
    damaged[i] = static_cast<char>(damaged[i] ^ 0xff);
    decode(damaged);
  }
}

class Recording : public testing::Test {
 protected:
  void SetUp() override { test::write_recording(folder_.path()); }
  std::string error() const {
    const std::string message = error_of([&] {
      for (const Episode& e : read_demonstrations(folder_.path()).episodes) read_images(folder_.path(), e);
    });
    EXPECT_EQ(message.find('\n'), std::string::npos);
    return message;
  }
  test::TemporaryDirectory folder_;
};

TEST_F(Recording, is_read_as_it_was_written) {
  const Demonstrations all = read_demonstrations(folder_.path());
  ASSERT_EQ(all.episodes.size(), size_t{2});
  EXPECT_EQ(all.episodes[1].begin, 12);
  EXPECT_EQ(all.states.size(), size_t{19});
  EXPECT_FLOAT_EQ(static_cast<float>(all.states[12].block.angle), 0.3F);
  EXPECT_EQ(all.actions[3].y, 180);
  EXPECT_EQ(read_images(folder_.path(), all.episodes[1]).size(), size_t{7 * 96 * 96 * 3});
  EXPECT_EQ(error(), "");
}

TEST_F(Recording, names_a_missing_chunk) {
  std::filesystem::remove(folder_ / "data/img/2.0.0.0");
  EXPECT_TRUE(mentions(error(), "data/img: chunk 2.0.0.0 is missing"));
  std::filesystem::remove(folder_ / "data/state/.zarray");
  EXPECT_TRUE(mentions(error(), "data/state: no zarr v2 array here"));
}

TEST_F(Recording, announces_what_it_likes_and_takes_memory_for_what_is_there) {
  test::write_file(folder_ / "data/state/.zarray", test::zarr_header("<f4", {1000000, 5}, 5).dump());
  EXPECT_TRUE(mentions(error(), "data/state: chunk 4.0 is missing"));
  test::write_file(folder_ / "data/state/.zarray", test::zarr_header("<f4", {INT64_MAX / 40, 5}, 5).dump());
  EXPECT_TRUE(mentions(error(), "data/state: 230584300921369395 rows; accepted: up to 1000000"));
}

/// Chunks of zeros: 64 MB of states in a file of 300 KB, as often as it is copied.
TEST_F(Recording, a_bomb_is_refused_before_it_is_unpacked) {
  constexpr int64_t kRows = 3'000'000, kChunks = 20;
  const std::string bomb = test::blosc_bytes(std::string(static_cast<size_t>(kRows) * 5 * 4, '\0'), 4);
  EXPECT_LT(bomb.size(), size_t{1} << 20);
  test::write_file(folder_ / "data/state/.zarray", test::zarr_header("<f4", {kRows * kChunks, 5}, kRows).dump());
  for (int64_t i = 0; i < kChunks; ++i) test::write_file(folder_ / "data/state" / (std::to_string(i) + ".0"), bomb);
  const bench::PeakMemory memory;
  EXPECT_TRUE(mentions(error(), "60000000 rows; accepted: up to 1000000"));
  EXPECT_LT(memory.growth().value_or(0), 32 << 20);
}

TEST_F(Recording, an_episode_of_a_million_images_is_refused) {
  EXPECT_TRUE(mentions(error_of([&] {
                         read_images(folder_.path(), {0, 1'000'000});
                       }),
                       "an episode of 1000000 images; accepted: up to 10000"));
}

TEST_F(Recording, is_not_waited_for_where_it_is_a_pipe) {
  std::filesystem::remove(folder_ / "data/state/.zarray");
  ASSERT_EQ(::mkfifo((folder_ / "data/state/.zarray").c_str(), 0600), 0);
  EXPECT_TRUE(mentions(error(), "data/state: no zarr v2 array here"));
}

TEST_F(Recording, refuses_other_shapes) {
  test::write_zarr<float>(folder_ / "data/state", "<f4", {6}, std::vector<float>(19 * 6), 5);
  EXPECT_TRUE(mentions(error(), "<f4 (19, 6); accepted: <f4 (rows, 5)"));
  test::write_zarr<float>(folder_ / "data/state", "<f4", {5}, std::vector<float>(18 * 5), 5);
  EXPECT_TRUE(mentions(error(), "data/action: 19 rows; data/state has 18"));
}

TEST_F(Recording, refuses_ends_that_go_backwards) {
  test::write_zarr<int64_t>(folder_ / "meta/episode_ends", "<i8", {}, {12, 7, 19}, 4);
  EXPECT_TRUE(mentions(error(), "episode 1 ends at 7 and begins at 12"));
}

TEST_F(Recording, refuses_values_that_are_no_numbers_and_pixels_that_are_no_bytes) {
  std::vector<float> states(19 * 5);
  states[31] = std::numeric_limits<float>::quiet_NaN();
  test::write_zarr<float>(folder_ / "data/state", "<f4", {5}, states, 5);
  EXPECT_TRUE(mentions(error(), "row 6 holds nan"));
  test::write_recording(folder_.path());
  for (const float wrong : {0.5F, 256.F, -1.F, std::numeric_limits<float>::infinity()}) {
    test::write_zarr<float>(folder_ / "data/img", "<f4", {96, 96, 3}, std::vector<float>(19 * 96 * 96 * 3, wrong), 5);
    EXPECT_TRUE(mentions(error(), "accepted: whole numbers 0 to 255"));
  }
}

}  // namespace
}  // namespace fib::robots
