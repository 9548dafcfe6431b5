// SPDX-License-Identifier: Apache-2.0
#include "analysis/ablations/commands.h"

#include <set>

#include "base/shell_line.h"
#include "training/run/directory.h"

namespace fib::ablations {
namespace {

std::vector<const Run*> left_to_do(const std::vector<Run>& runs) {
  std::set<std::filesystem::path> seen;
  std::vector<const Run*> left;
  for (const Run& run : runs)
    if (run.state != State::finished && seen.insert(run.directory).second) left.push_back(&run);
  return left;
}

}  // namespace

std::string shell_commands(const std::vector<Run>& runs) {
  std::string text;
  for (const Run* run : left_to_do(runs)) {
    const bool resume = run->state == State::unfinished;
    text += "fib train " + (resume ? "--resume" : shell_line(run->arguments)) + " --out " + shell_word(run->directory) +
            "\n";
  }
  return text;
}

std::string slurm_script(const std::string& name, const std::vector<Run>& runs) {
  const std::vector<const Run*> left = left_to_do(runs);
  if (left.empty()) return "";
  std::string tasks;
  for (size_t i = 0; i < left.size(); ++i)
    tasks += "  " + std::to_string(i) + ") out=" + shell_word(left[i]->directory) + "; arguments=(" +
             shell_line(left[i]->arguments) + ") ;;\n";
  const training::RunFiles files{"$out"};
  return "#!/bin/bash\n"
         "#SBATCH --job-name=" +
         name +
         "\n"
         "#SBATCH --array=0-" +
         std::to_string(left.size() - 1) +
         "\n"
         "#SBATCH --output=" +
         name +
         "-%A_%a.log\n"
         "# Two minutes before the time limit; fib train saves and exits with 143.\n"
         "#SBATCH --signal=TERM@120\n"
         "set -u\n"
         "case $SLURM_ARRAY_TASK_ID in\n" +
         tasks +
         "esac\n"
         "[ -e \"" +
         files.summary().string() +
         "\" ] && exit 0\n"
         "[ -e \"" +
         files.config().string() +
         "\" ] && arguments=(--resume)\n"
         "srun fib train \"${arguments[@]}\" --out \"$out\"\n"
         "code=$?\n"
         "[ $code = 143 ] && exec scontrol requeue \"$SLURM_JOB_ID\"\n"
         "exit $code\n";
}

}  // namespace fib::ablations
