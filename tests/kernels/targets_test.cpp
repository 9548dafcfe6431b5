// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <filesystem>
#include <set>
#include <stdexcept>

#include "kernels/tiles.h"
#include "oracle/case_run.h"

namespace fib::test {
namespace {

TEST(SimdTarget, the_functions_that_run_were_compiled_for_the_forced_target) {
  std::set<kernels::TileFunction<float>> functions;
  for_each_target([&] {
    const std::string name = simd_target();
    EXPECT_EQ(kernels::tiles_of_target<float>(kernels::chosen_target()).target, name);
    EXPECT_EQ(kernels::tiles_of_target<double>(kernels::chosen_target()).target, name);
    functions.insert(kernels::tiles_of_target<float>(kernels::chosen_target()).forward);
  });
  EXPECT_EQ(functions.size(), simd_targets().size()) << "two targets share a function";
}

TEST(SimdTarget, forcing_gives_the_named_one) {
  for (const std::string& name : simd_targets()) {
    set_simd_target(name);
    EXPECT_EQ(simd_target(), name);
  }
  set_simd_target("");
}

TEST(SimdTarget, an_unknown_name_is_refused_with_the_list_of_known_ones) {
  try {
    set_simd_target("MMX");
    FAIL() << "MMX was accepted";
  } catch (const std::invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find("'MMX'"), std::string::npos) << e.what();
    for (const std::string& name : simd_targets()) {
      EXPECT_NE(std::string(e.what()).find(name), std::string::npos) << e.what();
    }
  }
}

TEST(SimdTarget, is_the_one_the_environment_names_or_else_the_best) {
  const char* named = std::getenv("FIB_TARGET");
  EXPECT_EQ(simd_target(), named != nullptr ? named : simd_targets().front());
}

/// Exit code of the test above in a process of its own: the environment is read once.
int run_with_environment(const std::string& target) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string filter = " --gtest_filter=SimdTarget.is_the_one_the_environment_names_or_else_the_best";
  return std::system(("FIB_TARGET=" + target + " '" + program + "'" + filter + " > /dev/null 2>&1").c_str());
}

TEST(SimdTarget, environment_forces_one_and_a_wrong_name_is_an_error) {
  for (const std::string& name : simd_targets()) EXPECT_EQ(run_with_environment(name), 0) << name;
  EXPECT_NE(run_with_environment("MMX"), 0);
}

}  // namespace
}  // namespace fib::test
