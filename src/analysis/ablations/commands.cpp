// SPDX-License-Identifier: Apache-2.0
#include "analysis/ablations/commands.h"

#include <set>

#include "training/run/directory.h"

namespace fib::ablations {
namespace {

/// As a POSIX shell reads it back.
std::string quoted(const std::string& word) {
  const char* const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,+-";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string text = "'";
  for (char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + quoted(word);
  return text;
}

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
    text += "fib train " + (resume ? "--resume" : joined(run->arguments)) + " --out " + quoted(run->directory) + "\n";
  }
  return text;
}

std::string slurm_script(const std::string& name, const std::vector<Run>& runs) {
  const std::vector<const Run*> left = left_to_do(runs);
  if (left.empty()) return "";
  std::string tasks;
  for (size_t i = 0; i < left.size(); ++i)
    tasks += "  " + std::to_string(i) + ") out=" + quoted(left[i]->directory) + "; arguments=(" +
             joined(left[i]->arguments) + ") ;;\n";
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
