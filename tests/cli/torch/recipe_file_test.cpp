// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>

#include "cli/run_fib.h"
#include "mini_vit.h"

namespace fib::test {
namespace {

TEST(RecipeFile, that_cannot_be_read_says_why) {
  expect_refusal(run_fib("train --out x --recipe \"$(printf '/no\\033where')\""), 1, {"\\x1b"});
  expect_refusal(run_fib("train --out x --recipe /nowhere.toml"), 1, {"cannot read '/nowhere.toml': No such file"});
  expect_refusal(run_fib("train --out x --recipe /"), 1, {"Is a directory"});
  expect_refusal(run_fib("train --out x --recipe /dev/zero"), 1,
                 {"it is longer than the 1048576 bytes that are accepted"});
  const std::string recipe = scratch_path("sectionless.toml");
  std::ofstream(recipe) << "epochs = 3\n";
  expect_refusal(run_fib("train --out x --recipe " + recipe), 2,
                 {"'epochs' stands below no section: it belongs below ["});
}

}  // namespace
}  // namespace fib::test
