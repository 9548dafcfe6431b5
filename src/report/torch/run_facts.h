// SPDX-License-Identifier: Apache-2.0
// Computes what the report page tells of a run.
#pragma once

#include <string>

#include "report/page/page.h"
#include "training/torch/trained_model.h"

namespace fib::report {

struct ReportEffort {
  int64_t images = 0;            ///< test images that are classified
  int64_t diversity_images = 0;  ///< of them, those whose diversity is measured
  int64_t samples = 0;           ///< images with maps
  int64_t mistakes = 0;          ///< images of each run
};

/// The sample images: evenly chosen from the first run's test set, and seen as its model sees them.
std::vector<Sample> report_samples(const training::TrainedModel& subject, const ReportEffort& effort);

/// Everything of one run. `say` hears what is being computed.
PageRun report_run(const std::string& directory, const training::TrainedModel& subject, const ReportEffort& effort,
                   const std::function<void(const std::string&)>& say);

/// The paper's boxes for the mechanisms that the runs have.
std::vector<Box> paper_boxes(const std::vector<PageRun>& runs);

// ---- Runs that learned to act

/// Whether the run learned to act. Throws std::runtime_error where there is no run.
bool is_policy_run(const std::string& directory);

/// The run plays the test seeds: its best, median and worst episode, and where its encoder looks.
PageRun policy_run(const std::string& directory);

}  // namespace fib::report
