// SPDX-License-Identifier: Apache-2.0
#include "data/clips/clip.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>

#include "bench/measure.h"
#include "data/clip_dataset.h"
#include "data/loader.h"
#include "data/write_clip.h"
#include "files.h"

namespace fib {
namespace {

using test::error_of;
using test::mentions;
using test::TemporaryDirectory;

/// The middle of a frame, where no corner is.
int grey(const Image& image) { return image.row(image.height / 2)[3 * (image.width / 2)]; }

TEST(Clip, gives_every_frame_by_its_number_however_it_is_reached) {
  const TemporaryDirectory folder;
  const auto file = folder / "a.mp4";
  test::write_clip(file);
  const ClipIndex index = index_clip(file);
  ASSERT_EQ(index.frames(), 20U);
  EXPECT_NEAR(index.frames_per_second, 25, 1e-9);
  EXPECT_GT(index.keys.size(), 2U);
  std::vector<size_t> all(index.frames());
  std::iota(all.begin(), all.end(), size_t{0});
  for (const std::vector<size_t>& numbers :
       {all, std::vector<size_t>{0}, {19}, {7}, {5, 13, 19}, {3, 3, 4}, {1, 2, 11, 12, 18}}) {
    const std::vector<Image> frames = read_frames(file, index, numbers);
    ASSERT_EQ(frames.size(), numbers.size());
    for (size_t i = 0; i < frames.size(); ++i) {
      EXPECT_EQ(frames[i].width, 64);
      EXPECT_NEAR(grey(frames[i]), test::grey_of_frame(numbers[i]), 2) << "frame " << numbers[i];
    }
  }
}

TEST(Clip, stands_upright_as_the_phone_noted) {
  const TemporaryDirectory folder;
  for (int degrees : {0, 90, 180, 270}) {
    const auto file = folder / ("turned" + std::to_string(degrees) + ".mp4");
    test::write_clip(file, {.frames = 3, .turned = degrees});
    const size_t first = 0;
    const Image image = read_frames(file, index_clip(file), {&first, 1}).front();
    EXPECT_EQ(image.width, degrees % 180 == 0 ? 64 : 48);
    const bool right = degrees == 90 || degrees == 180, bottom = degrees == 180 || degrees == 270;
    EXPECT_GT(image.row(bottom ? image.height - 4 : 3)[3 * (right ? image.width - 4 : 3)], 200) << degrees;
  }
}

TEST(Clip, shows_what_is_seen_at_even_times_where_frames_are_not) {
  const TemporaryDirectory folder;
  const auto file = folder / "uneven.mp4";
  // Ten frames in the first fifth of a second, the others one every 200 ms.
  std::vector<int64_t> times;
  for (int64_t i = 0; i < 20; ++i) times.push_back(i < 10 ? 20 * i : 200 * (i - 9));
  test::write_clip(file, {.times = times});
  const ClipIndex index = index_clip(file);
  ASSERT_EQ(index.frames(), 20U);
  CounterRng unused(0);
  const auto chosen = choose_frames(index, {.frames = 5, .rate = 12}, unused);  // two seconds
  EXPECT_EQ(chosen.front(), 0U);
  EXPECT_GT(chosen[1], 8U);
  for (size_t i = 2; i < chosen.size(); ++i) EXPECT_NEAR(static_cast<double>(chosen[i] - chosen[i - 1]), 2.4, 1);
}

ClipIndex even_clip(size_t frames, double per_second) {
  ClipIndex clip;
  clip.frames_per_second = per_second;
  clip.keys = {0};
  for (size_t i = 0; i < frames; ++i) clip.times.push_back(static_cast<int64_t>(i) * 512);
  return clip;
}

TEST(ClipSampling, spreads_frames_as_its_authors_do) {
  CounterRng rng(0);
  // A span of 8 · 32 / 30 · 30 = 256 frames: linspace(0, 255, 8).
  EXPECT_EQ(choose_frames(even_clip(300, 30), {.frames = 8, .rate = 32}, rng),
            (std::vector<size_t>{0, 36, 72, 109, 145, 182, 218, 255}));
  // At 15 frames a second half as many source frames.
  EXPECT_EQ(choose_frames(even_clip(300, 15), {.frames = 8, .rate = 32}, rng),
            (std::vector<size_t>{0, 18, 36, 54, 72, 90, 108, 127}));
  // A shorter clip shows its last frame again.
  EXPECT_EQ(choose_frames(even_clip(100, 30), {.frames = 8, .rate = 32}, rng),
            (std::vector<size_t>{0, 36, 72, 99, 99, 99, 99, 99}));
  EXPECT_EQ(choose_frames(even_clip(1, 30), {.frames = 2, .rate = 32}, rng), (std::vector<size_t>{0, 0}));
  // A span that fits no integer is one all the same.
  EXPECT_EQ(choose_frames(even_clip(100, 30), {.frames = 2, .rate = 2000000000}, rng), (std::vector<size_t>{0, 99}));
}

TEST(ClipSampling, begins_anywhere_in_training_and_the_same_for_the_same_draw) {
  const ClipIndex clip = even_clip(300, 30);
  const ClipSampling sampling{.frames = 4, .rate = 8, .random_start = true};
  std::vector<size_t> starts;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    CounterRng a(seed), b(seed);
    const auto chosen = choose_frames(clip, sampling, a);
    EXPECT_EQ(chosen, choose_frames(clip, sampling, b));
    EXPECT_EQ(chosen.back() - chosen.front(), 31U);
    starts.push_back(chosen.front());
  }
  EXPECT_LT(*std::ranges::min_element(starts), 15U);
  EXPECT_GT(*std::ranges::max_element(starts), 250U);
}

// ---- What is not a clip
// -----------------------------------------------------------------------------------------------

std::string truncated(const std::filesystem::path& file, double share) {
  const std::string all = test::read_file(file);
  return all.substr(0, static_cast<size_t>(share * static_cast<double>(all.size())));
}

TEST(Clip, says_that_a_file_is_truncated) {
  const TemporaryDirectory folder;
  for (bool index_first : {true, false}) {
    test::write_clip(folder / "whole.mp4", {.index_first = index_first});
    test::write_file(folder / "half.mp4", truncated(folder / "whole.mp4", 0.7));
    const std::string error = error_of([&] { index_clip(folder / "half.mp4"); });
    EXPECT_TRUE(mentions(error, "half.mp4'"));
    EXPECT_TRUE(mentions(error, index_first ? "it is truncated" : "damaged"));
  }
}

/// A GIF of so many pixels that holds hardly any.
std::string empty_gif(int width, int height) {
  const auto sixteen = [](int n) { return std::string{static_cast<char>(n & 255), static_cast<char>(n >> 8)}; };
  const std::string size = sixteen(width) + sixteen(height);
  const std::string header = "GIF89a" + size + std::string("\x80\0\0\0\0\0\xff\xff\xff", 9);
  const std::string frame = std::string(",\0\0\0\0", 5) + size + std::string("\0\2\2\x4c\1\0", 6);
  return header + frame + frame + ";";
}

TEST(Clip, a_file_of_few_bytes_does_not_take_the_memory_of_its_announced_size) {
  const TemporaryDirectory folder;
  test::write_file(folder / "a.gif", empty_gif(13000, 13000));
  const bench::PeakMemory memory;
  EXPECT_TRUE(mentions(error_of([&] { index_clip(folder / "a.gif"); }),
                       "a.gif': no frame can be decoded, or they have more than 35389440 pixels"));
  EXPECT_LT(memory.growth().value_or(0), 64 << 20);
  test::write_file(folder / "b.gif", empty_gif(640, 480));
  EXPECT_EQ(index_clip(folder / "b.gif").frames(), 2U);
}

/// Prepares so many frames of the file; returns the bytes by which the process's memory grew beyond any of before.
std::optional<int64_t> memory_of_frames(const std::filesystem::path& file, int frames, std::vector<float>& out) {
  PipelineConfig config{.input_size = 32, .mean = {0, 0, 0}, .std = {1, 1, 1}, .crop_ratio = 1};
  config.clip = {.frames = frames, .rate = 1};
  const ClipDataset dataset({}, {{file, 0}});
  const Pipeline pipeline(config);
  out.resize(pipeline.values());
  CounterRng rng(0);
  const bench::PeakMemory memory;
  dataset.for_frames(0, config.clip, rng,
                     [&](size_t t, Image frame) { pipeline.apply_frame(std::move(frame), t, rng, out.data()); });
#ifdef __SANITIZE_ADDRESS__
  return std::nullopt;  // the sanitizer keeps what was freed
#else
  return memory.growth();
#endif
}

// What the decoder takes for itself is the same for either number of frames, and differs between its versions.
TEST(Clip, takes_the_memory_of_a_frame_however_many_are_asked_for) {
  const TemporaryDirectory folder;
  const auto file = folder / "large.mp4";
  test::write_clip(file, {.width = 1280, .height = 960, .frames = 16});
  std::vector<float> out;
  const auto of_four = memory_of_frames(file, 4, out);
  const auto of_sixteen = memory_of_frames(file, 16, out);
  if (of_four && of_sixteen) {
    const int64_t frame_bytes = 1280 * 960 * 3;
    EXPECT_LT(*of_sixteen, *of_four + 4 * frame_bytes) << "12 more were asked for";
  }
  EXPECT_NEAR(255 * out[15 * 32 * 32 + 16 * 32 + 16], test::grey_of_frame(12), 4) << "the 12th at 30 a second";
}

TEST(Clip, says_that_sound_is_no_video) {
  const TemporaryDirectory folder;
  std::string wave("RIFF\x64\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0data\x40\0\0\0", 44);
  test::write_file(folder / "a.wav", wave + std::string(64, '\0'));
  EXPECT_TRUE(mentions(error_of([&] { index_clip(folder / "a.wav"); }), "a.wav': it holds no video"));
  test::write_file(folder / "b.mp4", "a text");
  EXPECT_TRUE(mentions(error_of([&] { index_clip(folder / "b.mp4"); }), "b.mp4': it is no video"));
  EXPECT_TRUE(mentions(error_of([&] { index_clip(folder / "none.mp4"); }), "none.mp4': no such file"));
}

TEST(Clip, says_that_a_video_has_no_frames) {
  const TemporaryDirectory folder;
  test::write_clip(folder / "empty.mp4", {.frames = 0});
  EXPECT_TRUE(mentions(error_of([&] { index_clip(folder / "empty.mp4"); }), "empty.mp4': it"));
}

TEST(Clip, refuses_frames_that_change_their_size) {
  const TemporaryDirectory folder;
  std::string stream;
  for (int64_t side : {32, 32, 48}) {
    const std::vector<std::byte> jpeg = encode_jpeg(make_image(side, side), 90);
    stream.append(reinterpret_cast<const char*>(jpeg.data()), jpeg.size());
  }
  test::write_file(folder / "sizes.mjpeg", stream);
  const ClipIndex index = index_clip(folder / "sizes.mjpeg");
  ASSERT_EQ(index.frames(), 3U);
  const std::vector<size_t> all = {0, 1, 2};
  EXPECT_TRUE(mentions(error_of([&] { read_frames(folder / "sizes.mjpeg", index, all); }),
                       "its frames change from 32x32 to 48x48, accepted is one size"));
}

// ---- Clips on their way to a model
// ------------------------------------------------------------------------------------

Loader clip_loader(const std::filesystem::path& folder, PipelineConfig config, int workers) {
  const std::filesystem::path path = folder;
  const auto* known = std::ranges::find(kKnownDatasets, "clips", [](const auto& d) { return d.row.name; });
  LoaderOptions options;
  options.sampler.batch = 2;
  options.workers = workers;
  return Loader(known->open({known->row, path, DatasetPart::train, false, {{"test", "0.5"}}}), Pipeline(config),
                options);
}

TEST(ClipLoader, gives_the_same_frames_with_any_number_of_workers_and_from_any_step) {
  const TemporaryDirectory folder;
  for (const char* name : {"a", "b"}) {
    std::filesystem::create_directory(folder / name);
    for (int i = 0; i < 4; ++i) test::write_clip(folder / name / ("c" + std::to_string(i) + ".mp4"));
  }
  PipelineConfig config{.input_size = 16, .crop = CropMode::jittered, .short_sides = {20, 28}, .flip = 0.5};
  config.clip = {.frames = 3, .rate = 4, .random_start = true};
  const Loader one = clip_loader(folder.path(), config, 0), three = clip_loader(folder.path(), config, 3);
  ASSERT_EQ(one.steps_per_epoch(), 2U);
  BatchStream first = one.epoch(1), second = three.epoch(1), later = one.epoch(1, 1);
  const auto skipped = first.next();
  ASSERT_TRUE(skipped);
  EXPECT_EQ(skipped->images, second.next()->images);
  EXPECT_EQ(skipped->frames, 3);
  EXPECT_EQ(skipped->images.size(), 2U * 3 * 3 * 16 * 16);
  EXPECT_EQ(first.next()->images, later.next()->images);
}

TEST(ClipLoader, shows_three_squares_of_each_frame_in_the_order_of_channels_and_frames) {
  const TemporaryDirectory folder;
  for (const char* name : {"a", "b"}) {
    std::filesystem::create_directory(folder / name);
    for (int i = 0; i < 2; ++i) test::write_clip(folder / name / ("c" + std::to_string(i) + ".mp4"));
  }
  PipelineConfig config{.input_size = 48, .mean = {0, 0, 0}, .std = {1, 1, 1}, .crop_ratio = 1, .views = 3};
  config.clip = {.frames = 2, .rate = 6};  // frames 0 and 9
  const Loader loader = clip_loader(folder.path(), config, 0);
  const Batch batch = loader.epoch(0).next().value();
  ASSERT_EQ(batch.images.size(), 2U * 3 * 3 * 2 * 48 * 48);
  const auto value = [&](int view, int channel, int frame, int y, int x) {
    return 255 * batch.images[static_cast<size_t>(((((view * 3) + channel) * 2 + frame) * 48 + y) * 48 + x)];
  };
  for (int channel : {0, 2}) {
    EXPECT_GT(value(0, channel, 0, 3, 3), 200);                           // the white corner, at the left end
    EXPECT_NEAR(value(1, channel, 0, 3, 20), test::grey_of_frame(0), 4);  // not in the middle of the middle one
    EXPECT_NEAR(value(2, channel, 0, 3, 3), test::grey_of_frame(0), 4);   // nor at the right end
    EXPECT_NEAR(value(2, channel, 1, 30, 30), test::grey_of_frame(9), 4);
  }
}

/// FIB_CLIPS names a folder of real videos, and FIB_CLIP_FRAMES one that ffmpeg has filled with frames of them:
///   ffmpeg -i a.mp4 -vf "select='eq(n,7)'" -pix_fmt rgb24 -f rawvideo a.mp4.7.rgb
TEST(Clip, equals_the_frames_of_ffmpeg) {
  const char* clips = std::getenv("FIB_CLIPS");
  const char* frames = std::getenv("FIB_CLIP_FRAMES");
  if (clips == nullptr || frames == nullptr) GTEST_SKIP() << "FIB_CLIPS and FIB_CLIP_FRAMES are not set";
  size_t compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(frames)) {
    const std::filesystem::path name = entry.path().stem();  // a.mp4.7
    const size_t number = std::stoul(name.extension().string().substr(1));
    const std::filesystem::path clip = std::filesystem::path(clips) / name.stem();
    const Image ours = read_frames(clip, index_clip(clip), {&number, 1}).front();
    const std::string theirs = test::read_file(entry.path());
    ASSERT_EQ(ours.pixels.size(), theirs.size()) << entry.path();
    int most = 0;
    for (size_t i = 0; i < theirs.size(); ++i)
      most = std::max(most, std::abs(int{ours.pixels[i]} - int{static_cast<uint8_t>(theirs[i])}));
    EXPECT_LE(most, 1) << entry.path();
    ++compared;
  }
  EXPECT_GT(compared, 0U);
}

}  // namespace
}  // namespace fib
