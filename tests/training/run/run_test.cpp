// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "files.h"
#include "training/run/directory.h"
#include "training/run/log.h"
#include "training/run/summary.h"

namespace fib::training {
namespace {

using fib::test::error_of;
using fib::test::mentions;
using fib::test::read_file;
using fib::test::TemporaryDirectory;
using fib::test::write_file;

TEST(Crc32c, gives_the_published_check_value) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(crc32c(""), 0U);
}

uint64_t number(const std::string& bytes, size_t at, size_t size) {
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i)
    value |= static_cast<uint64_t>(static_cast<unsigned char>(bytes.at(at + i))) << (8 * i);
  return value;
}

bool masked_crc_holds(const std::string& data, uint64_t stored) {
  const uint32_t rotated = static_cast<uint32_t>(stored) - 0xA282EAD8U;
  return crc32c(data) == ((rotated << 15) | (rotated >> 17));
}

/// The records of a file whose CRCs all hold.
std::vector<std::string> records(const std::string& file) {
  std::vector<std::string> found;
  for (size_t at = 0; at < file.size();) {
    const size_t length = number(file, at, 8);
    EXPECT_TRUE(masked_crc_holds(file.substr(at, 8), number(file, at + 8, 4)));
    found.push_back(file.substr(at + 12, length));
    EXPECT_TRUE(masked_crc_holds(found.back(), number(file, at + 12 + length, 4)));
    at += 16 + length;
  }
  return found;
}

TEST(EventFile, begins_with_the_version_and_holds_scalars_as_protobuf) {
  const TemporaryDirectory directory;
  EventFile(directory / "e", 0).add({.step = 300, .tag = "train/loss", .value = 2.5F, .wall_time = 1.5});
  const auto found = records(read_file(directory / "e"));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_TRUE(mentions(found[0],
                       "\x1a\x0d"
                       "brain.Event:2"));
  // 09 wall_time; 10 step as varint AC 02; 2A summary { 0A value { 0A tag; 15 simple_value } }
  const std::string expected = std::string(
      "\x09\x00\x00\x00\x00\x00\x00\xf8\x3f\x10\xac\x02\x2a\x13\x0a\x11\x0a\x0atrain/loss\x15"
      "\x00\x00\x20\x40",
      33);
  EXPECT_EQ(found[1], expected);
}

TEST(RunLog, continues_where_the_checkpoint_was) {
  const TemporaryDirectory directory;
  const RunFiles files{directory.path()};
  LogPosition position;
  {
    RunLog log(files, {});
    log.add("train", {{"step", 1}, {"loss", 2.5}, {"note", "x"}});
    position = log.sync();
    log.add("train", {{"step", 2}, {"loss", 9.9}});
  }
  RunLog(files, position).add("train", {{"step", 2}, {"loss", 1.5}});
  EXPECT_EQ(read_file(files.metrics()), "{\"step\":1,\"loss\":2.5,\"note\":\"x\"}\n{\"step\":2,\"loss\":1.5}\n");
  EXPECT_EQ(records(read_file(files.events())).size(), 3U);
}

TEST(RunLog, refuses_files_shorter_than_the_checkpoint_says) {
  const TemporaryDirectory directory;
  write_file(directory / "metrics.jsonl", "{}\n");
  EXPECT_TRUE(mentions(error_of([&] { RunLog({directory.path()}, {.metrics = 10}); }), "has 3 bytes"));
}

TEST(AppendFile, says_why_it_cannot_grow) {
  const TemporaryDirectory directory;
  AppendFile file(directory / "f", 0);
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit small{10, limit.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const std::string error = error_of([&] { file.append("more than ten bytes"); });
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, before);
  EXPECT_TRUE(mentions(error, "f': File too large"));
  EXPECT_EQ(file.size(), 10);
}

TEST(RunDirectory, is_made_with_its_parents_and_knows_whether_it_holds_a_run) {
  const TemporaryDirectory directory;
  const RunDirectory run(directory / "a/b/c");
  EXPECT_FALSE(run.holds_run());
  write_file(run.files().config(), "");
  EXPECT_TRUE(run.holds_run());
  EXPECT_EQ(run.files().recipe(), Recipe());
}

TEST(RunDirectory, leaves_nothing_behind_where_no_run_has_begun) {
  const TemporaryDirectory directory;
  for (const char* name : {"a/b/c", "a/b/c/"}) {
    { const RunDirectory refused(directory / name); }
    EXPECT_FALSE(std::filesystem::exists(directory / "a")) << name;
  }
  std::filesystem::create_directories(directory / "kept");
  { const RunDirectory refused(directory / "kept"); }
  EXPECT_TRUE(std::filesystem::exists(directory / "kept")) << "it was there before";
  {
    const RunDirectory begun(directory / "run");
    write_file(begun.files().config(), "");
  }
  EXPECT_TRUE(std::filesystem::exists(directory / "run/config.toml"));
}

