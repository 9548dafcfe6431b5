// SPDX-License-Identifier: Apache-2.0
// Engines as servers use them: several at once, from many threads, in children after fork(), loaded again and again.
#include <gtest/gtest.h>
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "engine/engine.h"
#include "engine/lower.h"
#include "fibottention/engine.h"
#include "files.h"
#include "graphs.h"

namespace fib::engine {
namespace {

constexpr int64_t kSide = 16, kClasses = 10;

/// A compiled model in a file, and an image.
struct Model {
  explicit Model(const char* attention = "fibottention", Precision precision = Precision::f32) {
    TensorStore tensors;
    FibContent content;
    content.precision = precision, content.most_samples = 3;
    content.programs.push_back(lower(test::transformer(attention), precision, tensors));
    write_fib(file, content, tensors.views());
    for (size_t i = 0; i < image.size(); ++i) image[i] = static_cast<float>(std::sin(0.37 * static_cast<double>(i)));
  }
  std::vector<float> run(Engine& engine) const {
    std::vector<float> logits(kClasses);
    engine.run(engine.program(kSide, kSide), image, logits);
    return logits;
  }
  std::vector<float> load_and_run() const {
    Engine engine(file);
    return run(engine);
  }

  test::TemporaryDirectory directory;
  std::filesystem::path file = directory / "model.fib";
  std::vector<float> image = std::vector<float>(3 * kSide * kSide);
};

TEST(Engines, of_ten_threads_at_once_give_the_same_bits) {
  const Model model;
  const std::vector<float> alone = model.load_and_run();
  std::vector<std::vector<float>> results(10);
  std::vector<std::thread> threads;
  for (auto& result : results)
    threads.emplace_back([&] {
      Engine engine(model.file);
      for (int i = 0; i < 10; ++i) result = model.run(engine);
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) EXPECT_EQ(result, alone);
}

TEST(Engines, two_at_once_do_not_disturb_each_other) {
  const Model one("fibottention"), other("full", Precision::int8);
  const std::vector<float> ones = one.load_and_run(), others = other.load_and_run();
  Engine first(one.file), second(other.file);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(one.run(first), ones);
    EXPECT_EQ(other.run(second), others);
  }
}

/// The child's exit code; 128 and a signal where it had to be ended.
template <class Body>
int in_child(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body() ? 0 : 1);
  int status = 0;
  for (int i = 0; i < 2000; ++i) {
    if (::waitpid(child, &status, WNOHANG) == child)
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return 128 + SIGKILL;
}

TEST(Engines, go_on_in_a_child_after_fork) {
  const Model model;
  const int before = omp_get_max_threads();
  omp_set_num_threads(4);
  Engine engine(model.file);
  const std::vector<float> parents = model.run(engine);
  EXPECT_EQ(in_child([&] { return model.run(engine) == parents && model.load_and_run() == parents; }), 0);
  EXPECT_EQ(model.run(engine), parents);
  omp_set_num_threads(before);
}

int64_t resident_kilobytes() {
  std::ifstream in("/proc/self/status");
  for (std::string word; in >> word;)
    if (int64_t value = 0; word == "VmRSS:" && in >> value) return value;
  return 0;
}

template <class Folder>
int64_t entries(const Folder& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}

TEST(Engines, leave_nothing_behind_when_they_are_loaded_ten_thousand_times) {
  const Model model;
  const auto load = [&](int times) {
    for (int i = 0; i < times; ++i) {
      fib_engine* engine = nullptr;
      ASSERT_EQ(fib_engine_load(model.file.c_str(), &engine), FIB_OK) << fib_last_error();
      fib_engine_free(engine);
    }
  };
  load(100);
  [[maybe_unused]] const int64_t memory = resident_kilobytes();
  const int64_t files = entries("/proc/self/fd"), mapped = entries("/proc/self/map_files");
#ifdef __SANITIZE_ADDRESS__
  load(1'000);  // what is freed is held back by the sanitizer, which finds leaks itself
#else
  load(10'000);
  EXPECT_LT(resident_kilobytes() - memory, 2048);
#endif
  EXPECT_EQ(entries("/proc/self/fd"), files);
  EXPECT_LT(entries("/proc/self/map_files") - mapped, 8);
}

TEST(Engines, refuse_calls_in_c_that_cannot_be) {
  const Model model;
  fib_engine* engine = nullptr;
  ASSERT_EQ(fib_engine_load(model.file.c_str(), &engine), FIB_OK);
  fib_engine_info info{};
  std::vector<float> memory(4 * 3 * kSide * kSide), logits(4 * kClasses, -1);
  const auto refused = [&](fib_status status, const char* part) {
    EXPECT_EQ(status, FIB_INVALID_ARGUMENT) << part;
    EXPECT_TRUE(test::mentions(fib_last_error(), part));
  };
  refused(fib_engine_load(nullptr, &engine), "null");
  refused(fib_engine_describe(nullptr, &info), "null");
  refused(fib_engine_describe(engine, nullptr), "null");
  EXPECT_EQ(fib_engine_metadata(nullptr, "model"), nullptr);
  EXPECT_EQ(fib_engine_metadata(engine, nullptr), nullptr);
  refused(fib_engine_run(nullptr, memory.data(), 1, kSide, kSide, logits.data()), "null");
  refused(fib_engine_run(engine, nullptr, 1, kSide, kSide, logits.data()), "null");
  refused(fib_engine_run(engine, memory.data(), 1, kSide, kSide, nullptr), "null");
  for (const int64_t count : {int64_t{0}, int64_t{-1}, int64_t{4}, INT64_MIN, INT64_MAX})
    refused(fib_engine_run(engine, memory.data(), count, kSide, kSide, logits.data()), "accepted are 1 to 3");
  for (const int64_t side : {int64_t{0}, -kSide, INT64_MAX})
    refused(fib_engine_run(engine, memory.data(), 1, side, kSide, logits.data()), "this model was compiled for");
  const auto* odd = reinterpret_cast<const float*>(reinterpret_cast<const char*>(memory.data()) + 1);
  refused(fib_engine_run(engine, odd, 1, kSide, kSide, logits.data()), "aligned to 4 bytes");
  refused(fib_engine_run(engine, memory.data(), 1, kSide, kSide, memory.data() + 5), "must not overlap");
  EXPECT_EQ(logits, std::vector<float>(logits.size(), -1));
  EXPECT_EQ(fib_engine_run(engine, memory.data(), 3, kSide, kSide, logits.data()), FIB_OK) << fib_last_error();
  fib_engine_free(engine);
  fib_engine_free(nullptr);
}

}  // namespace
}  // namespace fib::engine
