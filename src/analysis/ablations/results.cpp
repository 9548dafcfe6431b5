// SPDX-License-Identifier: Apache-2.0
#include "analysis/ablations/results.h"

namespace fib::ablations {
namespace {

analysis::BySeed top1_by_seed(const std::vector<Run>& runs, size_t row, const std::string& data) {
  analysis::BySeed values;
  for (const Run& run : runs)
    if (run.row == row && run.data == data && !run.preparation && run.top1) values[run.recipe.run.seed] = *run.top1;
  return values;
}

}  // namespace

analysis::Estimate measured(const std::vector<Run>& runs, size_t row, const std::string& data) {
  return analysis::estimate_over_seeds(top1_by_seed(runs, row, data));
}

size_t baseline_row(const Ablation& ablation, size_t row) {
  std::optional<size_t> first;
  for (size_t r = 0; r < ablation.rows.size(); ++r) {
    if (ablation.rows[r].backbone != ablation.rows[row].backbone) continue;
    if (ablation.rows[r].attention == "full") return r;
    if (!first) first = r;
  }
  return *first;
}

std::optional<analysis::PairedTest> compared(const std::vector<Run>& runs, size_t row, size_t baseline,
                                             const std::string& data) {
  return analysis::paired_by_seed(top1_by_seed(runs, row, data), top1_by_seed(runs, baseline, data));
}

}  // namespace fib::ablations
