// SPDX-License-Identifier: Apache-2.0
// What the runs of a table say together: several seeds of a row as one estimate, and whether two rows differ by more
// than chance. Runs with the same seed see the same data in the same order, so rows are compared seed by seed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/ablations/plan.h"
#include "analysis/statistics.h"

namespace fib::ablations {

/// Top-1 in percent of a row's finished runs on one dataset.
analysis::Estimate measured(const std::vector<Run>& runs, size_t row, const std::string& data);

/// The row that another is compared with: full attention in the same backbone, or the backbone's first row where the
/// table has none.
size_t baseline_row(const Ablation& ablation, size_t row);

/// Row against `baseline`, over the seeds that both have finished; none with fewer than two.
std::optional<analysis::PairedTest> compared(const std::vector<Run>& runs, size_t row, size_t baseline,
                                             const std::string& data);

}  // namespace fib::ablations
