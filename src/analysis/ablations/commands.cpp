// SPDX-License-Identifier: Apache-2.0
#include "analysis/ablations/commands.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>

#include "base/text.h"
#include "training/run/directory.h"

namespace fib::ablations {
namespace {

/// By stage.
std::vector<const Run*> left_to_do(const std::vector<Run>& runs) {
  std::set<std::filesystem::path> seen;
  std::vector<const Run*> left;
  for (const Run& run : runs)
    if (run.state != State::finished && seen.insert(run.directory).second) left.push_back(&run);
  std::stable_sort(left.begin(), left.end(), [](const Run* a, const Run* b) { return a->stage < b->stage; });
  return left;
}

/// Leaves the runs of the first stage, and says what becomes of the others. They stand in the order of their stages.
std::string keep_first_stage(std::vector<const Run*>& left) {
  const auto others = std::find_if(left.begin(), left.end(),
                                   [first = left.front()->stage](const Run* run) { return run->stage != first; });
  const auto count = static_cast<size_t>(left.end() - others);
  left.erase(others, left.end());
  return count == 0 ? "" : "# " + std::to_string(count) + " more runs need these: ask for the plan again afterwards.\n";
}

std::vector<std::string> showing_words(const Ablation& ablation, const std::vector<Run>& runs,
                                       const std::string& images, const std::string& out) {
  std::vector<std::string> words;
  for (const std::string& word : ablation.command) {
    if (word == "{runs}") {
      for (const Run& run : runs)
        if (!run.preparation) words.insert(words.end(), {"--run", run.directory.string()});
      continue;
    }
    words.push_back(word == "{images}" ? images : word);
    const size_t at = words.back().find("{out}");
    if (at != std::string::npos) words.back().replace(at, 5, out);
  }
  return words;
}

/// What Slurm reads from a comment cannot be quoted: a line ends there, and so does a word.
std::string job_name(const std::string& name) {
  std::string kept = name;
  for (char& c : kept)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_' && c != '.') c = '_';
  return kept;
}

}  // namespace

std::string shell_commands(const std::vector<Run>& runs) {
  std::string text;
  for (const Run* run : left_to_do(runs)) {
    const bool resume = run->state == State::unfinished;
    text += "fib " + run->verb + " " + (resume ? "--resume" : shell_line(run->arguments)) + " --out " +
            shell_word(run->directory) + "\n";
  }
  return text;
}

std::string slurm_script(const std::string& name, const std::vector<Run>& runs) {
  std::vector<const Run*> left = left_to_do(runs);
  if (left.empty()) return "";
  const std::string later = keep_first_stage(left);
  std::string tasks;
  for (size_t i = 0; i < left.size(); ++i)
    tasks += "  " + std::to_string(i) + ") out=" + shell_word(left[i]->directory) + "; arguments=(" +
             shell_line(left[i]->arguments) + ") ;;\n";
  const training::RunFiles files{"$out"};
  return "#!/bin/bash\n"
         "#SBATCH --job-name=" +
         job_name(name) +
         "\n"
         "#SBATCH --array=0-" +
         std::to_string(left.size() - 1) +
         "\n"
         "#SBATCH --output=" +
         job_name(name) + "-%A_%a.log\n" + later +
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
         "srun fib " +
         left.front()->verb +
         " \"${arguments[@]}\" --out \"$out\"\n"
         "code=$?\n"
         "[ $code = 143 ] && exec scontrol requeue \"$SLURM_JOB_ID\"\n"
         "exit $code\n";
}

std::vector<Showing> showings(const Ablation& ablation, const std::vector<Run>& runs, Scale scale,
                              const std::string& out) {
  const auto images = ablation.images.find(word_of(scale));
  const std::string count = images == ablation.images.end() ? "" : images->second;
  const bool one_data =
      std::all_of(runs.begin(), runs.end(), [&](const Run& run) { return run.data == runs.front().data; });
  if (!ablation.table_per_data || one_data) return {{showing_words(ablation, runs, count, out), out}};
  std::vector<Showing> all;
  for (const AblationData& data : ablation_data()) {
    std::vector<Run> chosen;
    std::copy_if(runs.begin(), runs.end(), std::back_inserter(chosen),
                 [&](const Run& run) { return run.data == data.word; });
    if (chosen.empty()) continue;
    const std::string own = out + "." + data.word;
    all.push_back({showing_words(ablation, chosen, count, own), own});
  }
  return all;
}

}  // namespace fib::ablations
