// SPDX-License-Identifier: Apache-2.0
// The smallest program a user of the installed library would write.
#include <fibottention/attention.h>
#include <fibottention/pattern.h>

#include <iostream>

int main() {
  const auto support =
      fib::make_support({"fibottention", {{"wmin", "5"}, {"wmax", "65"}}}, {.patches = 196, .heads = 12});
  std::cout << support.patch_pairs() << " pairs, " << fib::simd_target() << "\n";
  return support.patch_pairs() == 9192 ? 0 : 1;
}
