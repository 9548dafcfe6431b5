// SPDX-License-Identifier: Apache-2.0
// fib-torch where the system grants few threads: torch itself would wait for the others for ever.
#include "few_threads.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>

#include "cli/run_fib.h"
#include "files.h"
#include "tiny_mnist.h"

namespace {

using fib::test::mentions;

/// In `gigabytes` of address space, of which a thread takes one, and one minute.
Outcome run_limited(int gigabytes, const std::string& arguments) {
  const std::string out = scratch_path("stdout"), err = scratch_path("stderr");
  const std::string limits =
      "ulimit -s 1000000; ulimit -v " + std::to_string(gigabytes) + "000000; exec timeout -k 5 60 ";
  const int status = std::system(("(" + limits + FIB_BINARY " " + arguments + ") >" + out + " 2>" + err).c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(out), read_file(err)};
}

TEST(FewThreads, are_an_error_line_however_few_they_are) {
  if (fib::test::kSanitized) GTEST_SKIP() << "sanitizers need the memory that is taken away here";
  for (int gigabytes = 3; gigabytes <= 9; ++gigabytes) {
    const Outcome o = run_limited(gigabytes, "--threads 2 eval --run none");
    EXPECT_EQ(o.code, 1) << gigabytes << o.err;
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
    EXPECT_TRUE(mentions(o.err, "cannot start ") || mentions(o.err, "holds no run")) << gigabytes;
  }
}

TEST(FewThreads, to_prepare_images_leave_no_run_behind) {
  if (fib::test::kSanitized) GTEST_SKIP() << "sanitizers need the memory that is taken away here";
  const fib::test::TemporaryDirectory place;
  fib::test::write_tiny_mnist(place / "data");
  const Outcome o = run_limited(40, "--threads 1 train --quiet --model vit_nano_patch2_28 --workers 200 --data mnist:" +
                                        (place / "data").string() + " --out " + (place / "run").string());
  EXPECT_EQ(o.code, 1) << o.err;
  EXPECT_TRUE(mentions(o.err, "cannot start ")) << o.err;
  EXPECT_FALSE(std::filesystem::exists(place / "run"));
}

}  // namespace
