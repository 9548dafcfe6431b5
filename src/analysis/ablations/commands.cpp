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

/// A comment about each of the weights that the runs begin from and that are not here: they may be on the machine that
/// the plan is for.
std::string missing_weights_lines(const std::vector<Run>& runs) {
  std::string lines;
  for (const std::string& weights : missing_weights(runs))
    lines += "# The runs begin from weights that are missing here: " + shell_word(weights) +
             "; --set weights=FILE names others.\n";
  return lines;
}

std::vector<std::string> showing_words(const std::vector<std::string>& command, const std::vector<Run>& runs,
                                       const std::string& images, const std::string& out) {
  std::vector<std::string> words;
  for (const std::string& word : command) {
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

/// The runs that are shown together, after the word for their data where there are several.
std::vector<std::pair<std::string, std::vector<Run>>> tables_of(const Ablation& ablation,
                                                                const std::vector<Run>& runs) {
  const auto same = [&](const Run& run) { return run.data == runs.front().data; };
  if (!ablation.table_per_data || std::ranges::all_of(runs, same)) return {{"", runs}};
  std::vector<std::pair<std::string, std::vector<Run>>> tables;
  for (const AblationData& data : ablation_data()) {
    std::vector<Run> chosen;
    std::ranges::copy_if(runs, std::back_inserter(chosen), [&](const Run& run) { return run.data == data.word; });
    if (!chosen.empty()) tables.emplace_back(data.word, std::move(chosen));
  }
  return tables;
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
  std::string text = missing_weights_lines(runs);
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
         "set -u\n" +
         missing_weights_lines(runs) + "case $SLURM_ARRAY_TASK_ID in\n" + tasks +
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
  std::vector<Showing> all;
  for (const ShowingCommand& command : ablation.commands)
    for (const auto& [data, chosen] : tables_of(ablation, runs)) {
      std::string own = out;
      for (const std::string& part : {command.word, data}) own += (part.empty() ? "" : ".") + part;
      all.push_back({showing_words(command.words, chosen, count, own), own});
    }
  return all;
}

}  // namespace fib::ablations
