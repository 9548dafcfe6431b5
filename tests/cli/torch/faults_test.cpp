// SPDX-License-Identifier: Apache-2.0
// The Nth write, sync, rename, buffer or thread is refused, for N = 1, 2, … until a command makes fewer requests: one
// line on stderr, no file half-written, nothing left over; an interrupted training resumes to the same bits.
// FIB_FAULTS=all tries every N; otherwise the first ones and then ever fewer.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "cli/run_fib.h"
#include "files.h"
#include "mini_vit.h"
#include "tiny_mnist.h"

namespace {

namespace fs = std::filesystem;
using fib::test::TemporaryDirectory;

constexpr const char* kRequests[] = {"write", "sync", "rename", "memory", "thread"};

/// run_fib with a request refused; whether there were so many of them.
struct Fault {
  Outcome outcome;
  bool happened;
};

Fault run_with_fault(const std::string& request, int number, const char* later, const std::string& arguments) {
  const std::string marker = scratch_path("refused");
  fs::remove(marker);
  ::setenv("FIB_FAIL", (request + ":" + std::to_string(number) + later + ":" + marker).c_str(), 1);
  Outcome outcome = run_fib(arguments);
  ::unsetenv("FIB_FAIL");
  return {std::move(outcome), fs::exists(marker)};
}

int next_number(int number) {
  static const bool all = std::getenv("FIB_FAULTS") != nullptr;
  return all || number < 3 ? number + 1 : number * 2;
}

/// Calls prepare before each run, check after each refusal, and reports how many there were. The last run of a request
/// meets no refusal and succeeds: what it leaves must not be found by the next.
void for_each_fault(const std::string& command, const std::string& arguments, const std::function<void()>& prepare,
                    const std::function<void()>& check) {
  for (const std::string request : kRequests) {
    int injected = 0;
    for (int number = 1;; number = next_number(number)) {
      const char* const later = number % 2 == 0 ? "+" : "";
      SCOPED_TRACE("fib " + command + " with FIB_FAIL=" + request + ":" + std::to_string(number) + later);
      prepare();
      const Fault fault = run_with_fault(request, number, later, arguments);
      if (!fault.happened) {
        EXPECT_EQ(fault.outcome.code, 0) << fault.outcome.err;
        break;
      }
      ++injected;
      EXPECT_EQ(fault.outcome.code, 1);
      EXPECT_EQ(std::count(fault.outcome.err.begin(), fault.outcome.err.end(), '\n'), 1) << fault.outcome.err;
      check();
      if (testing::Test::HasFailure()) return;
    }
    testing::Test::RecordProperty(request, injected);
  }
}

/// A command that writes one file: the old content stays, or the new one is complete.
void expect_old_or_new(const std::string& command, const std::string& arguments, const std::string& ending) {
  const TemporaryDirectory folder;
  const std::string file = folder / ("result" + ending);
  ASSERT_EQ(run_fib(arguments + " " + file).code, 0);
  const std::string whole = read_file(file);
  const auto prepare = [&] { fib::test::write_file(file, "old"); };
  for_each_fault(command, arguments + " " + file, prepare, [&] {
    const std::string found = read_file(file);
    EXPECT_TRUE(found == "old" || found == whole) << found.size() << " bytes";
    EXPECT_EQ(folder.entries(), 1U) << "something was left over";
  });
}

TEST(Faults, in_compile_leave_the_old_file_or_the_new_one) {
  expect_old_or_new("compile", fib::test::with_mini_vit("compile --threads 2") + "-o", ".fib");
}

TEST(Faults, in_export_leave_the_old_file_or_the_new_one) {
  expect_old_or_new("export", fib::test::with_mini_vit("export --threads 2") + "-o", ".onnx");
}

TEST(Faults, in_record_leave_the_old_file_or_the_new_one) {
  if (!fs::exists(fs::path(FIB_BINARY).parent_path() / "libfib_arm.so")) GTEST_SKIP() << "built without arms";
  expect_old_or_new("record", "simulate lift --quiet --json --threads 2 --episodes 1 --seed 100000 --record", ".hdf5");
}

TEST(Faults, in_infer_of_a_compiled_model_leave_the_old_file_or_the_new_one) {
  const std::string model = scratch_path("faults.fib"), input = fib::test::golden_input({1, 3, 64, 64});
  ASSERT_EQ(run_fib(fib::test::with_mini_vit("compile") + "-o " + model).code, 0);
  expect_old_or_new("infer", "infer --engine " + model + " --input " + input + " --out", ".npy");
}

class FaultsInRuns : public testing::Test {
 protected:
  void SetUp() override { fib::test::write_tiny_mnist(directory_ / "data"); }
  std::string path(const std::string& name) const { return directory_ / name; }

  std::string train(const std::string& name) const {
    return "train --quiet --model vit_nano_patch2_28 --data mnist:" + path("data") +
           " --validation-fraction 0.2 --batch 32 --epochs 1 --workers 1 --threads 1 --checkpoint-every 1"
           " --log-every 1 --out " +
           path(name);
  }
  std::string adapt(const std::string& name) const {
    return "adapt --quiet --model vit_nano_patch2_28 --weights " + path("dense/best.safetensors") +
           " --attention fibottention --data mnist:" + path("data") +
           " --validation-fraction 0.2 --batch 32 --epochs 1 --workers 1 --threads 1 --checkpoint-every 1"
           " --log-every 1 --out " +
           path(name);
  }

  void expect_no_leftovers(const std::string& run) const {
    if (!fs::exists(path(run))) return;
    for (const auto& entry : fs::directory_iterator(path(run)))
      EXPECT_NE(entry.path().extension(), ".tmp") << entry.path();
  }

  /// Finishes what the fault has interrupted and compares it with a run that none has.
  void expect_same_end(const std::string& command, const std::string& begin) const {
    const std::string run = path("run");
    const bool begun = fs::exists(run + "/config.toml");
    const Outcome end = begun ? run_fib(command + " --quiet --resume --out " + run) : run_fib(begin);
    EXPECT_EQ(end.code, 0) << end.err;
    for (const char* file : {"model.safetensors", "best.safetensors", "metrics.jsonl"})
      EXPECT_TRUE(read_file(path("whole/") + file) == read_file(run + "/" + file)) << file << " differs";
  }

  TemporaryDirectory directory_;
};

TEST_F(FaultsInRuns, of_training_resume_to_the_same_bits) {
  ASSERT_EQ(run_fib(train("whole")).code, 0);
  const auto prepare = [&] { fs::remove_all(path("run")); };
  for_each_fault("train", train("run"), prepare, [&] {
    expect_no_leftovers("run");
    expect_same_end("train", train("run"));
  });
}

TEST_F(FaultsInRuns, of_adapting_resume_to_the_same_bits) {
  ASSERT_EQ(run_fib(train("dense") + " --attention full --ema 0").code, 0);
  ASSERT_EQ(run_fib(adapt("whole")).code, 0);
  const auto prepare = [&] { fs::remove_all(path("run")); };
  for_each_fault("adapt", adapt("run"), prepare, [&] {
    expect_no_leftovers("run");
    expect_same_end("adapt", adapt("run"));
  });
}

TEST_F(FaultsInRuns, of_a_report_leave_the_old_page_or_the_new_one) {
  ASSERT_EQ(run_fib(train("finished")).code, 0);
  expect_old_or_new("report", "report " + path("finished") + " -o", ".html");
}

}  // namespace
