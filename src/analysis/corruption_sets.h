// SPDX-License-Identifier: Apache-2.0
// Which corrupted images a model is tested on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fib::analysis {

struct CorruptionSets {
  std::vector<std::string> corruptions;
  std::vector<int64_t> severities;
  std::string published = {};  ///< folder of published files; empty: looked for below the data root, else made here
  int64_t seed = 0;            ///< of the corruptions made here
  int64_t images = 0;          ///< of each set, evenly chosen
};

}  // namespace fib::analysis
