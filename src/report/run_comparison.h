// SPDX-License-Identifier: Apache-2.0
// Runs side by side: two in a sentence, those that differ by their seed alone as one result, and curves of all.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/statistics.h"
#include "report/fields.h"
#include "report/plot.h"
#include "report/run_record.h"

namespace fib::report {

/// "other data (cifar10, not mnist)": why one run cannot be judged by the other; empty where it can.
std::string why_not_comparable(const RunRecord& run, const RunRecord& first);

/// "3.4 ×"; "–" where a speed is not known or the runs cannot be compared.
std::string speed_ratio(const RunRecord& run, const RunRecord& first);

/// "fibottention looks at 3.0 % of the pairs, trains 3.4 × as fast as full and is 0.4 points better on the test
/// images.", or why there is no such verdict.
std::string comparison(const RunRecord& run, const RunRecord& first);

/// A figure with its unit; "–" where it is not known.
std::string known_number(double value, int digits, const std::string& unit);
/// Images or clips a second; of few a second two digits more.
std::string known_rate(double per_second, const std::string& unit);

// ---- Runs that differ by their seed alone are one result: a mean with an interval, and a paired test against another

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

/// `first` is the name of the group that the others are compared with.
Fields<SeedGroup> seed_fields(const std::string& first);

// ---- fib runs

/// What was run: what must agree before two results can be compared, and what tells them apart.
Fields<RunRecord> run_fields();
/// What came of it, beside `first`.
Fields<RunRecord> result_fields(const RunRecord& first);
/// Both; what is not known is null.
nlohmann::ordered_json run_json(const RunRecord& run);

nlohmann::ordered_json runs_json(const std::vector<RunRecord>& runs);
/// What was run, what came of it, and the runs over seeds or, where each has one, a sentence for each.
std::string runs_text(const std::vector<RunRecord>& runs);

// ---- Curves

/// Loss and accuracy by epoch, accuracy by time; what no run has is left out.
std::vector<Panel> run_curve_panels(const std::vector<RunRecord>& runs);

}  // namespace fib::report
