// SPDX-License-Identifier: Apache-2.0
#include "ops/support.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <fstream>
#include <string>

namespace fib::ops {
namespace {

TEST(Support, gives_back_the_pairs_of_its_offsets) {
  const SupportPtr support = support_from_offsets(4, 0, {{1}, {3}}, c10::List<bool>({false, true}), {}, false);
  const auto expected = torch::tensor({{0, 1}, {1, 0}, {1, 2}, {2, 1}, {2, 3}, {3, 2}}, torch::kLong);
  EXPECT_TRUE(support_pairs(support->set(), 0).equal(expected));
  const auto with_diagonal = torch::tensor({{0, 0}, {0, 3}, {1, 1}, {2, 2}, {3, 0}, {3, 3}}, torch::kLong);
  EXPECT_TRUE(support_pairs(support->set(), 1).equal(with_diagonal));
}

TEST(Support, takes_explicit_pairs_between_token_sets_of_different_size) {
  const auto pairs = torch::tensor({{0, 6}, {1, 2}}, torch::kLong);
  const SupportPtr support = support_from_pairs(2, 7, {pairs});
  EXPECT_EQ(support->set().key_tokens(), 7);
  EXPECT_TRUE(support_pairs(support->set(), 0).equal(pairs));
}

TEST(Support, refuses_pairs_that_are_not_rows_of_two) {
  EXPECT_THROW(support_from_pairs(4, 4, {torch::zeros({3}, torch::kLong)}), c10::ValueError);
  EXPECT_THROW(support_from_pairs(4, 4, {torch::zeros({3, 2})}), c10::ValueError);
}

/// The pthread build of OpenBLAS has its own pool, which oversubscribes the cores beside OpenMP's.
TEST(Blas, is_the_openmp_build_where_debian_has_it) {
  (void)torch::mm(torch::ones({2, 2}), torch::ones({2, 2}));
  std::ifstream maps("/proc/self/maps");
  std::string line;
  bool openmp = false, pthread = false;
  while (std::getline(maps, line)) {
    openmp = openmp || line.find("/openblas-openmp/libopenblas") != std::string::npos;
    pthread = pthread || line.find("/openblas-pthread/") != std::string::npos;
  }
  EXPECT_FALSE(pthread);
  if (!std::ifstream("/usr/lib/x86_64-linux-gnu/openblas-openmp/libopenblas.so.0")) GTEST_SKIP() << "not installed";
  EXPECT_TRUE(openmp);
}

}  // namespace
}  // namespace fib::ops
