// SPDX-License-Identifier: Apache-2.0
// The figures of runs for machines: a row each, the same for every command that tells of runs.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "report/run_record.h"

namespace fib::report {

/// What is not known is null.
nlohmann::ordered_json run_json(const RunRecord& run);

}  // namespace fib::report
