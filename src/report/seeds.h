// SPDX-License-Identifier: Apache-2.0
// Runs that differ by their seed alone are one result: a mean with an interval, and a paired test against another.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/statistics.h"
#include "report/run_record.h"

namespace fib::report {

struct SeedGroup {
  std::string name;          ///< the attention; where several have it, with what else tells them apart
  std::vector<size_t> runs;  ///< of the list, in its order
  analysis::Estimate score;  ///< in what scores are shown in: percent where the figure is a share
  std::optional<analysis::PairedTest> against_first;  ///< by equal seeds; none where fewer than two are shared
};

/// In the order of their first runs. Empty where no two runs differ by their seed alone.
std::vector<SeedGroup> over_seeds(const std::vector<RunRecord>& runs);

/// "63.10 ± 0.42": the mean and half of its 95 % interval; the mean alone of one run.
std::string interval_text(const analysis::Estimate& score);
/// "+1.90, p 0.012 *": the star says that it is more than chance; "–" where there is no test.
std::string difference_text(const std::optional<analysis::PairedTest>& test);

nlohmann::ordered_json seeds_json(const std::vector<SeedGroup>& groups);

}  // namespace fib::report