TEST(RunDirectory, refuses_a_second_process_and_serves_it_afterwards) {
  const TemporaryDirectory directory;
  {
    const RunDirectory first(directory.path());
    EXPECT_TRUE(mentions(error_of([&] { RunDirectory second(directory.path()); }), "in use by another process"));
  }
  EXPECT_NO_THROW(RunDirectory{directory.path()});
}

TEST(RunDirectory, outlives_a_process_that_was_killed) {
  const TemporaryDirectory directory;
  const pid_t child = ::fork();
  if (child == 0) {
    const RunDirectory held(directory.path());
    write_file(directory / ".fib-0123.tmp", "half");
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_NO_THROW(RunDirectory{directory.path()});
  EXPECT_FALSE(std::filesystem::exists(directory / ".fib-0123.tmp")) << "what was half written is removed";
}

TEST(RunDirectory, says_what_is_wrong_with_the_place) {
  const TemporaryDirectory directory;
  write_file(directory / "file", "");
  EXPECT_TRUE(mentions(error_of([&] { RunDirectory run(directory / "file"); }), "Not a directory"));
  EXPECT_TRUE(mentions(error_of([&] { RunDirectory run(directory / "file/below"); }), "cannot make the run directory"));
  EXPECT_TRUE(mentions(error_of([&] { RunFiles{directory.path()}.recipe(); }), "holds no run"));
}

Summary sample_summary() {
  Summary s{.model = "vit", .attention = "full", .data = "mnist", .seed = 3, .parameters = 10, .train_samples = 100};
  s.test = {.evaluation = {.samples = 50, .metrics = {{"top1", 0.5}, {"top5", 0.75}, {"loss", 1.5}}, .seconds = 2},
            .weights = "ema",
            .epoch = 4};
  s.validation = {.evaluation = {.samples = 20, .metrics = {{"top1", 0.6}}}, .weights = "ema", .epoch = 4};
  s.attention_cost = {0.9, 0.8};
  s.speed = {.samples_per_second = 10, .step_ms = 3, .data_wait_ms = 1, .attention_ms = 2};
  return s;
}

TEST(Summary, comes_back_as_it_was_written) {
  const test::TemporaryDirectory directory;
  const RunFiles files{directory.path()};
  write_summary(files, sample_summary());
  const Summary read = read_summary(files);
  EXPECT_EQ(to_json(read), to_json(sample_summary()));
  EXPECT_EQ(read.test.evaluation.value("top5"), 0.75);
  EXPECT_EQ(read.test.evaluation.seconds, 2);
}

/// What users and scripts read.
TEST(Summary, has_the_fields_of_the_contract) {
  const auto json = to_json(sample_summary());
  for (const char* key :
       {"model",        "attention",     "data",           "seed",           "parameters",        "train_images",
        "epochs",       "steps",         "batch",          "processes",      "threads",           "validation",
        "test",         "train_seconds", "peak_memory_mb", "attention_cost", "images_per_second", "step_ms",
        "data_wait_ms", "attention_ms",  "machine"})
    EXPECT_TRUE(json.contains(key)) << key;
  for (const char* key : {"images", "top1", "top5", "loss", "weights", "epoch", "images_per_second"})
    EXPECT_TRUE(json.at("test").contains(key)) << key;
}

TEST(Summary, of_a_run_without_steps_left_has_no_speed) {
  const test::TemporaryDirectory directory;
  Summary s = sample_summary();
  s.speed.reset();
  write_summary({directory.path()}, s);
  EXPECT_FALSE(read_summary({directory.path()}).speed.has_value());
}

TEST(Summary, says_what_is_wrong_with_a_file) {
  const test::TemporaryDirectory directory;
  const RunFiles files{directory.path()};
  EXPECT_FALSE(find_summary(files).has_value());
  EXPECT_TRUE(test::mentions(test::error_of([&] { read_summary(files); }), "holds no finished run"));
  test::write_file(files.summary(), "{\"test\": 3}");
  EXPECT_TRUE(test::mentions(test::error_of([&] { read_summary(files); }), "cannot understand"));
  nlohmann::ordered_json large = to_json(sample_summary());
  large["parameters"] = 3.3e25;  // as any number of more than nineteen digits is read
  test::write_file(files.summary(), large.dump());
  EXPECT_TRUE(test::mentions(test::error_of([&] { read_summary(files); }), "parameters must be an integer of 64 bits"));
  for (const double figure : {1e308, -1e308, 1e-320}) {  // a ratio to it, or a percentage of it, would be infinite
    nlohmann::ordered_json absurd = to_json(sample_summary());
    absurd["test"]["top1"] = figure;
    test::write_file(files.summary(), absurd.dump());
    EXPECT_TRUE(test::mentions(test::error_of([&] { read_summary(files); }), "top1 must be a number of a size"));
  }
  test::write_file(files.summary(), std::string(2 << 20, ' '));
  EXPECT_TRUE(test::mentions(test::error_of([&] { read_summary(files); }), "it is longer than the 1048576 bytes"));
}

}  // namespace
}  // namespace fib::training
