// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "analysis/ablations/commands.h"
#include "analysis/ablations/jobs.h"
#include "base/atomic_file.h"
#include "base/read_file.h"
#include "base/system.h"
#include "base/text.h"
#include "cli/app.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/recipe_options.h"
#include "cli/stop_signals.h"
#include "report/ablation_report.h"
#include "report/pattern_summary.h"
#include "training/recipe/recipe_files.h"

namespace fib::cli {
namespace {

namespace fs = std::filesystem;
using ablations::Ablation;
using ablations::Run;
using ablations::State;

struct ReproduceArguments {
  std::string name, scale = "tiny", out = "runs/reproduce", recipes, plan, match_pairs;
  std::vector<std::string> set;
  int64_t jobs = 1, seeds = 1;
  bool list = false, resume = false, json = false;
};

fs::path recipe_folder(const ReproduceArguments& a) {
  const std::vector<fs::path> places =
      a.recipes.empty() ? training::recipe_folders() : std::vector<fs::path>{a.recipes};
  std::string searched;
  for (const fs::path& place : places) {
    if (fs::is_directory(place / "ablations")) return place.lexically_normal();
    searched += (searched.empty() ? "" : ", ") + place.lexically_normal().string();
  }
  throw std::runtime_error(fmt::format("no folder 'ablations' in {}; give --recipes DIR", searched));
}

std::vector<std::pair<std::string, std::string>> overrides(const std::vector<std::string>& set) {
  std::vector<std::pair<std::string, std::string>> list;
  for (const std::string& text : set) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) throw std::invalid_argument("--set takes KEY=VALUE, got '" + text + "'");
    list.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return list;
}

ablations::Request request_of(const ReproduceArguments& a) {
  return {ablations::scale_of(a.scale), a.seeds, overrides(a.set), recipe_folder(a), a.out, target_of(a.match_pairs)};
}

/// The command that was given, to be given again.
std::string resuming_line(const ReproduceArguments& a, const Globals& globals) {
  std::vector<std::string> words = {"fib"};
  for (const char* const* word = globals.argv + 1; *word != nullptr; ++word) words.emplace_back(*word);
  if (!a.resume) words.emplace_back("--resume");
  return shell_line(words);
}

/// Trains what is missing. Throws Exit when stopped, std::runtime_error naming the first run that failed.
void train_missing(const ReproduceArguments& a, const Ablation& ablation, std::vector<Run>& runs,
                   const Globals& globals) {
  const std::vector<size_t> left = ablations::left_to_do(runs, a.resume);
  auto done = static_cast<int64_t>(runs.size() - left.size());
  ProgressBar progress("runs", static_cast<int64_t>(runs.size()), globals.quiet || a.json, done);
  if (done > 0) progress.say(fmt::format("{} of {} runs are there already", done, runs.size()));
  CancelSource cancel;
  const StopSignals signals(cancel);
  const auto started = [&](const Run& run) {
    progress.say((run.state == State::unfinished ? "continuing " : "training ") + label_of(ablation, run));
  };
  const auto ended = [&](const Run& run) {
    if (run.top1)
      progress.say(fmt::format("{}: {:.2f} % in {:.0f} s", label_of(ablation, run), *run.top1, *run.seconds));
    progress.show(++done);
  };
  const ablations::StageResult result =
      ablations::run_stages(ablation, runs, left, {a.jobs, globals.threads, cancel.token(), started, ended});
  if (result.outcome == training::PoolOutcome::stopped) {
    say("stopped; continue with: " + resuming_line(a, globals));
    throw Exit{128 + cancel.token().signal()};
  }
  if (!result.failure.empty()) throw std::runtime_error(result.failure);
  for (Run& run : runs) look_up(run);
}

/// Tables at another budget stand beside those at the defaults.
std::string result_stem(const ReproduceArguments& a) {
  const std::string matched = a.match_pairs.empty() ? "" : ".pairs-of-" + AttentionSpec::parse(a.match_pairs).name;
  return (fs::path(a.out) / (a.name + "." + a.scale + matched)).string();
}

/// Known before hours of training, not after.
void check_results_writable(const ReproduceArguments& a) {
  fs::create_directories(a.out);
  for (const char* ending : {".txt", ".json", ".svg"}) check_writable(result_stem(a) + ending);
}

void write_results(const ReproduceArguments& a, const Ablation& ablation, const std::vector<Run>& runs,
                   const Globals& globals) {
  const ablations::Scale scale = ablations::scale_of(a.scale);
  const std::string stem = result_stem(a);
  const std::string text = report::reproduced_text(ablation, runs, scale);
  write_file_atomically(stem + ".txt", text);
  write_file_atomically(stem + ".json", report::reproduced_json(ablation, runs, scale).dump(2) + "\n");
  report::draw_reproduced(ablation, runs, stem + ".svg");
  show(
      globals, a.json, [&] { return report::reproduced_json(ablation, runs, scale); },
      [&] { return fmt::format("{}\nWritten to {}.txt, .json and .svg\n", text, stem); });
}

/// Shows what the runs are for by the ablation's own command; what it prints is kept beside its drawings.
void run_showing(const ReproduceArguments& a, const ablations::Showing& showing, const Globals& globals) {
  const std::string kept = showing.out + (a.json ? ".json" : ".txt");
  training::Job job{showing.words, {}, kept + ".part"};
  job.arguments.insert(job.arguments.end(), {"--threads", std::to_string(globals.threads)});
  if (a.json) job.arguments.emplace_back("--json");
  int code = 0;
  CancelSource cancel;
  const StopSignals signals(cancel);
  training::run_jobs({job}, {.width = 1,
                             .started = [](size_t) {},
                             .ended = [&](size_t, int ended) { code = ended; },
                             .cancel = cancel.token()});
  if (code != 0) {
    fs::remove(job.output);
    throw Exit{code};  // it has said why
  }
  if (rename_file(job.output.c_str(), kept.c_str()) != 0)
    throw std::runtime_error(fmt::format("cannot write '{}': {}", kept, std::generic_category().message(errno)));
  if (!globals.quiet || a.json) fmt::print("{}", read_file(kept, kMaxRecordBytes));
  if (!globals.quiet && !a.json) fmt::print("\nWritten to {}\n", kept);
}

void show_by_command(const ReproduceArguments& a, const Ablation& ablation, const std::vector<Run>& runs,
                     const Globals& globals) {
  for (const ablations::Showing& showing : showings(ablation, runs, ablations::scale_of(a.scale), result_stem(a)))
    run_showing(a, showing, globals);
}

/// Nothing is trained: the recipes themselves are shown, those of the paper's scale.
void write_settings(const ReproduceArguments& a, const Ablation& ablation, ablations::Request request,
                    const Globals& globals) {
  request.scale = ablations::Scale::paper;
  const auto recipes = ablations::recipes_of(ablation, request);
  const std::string text = report::settings_text(ablation, recipes), stem = result_stem(a);
  write_file_atomically(stem + ".txt", text);
  write_file_atomically(stem + ".json", report::settings_json(ablation, recipes).dump(2) + "\n");
  show(
      globals, a.json, [&] { return report::settings_json(ablation, recipes); },
      [&] { return fmt::format("{}\nWritten to {}.txt and .json\n", text, stem); });
}

/// Each attention whose pairs were matched, once.
void say_matched(const std::vector<Run>& runs, const std::string& target) {
  std::set<std::string> lines;
  for (const Run& run : runs)
    if (run.matched && lines.insert(report::equal_pairs_text(*run.matched, target)).second)
      say(run.recipe.model.name + ": " + report::equal_pairs_text(*run.matched, target));
}

/// Weights that are missing here may be there where the plan is carried out; who carries it out is told before.
void print_plan(const ReproduceArguments& a, const Ablation& ablation, const std::vector<Run>& runs) {
  for (const std::string& weights : ablations::missing_weights(runs))
    say("the runs begin from weights that are missing here: " + in_quotes(weights) +
        "; --set weights=FILE names others");
  say_matched(runs, a.match_pairs);
  if (a.plan == "slurm") return fmt::print("{}", ablations::slurm_script(a.name, runs));
  fmt::print("{}", ablations::shell_commands(runs));
  for (const ablations::Showing& showing : showings(ablation, runs, ablations::scale_of(a.scale), result_stem(a)))
    fmt::print("fib {}\n", shell_line(showing.words));
}

void show_list(const ReproduceArguments& a, const Globals& globals) {
  const ablations::Request request = request_of(a);
  const auto all = ablations::read_ablations(request.recipes / "ablations");
  show(
      globals, a.json, [&] { return report::list_json(all, request); },
      [&] { return report::list_text(all, request); });
}

void run(const ReproduceArguments& a, const Globals& globals) {
  if (a.list) return show_list(a, globals);
  if (a.name.empty()) throw std::invalid_argument("which table or figure? fib reproduce --list shows them");
  const ablations::Request request = request_of(a);
  const auto all = ablations::read_ablations(request.recipes / "ablations");
  const Ablation& ablation = ablations::find_ablation(all, a.name);
  std::vector<Run> runs = plan(ablation, request);
  if (!a.plan.empty()) return print_plan(a, ablation, runs);
  check_results_writable(a);
  train_missing(a, ablation, runs, globals);
  if (!ablation.settings.empty()) return write_settings(a, ablation, request, globals);
  if (ablation.commands.empty()) return write_results(a, ablation, runs, globals);
  show_by_command(a, ablation, runs, globals);
}

void declare(CLI::App& command, ReproduceArguments& a) {
  command.add_option("NAME", a.name, "a table or figure; --list shows all");
  command.add_flag("--list", a.list, "all tables and figures of the paper, what they need, what is there already");
  add_choice(command, "--scale", a.scale, {"tiny", "small", "paper"},
             "tiny: minutes; small: hours; paper: the paper's setting")
      ->capture_default_str();
  add_integer(command, "--jobs", a.jobs, {1, 1024}, "runs at once; they share the cores")->capture_default_str();
  add_integer(command, "--seeds", a.seeds, {1, 100}, "runs of each row")->capture_default_str();
  add_choice(command, "--plan", a.plan, {"commands", "slurm"},
             "train nothing: print a command for each run that is left, or a Slurm job array")
      ->type_name("[commands|slurm]")
      ->expected(0, 1)
      ->default_str("commands");
  command.add_flag("--resume", a.resume, "continue runs that were interrupted");
  command.add_option("--out", a.out, "folder of runs and results; finished runs in it are used again")
      ->type_name("DIR")
      ->capture_default_str();
  add_match_pairs(command, a.match_pairs)
      ->description("rows whose number of pairs is open get as many as NAME has, as nearly as can be");
  command.add_option("--set", a.set, "an option of the recipe, such as epochs=8; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command.add_option("--recipes", a.recipes, "folder with the recipes and their folder ablations")->type_name("DIR");
  command.add_flag("--json", a.json, "print JSON");
  command.footer(
      "Ctrl-C saves what is being trained; --resume goes on from there and repeats nothing that has finished.\n"
      "Example: fib reproduce --list\n"
      "Example: fib reproduce table-sequences --scale tiny --jobs 2\n"
      "Example: fib reproduce table-sota --scale paper --seeds 3 --plan slurm > table-sota.sh && sbatch table-sota.sh");
}

}  // namespace

Command reproduce_command() {
  return make_command<ReproduceArguments>(
      {"reproduce", "the paper's tables and figures, trained again, beside its numbers", Topic::measures}, declare,
      run);
}

}  // namespace fib::cli
