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

}  // namespace
}  // namespace fib::training
