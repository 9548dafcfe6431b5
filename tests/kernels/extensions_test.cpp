// SPDX-License-Identifier: Apache-2.0
#include "kernels/extensions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "fibottention/attention.h"
#include "kernels/machine.h"
#include "kernels/tiles.h"

namespace fib::kernels {
namespace {

TEST(Extensions, each_can_be_done_without) {
  const uint32_t all = extensions();
  for (const std::string& name : extension_names(all)) {
    without_extensions(name);
    const std::vector<std::string> left = extension_names(extensions());
    EXPECT_EQ(std::ranges::find(left, name), left.end()) << name;
    EXPECT_EQ(extensions() & ~all, 0u);
  }
  without_extensions("");
  EXPECT_EQ(extensions(), all);
}

TEST(Extensions, tiles_of_bytes_need_vnni_for_the_depths_that_do_not_fill_them) {
#if defined(__x86_64__)
  without_extensions("vnni");
  EXPECT_EQ(extensions() & (kAmxInt8 | kAvx512Vnni | kAvxVnni), 0u);
  without_extensions("");
#else
  GTEST_SKIP() << "there are no tiles on this architecture";
#endif
}

TEST(Extensions, an_unknown_name_is_refused_with_those_there_are) {
  try {
    without_extensions("sse9");
    FAIL() << "sse9 was accepted";
  } catch (const std::invalid_argument& e) {
    for (const std::string& name : extension_names()) {
      EXPECT_NE(std::string(e.what()).find(name), std::string::npos) << e.what();
    }
  }
}

TEST(Extensions, peaks_count_what_was_multiplied) {
  for (const std::string& target : simd_targets()) {
    set_simd_target(target);
    const PeakTable& table = peak_of_target(chosen_target());
    for (const auto* ways : {&table.bfloat16, &table.int8}) {
      for (const PeakWay& way : *ways) {
        if (way.multiply == nullptr || (way.needs & ~extensions()) != 0) continue;
        EXPECT_GT(way.multiply(1), 0) << target;
        EXPECT_EQ(way.multiply(100), 100 * way.multiply(1)) << target;
      }
    }
  }
  set_simd_target("");
}

}  // namespace
}  // namespace fib::kernels
