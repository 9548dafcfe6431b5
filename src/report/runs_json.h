// SPDX-License-Identifier: Apache-2.0
// The figures of runs for machines: a row each, the same for every command that tells of runs. Rows that were kept
// stand for their runs after these are gone.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "report/run_record.h"

namespace fib::report {

/// What is not known is null.
nlohmann::ordered_json run_json(const RunRecord& run);

/// The run in a directory, or all those of a file that holds {"rows": [...]} of run_json, which have no curves. Throws
/// std::runtime_error where there is neither.
std::vector<RunRecord> read_runs(const std::filesystem::path& path);

}  // namespace fib::report
