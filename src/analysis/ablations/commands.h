// SPDX-License-Identifier: Apache-2.0
// A plan for machines other than this one: the runs that are still to be made, as commands or as a job array.
#pragma once

#include <string>
#include <vector>

#include "analysis/ablations/plan.h"

namespace fib::ablations {

/// One line for each run that has not finished, each directory once, in the order of their stages; those that were
/// interrupted resume. Weights that are missing here are named in a comment, in the script below too.
std::string shell_commands(const std::vector<Run>& runs);

/// A Slurm script with one task for each of the first stage that is left; it says how many stages follow. Submitted
/// again it does what is left: a task whose run has finished ends at once, one that was interrupted resumes, and one
/// that reaches its time limit puts itself back in the queue.
std::string slurm_script(const std::string& name, const std::vector<Run>& runs);

/// A command that shows runs of an ablation, and the path of its files without their ending.
struct Showing {
  std::vector<std::string> words;
  std::string out;
};

/// The ablation's commands with their runs, their number of images and the path of their files put in; each once for
/// every dataset where the ablation asks for that and has several. Paths end with the words for command and data.
std::vector<Showing> showings(const Ablation& ablation, const std::vector<Run>& runs, Scale scale,
                              const std::string& out);

}  // namespace fib::ablations
