// SPDX-License-Identifier: Apache-2.0
#include "analysis/ablations/results.h"

#include <map>

namespace fib::ablations {
namespace {

std::map<int64_t, double> top1_by_seed(const std::vector<Run>& runs, size_t row, const std::string& data) {
  std::map<int64_t, double> values;
  for (const Run& run : runs)
    if (run.row == row && run.data == data && !run.preparation && run.top1) values[run.recipe.seed] = *run.top1;
  return values;
}

}  // namespace

analysis::Estimate measured(const std::vector<Run>& runs, size_t row, const std::string& data) {
  std::vector<double> values;
  for (const auto& [seed, top1] : top1_by_seed(runs, row, data)) values.push_back(top1);
  return analysis::estimate(values);
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
  const auto theirs = top1_by_seed(runs, baseline, data);
  std::vector<double> x, y;
  for (const auto& [seed, top1] : top1_by_seed(runs, row, data)) {
    const auto other = theirs.find(seed);
    if (other == theirs.end()) continue;
    x.push_back(top1);
    y.push_back(other->second);
  }
  if (x.size() < 2) return std::nullopt;
  return analysis::paired_t_test(x, y);
}

}  // namespace fib::ablations
