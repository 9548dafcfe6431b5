// SPDX-License-Identifier: Apache-2.0
// Two runs in a sentence, where there is something to compare.
#pragma once

#include <string>

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
std::string known_figure(double value, int digits, const std::string& unit);
/// Images or clips a second; of few a second two digits more.
std::string known_rate(double per_second, const std::string& unit);

}  // namespace fib::report
