// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "analysis/ablations/ablation.h"
#include "analysis/ablations/commands.h"
#include "analysis/ablations/jobs.h"
#include "analysis/ablations/plan.h"
#include "files.h"
#include "training/recipe/options.h"
#include "training/run/summary.h"

namespace fib::ablations {
namespace {

using test::error_of;
using test::mentions;
using test::write_file;

const std::filesystem::path kRecipes = FIB_TEST_DATA "/../../recipes";

Request request(const std::filesystem::path& out, Scale scale = Scale::tiny) { return {scale, 1, {}, kRecipes, out}; }

Ablation file_with(const test::TemporaryDirectory& folder, const std::string& text) {
  write_file(folder / "table.toml", text);
  return read_ablation(folder / "table.toml");
}

Ablation named(const std::string& name) {
  Ablation ablation;
  ablation.name = name;
  return ablation;
}

/// A finished run's files as far as a plan looks at them.
void pretend_finished(const Run& run) {
  std::filesystem::create_directories(run.directory);
  write_file(run.directory / "config.toml", write_toml(run.recipe));
  training::Summary summary;
  summary.test.evaluation.metrics = {{"top1", 0.5}};
  summary.train_seconds = 8;
  training::write_summary({run.directory}, summary);
}

TEST(Ablations, of_the_project_are_all_readable_and_can_be_planned) {
  const test::TemporaryDirectory folder;
  const auto all = read_ablations(kRecipes / "ablations");
  EXPECT_GE(all.size(), 15U);
  size_t trained = 0;
  for (const Ablation& a : all) {
    SCOPED_TRACE(a.name);
    EXPECT_FALSE(a.title.empty());
    EXPECT_FALSE(a.section.empty());
    EXPECT_FALSE(a.rows.empty() && a.commands.empty() && a.settings.empty()) << "nothing to train and nothing to show";
    trained += a.rows.empty() ? 0 : 1;
    std::set<std::string> labels;
    for (const AblationRow& row : a.rows) EXPECT_TRUE(labels.insert(row.label).second) << row.label;
    for (const auto& [scale, word] :
         {std::pair{Scale::tiny, "tiny"}, {Scale::small, "small"}, {Scale::paper, "paper"}}) {
      if (!has_scale(a, scale)) continue;
      const size_t datasets = !a.recipes.empty() ? a.recipes.at(word).size() : scale == Scale::paper ? 2 : 1;
      const auto runs = plan(a, request(folder.path(), scale));
      EXPECT_EQ(std::ranges::count(runs, false, &ablations::Run::preparation), a.rows.size() * datasets);
    }
  }
  EXPECT_EQ(trained, 16U) << "all but the Wythoff array, the settings, the costs and two figures";
}

TEST(Ablations, take_the_papers_numbers_from_its_tables) {
  const Ablation diagonal = read_ablation(kRecipes / "ablations/table-diagonal.toml");
  EXPECT_EQ(diagonal.rows[2].label, "w = 10, with");
  EXPECT_EQ(diagonal.rows[2].paper.at("c10"), 86.8);
  EXPECT_EQ(diagonal.rows[3].paper.at("c10"), 87.0);
  const Ablation bigbird = read_ablation(kRecipes / "ablations/table-bigbird.toml");
  EXPECT_EQ(bigbird.rows[2].paper.at("c10"), 86.33);
  EXPECT_EQ(bigbird.rows[2].paper.count("c100"), 0U);
  const Ablation sota = read_ablation(kRecipes / "ablations/table-sota.toml");
  ASSERT_EQ(sota.rows.size(), 9U);
  EXPECT_EQ(sota.rows[2].attention, "topk");
  EXPECT_EQ(sota.rows[8].paper.at("c100"), 70.7);
  const Ablation sequences = read_ablation(kRecipes / "ablations/table-sequences.toml");
  ASSERT_EQ(sequences.rows.size(), 5U);
  EXPECT_EQ(sequences.rows[4].attention, "fib-1-1");
  EXPECT_EQ(sequences.rows[4].paper.at("c10"), 87.3);
  EXPECT_EQ(sequences.rows[4].paper.at("c100"), 63.2);
  const Ablation robots = read_ablation(kRecipes / "ablations/table-robots.toml");
  ASSERT_EQ(robots.rows.size(), 4U);
  EXPECT_DOUBLE_EQ(robots.rows[3].paper.at("pusht"), 72.0);
  EXPECT_FALSE(robots.rows[3].paper_pruned.has_value());
  EXPECT_DOUBLE_EQ(sota.rows[8].paper_pruned.value(), 0.9801);
  EXPECT_DOUBLE_EQ(bigbird.rows[2].paper_pruned.value(), 0.9421) << "called mask ratio there";
  EXPECT_DOUBLE_EQ(diagonal.rows[3].paper_pruned.value(), 0.9008) << "of its group of columns";
}

TEST(Ablations, may_have_recipes_of_their_own) {
  const Ablation video = read_ablation(kRecipes / "ablations/table-video.toml");
  EXPECT_EQ(video.rows[3].paper.at("nucla-cs"), 59.6);
  EXPECT_EQ(video.rows[0].paper.count("c10"), 0U);
  const test::TemporaryDirectory folder;
  const auto tiny = plan(video, request(folder.path(), Scale::tiny));
  ASSERT_EQ(tiny.size(), 6U);
  EXPECT_EQ(tiny[2].data, "fight");
  EXPECT_EQ(tiny[2].recipe.model.name, "timesformer_tiny_patch16_224");
  EXPECT_EQ(tiny[2].recipe.model.attention, "fibottention:wmin=1,wmax=N");
  Ablation shorter = video;
  shorter.recipes.erase("small");
  EXPECT_FALSE(has_scale(shorter, Scale::small));
  EXPECT_TRUE(mentions(error_of([&] { plan(shorter, request(folder.path(), Scale::small)); }),
                       "table-video has no recipes for the scale small"));
}

TEST(Ablations, can_be_trained_at_every_scale) {
  for (const Ablation& a : read_ablations(kRecipes / "ablations"))
    for (Scale scale : {Scale::tiny, Scale::small, Scale::paper})
      EXPECT_TRUE(a.rows.empty() || has_scale(a, scale)) << a.name << " " << word_of(scale);
}

TEST(Ablations, may_have_several_backbones) {
  const Ablation table = read_ablation(kRecipes / "ablations/table-backbones.toml");
  ASSERT_EQ(table.rows.size(), 10U);
  EXPECT_EQ(table.rows[7].label, "Swin-B + Fibottention");
  EXPECT_EQ(table.rows[7].paper.at("tiny-in"), 81.8);
  const test::TemporaryDirectory folder;
  const auto tiny = plan(table, request(folder.path()));
  EXPECT_EQ(tiny.back().recipe.model.name, "convit_micro_patch2_28");
  EXPECT_EQ(tiny.back().directory.filename(), "convit.fibottention.fashion.0");
  const auto paper = plan(table, request(folder.path(), Scale::paper));
  EXPECT_EQ(paper.back().recipe.model.name, "convit_base");
  EXPECT_EQ(std::ranges::count(paper, "imagenet", [](const auto& run) { return run.recipe.data.source; }), 14);
  const Ablation pruning = read_ablation(kRecipes / "ablations/table-pruning.toml");
  ASSERT_EQ(pruning.rows.size(), 18U);
  EXPECT_EQ(pruning.rows[9].label, "UPop, BigBird");
  EXPECT_EQ(pruning.rows[9].paper.at("c100"), 37.7);
  EXPECT_EQ(baseline_row(pruning, 9), 6U) << "full attention in the same backbone";
}

/// UPop's: the model, the search, and the training of what it leaves.
TEST(Plan, prepares_what_is_pruned) {
  const test::TemporaryDirectory folder;
  const Ablation a = file_with(folder,
                               "[backbones.half.tiny.search]\nprune_ratio = 0.5\nlr = 2e-4\nema = 0\n"
                               "[[rows]]\nlabel = \"a\"\nattention = \"full\"\n"
                               "[[rows]]\nlabel = \"b\"\nattention = \"full\"\nbackbone = \"half\"\n");
  const auto runs = plan(a, request(folder.path()));
  ASSERT_EQ(runs.size(), 4U);
  EXPECT_EQ(runs[1].directory, runs[0].directory) << "the model of the first row is the one to prune";
  EXPECT_EQ(runs[1].recipe.prune.ratio, 0);
  EXPECT_EQ(runs[2].verb, "prune");
  EXPECT_EQ(runs[2].recipe.prune.ratio, 0.5);
  EXPECT_EQ(runs[2].recipe.model.weights, (runs[0].directory / "best.safetensors").string());
  EXPECT_EQ(runs[3].recipe.model.weights, (runs[2].directory / "pruned.safetensors").string());
  EXPECT_FALSE(runs[3].preparation);
  EXPECT_EQ(runs[3].stage, 2);
  const std::string commands = shell_commands(runs);
  EXPECT_EQ(std::ranges::count(commands, '\n'), 3) << commands;
  EXPECT_TRUE(mentions(commands, "\nfib prune --recipe "));
  EXPECT_TRUE(mentions(slurm_script("t", runs), "#SBATCH --array=0-0\n"));
  EXPECT_TRUE(mentions(slurm_script("t", runs), "# 2 more runs need these"));
  EXPECT_TRUE(mentions(error_of([&] { plan(a, request(folder.path(), Scale::small)); }),
                       "backbone half has no options for the scale small"));
}

TEST(Plan, puts_runs_and_files_into_the_command_that_shows_them) {
  const test::TemporaryDirectory folder;
  const Ablation a = file_with(folder,
                               "command = [\"analyze\", \"diversity\", \"{runs}\", \"--plot\", \"{out}.svg\"]\n"
                               "[[rows]]\nlabel = \"a\"\nattention = \"full\"\n"
                               "[[rows]]\nlabel = \"b\"\nattention = \"local\"\n");
  const auto runs = plan(a, request("out"));
  EXPECT_EQ(showings(a, runs, Scale::tiny, "out/it").front().words,
            (std::vector<std::string>{"analyze", "diversity", "--run", "out/tiny/full.fashion.0", "--run",
                                      "out/tiny/local.fashion.0", "--plot", "out/it.svg"}));
}

TEST(Ablations, are_not_waited_for_where_they_are_pipes) {
  const test::TemporaryDirectory folder;
  ASSERT_EQ(::mkfifo((folder / "table-a.toml").c_str(), 0600), 0);
  EXPECT_TRUE(read_ablations(folder.path()).empty());
}

TEST(Ablations, name_the_line_of_a_mistake) {
  const test::TemporaryDirectory folder;
  const auto refusal = [&](const std::string& text) { return error_of([&] { file_with(folder, text); }); };
  EXPECT_TRUE(mentions(refusal("title = 3\n"), "line 1: title must be text"));
  EXPECT_TRUE(
      mentions(refusal("title = \"a\"\nsecton = \"b\"\n"), "line 2: unknown key 'secton', did you mean 'section'?"));
  EXPECT_TRUE(mentions(refusal("[[rows]]\nlabel = \"a\"\n"), "needs a label and an attention"));
  EXPECT_TRUE(mentions(refusal("[[rows]]\nlabel = \"a\"\nattention = \"ful\"\n"), "'ful'"));
  EXPECT_TRUE(mentions(refusal("[[rows]\n"), "line 1"));
  EXPECT_TRUE(mentions(refusal("command = \"flops\"\n"), "line 1: command must be a list of words"));
  EXPECT_TRUE(
      mentions(refusal("command = [\"train\", \"--out\", \"x\"]\n"), "must begin with pattern, flops, analyze"));
  EXPECT_TRUE(mentions(refusal("command = [\"flops\", \"--plot=/tmp/x.svg\"]\n"), "files by {out} and {runs}"));
  EXPECT_TRUE(mentions(refusal("[[rows]]\nlabel = \"a\"\nattention = \"full\"\nbackbone = \"b\"\n"),
                       "line 1: no [backbones.b.SCALE] in the file"));
  EXPECT_TRUE(mentions(refusal("[backbones.b]\ntiny = 3\n"), "line 2: a backbone has a table of options"));
  EXPECT_TRUE(mentions(refusal("paper = \"settings\"\n[[settings]]\npaper = \"Momenta\"\n"), "line 2: unknown row"));
  EXPECT_TRUE(mentions(refusal("paper = \"settings\"\n[[settings]]\npaper = \"Epochs\"\noptions = [\"epoch\"]\n"),
                       "line 2: unknown option"));
  EXPECT_TRUE(mentions(refusal("[[commands]]\nword = \"a\"\nwords = [\"train\"]\n"), "must begin with pattern, flops"));
  EXPECT_TRUE(mentions(refusal("paper = \"sota\"\n[[rows]]\nlabel = \"BigBirds\"\n"), "line 2: unknown row"));
  EXPECT_TRUE(mentions(error_of([&] { read_ablation(folder / "none.toml"); }), "none.toml"));
  EXPECT_TRUE(mentions(error_of([] { find_ablation({named("table-a")}, "table-b"); }), "table-a"));
}

TEST(Plan, reuses_finished_runs_and_refuses_those_with_other_options) {
  const test::TemporaryDirectory folder;
  const Ablation a = file_with(folder,
                               "[[rows]]\nlabel = \"a\"\nattention = \"fib-wmin:wmin=5,wmax=N/3\"\n"
                               "[[rows]]\nlabel = \"b\"\nattention = \"full\"\n");
  auto runs = plan(a, request(folder.path()));
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].directory.filename(), "fib-wmin_wmin=5_wmax=N-3.fashion.0");
  EXPECT_EQ(runs[0].state, State::missing);
  pretend_finished(runs[0]);
  runs = plan(a, request(folder.path()));
  EXPECT_EQ(runs[0].state, State::finished);
  EXPECT_EQ(runs[0].top1, 50.0);
  EXPECT_EQ(runs[1].state, State::missing);
  Request other = request(folder.path());
  other.overrides = {{"epochs", "9"}};
  EXPECT_TRUE(mentions(error_of([&] { plan(a, other); }), "other values of: epochs"));
  other.overrides = {{"epoch", "9"}};
  EXPECT_TRUE(mentions(error_of([&] { plan(a, other); }), "epochs"));
}

TEST(Plan, estimates_time_from_finished_runs_where_there_are_some) {
  const test::TemporaryDirectory folder;
  const Ablation a = file_with(folder,
                               "[[rows]]\nlabel = \"a\"\nattention = \"full\"\n"
                               "[[rows]]\nlabel = \"b\"\nattention = \"local\"\n");
  auto runs = plan(a, request(folder.path()));
  const double guess = estimated_seconds(runs[1], runs, 10);
  EXPECT_GT(guess, 0);
  EXPECT_NEAR(estimated_seconds(runs[1], runs, 20), guess / 2, 1e-9);
  pretend_finished(runs[0]);
  runs = plan(a, request(folder.path()));
  const double measured = estimated_seconds(runs[1], runs, 10);
  EXPECT_GT(measured, 4);
  EXPECT_LT(measured, 8) << "the sparse one costs less than the dense one's eight seconds";
}

TEST(Plan, counts_what_an_image_costs_in_every_kind_of_backbone) {
  for (const char* model : {"vit_micro_patch2_28", "convit_micro_patch2_28", "swin_micro_patch2_window7_28"}) {
    training::Recipe recipe;
    recipe.model.name = model;
    recipe.model.attention = "fibottention";
    models::Options options;
    options.attention = AttentionSpec::parse(recipe.model.attention);
    options.channels = 1;  // Fashion-MNIST is grey
    EXPECT_DOUBLE_EQ(image_cost(recipe).total(), models::cost(models::dimensions(model, options)).total()) << model;
  }
}

TEST(Plan, counts_the_model_that_the_recipe_trains) {
  training::Recipe recipe;
  recipe.model.attention = "fibottention";
  EXPECT_EQ(image_cost(recipe).tokens, 1 + 14 * 14);
  const models::Cost own = image_cost(recipe);
  recipe.model.patch = 4;
  EXPECT_EQ(image_cost(recipe).tokens, 1 + 7 * 7);
  EXPECT_LT(image_cost(recipe).total(), own.total() / 3);
  EXPECT_LT(image_cost(recipe).pruning_ratio, own.pruning_ratio - 0.01) << "fewer tokens, and a larger share of them";
  recipe.data.source = "cifar100";
  EXPECT_EQ(image_cost(recipe).head, 100 * 96) << "as many classes as the data has";
}

TEST(Plan, estimates_the_images_that_the_dataset_has) {
  const test::TemporaryDirectory folder;
  const Ablation a = file_with(folder, "[[rows]]\nlabel = \"a\"\nattention = \"full\"\n");
  const auto seconds = [&](const std::string& data) {
    Request asked = request(folder.path());
    asked.overrides = {{"data", data}, {"limit_per_class", "10"}};
    const auto runs = plan(a, asked);
    return estimated_seconds(runs[0], runs, 10);
  };
  // Ten images of a hundred classes, of ten classes; the larger classifier is the rest.
  EXPECT_NEAR(seconds("cifar100") / seconds("cifar10"), 10, 0.01);
}

/// What a shell makes of a line.
std::string shell(const std::string& line, const std::filesystem::path& output) {
  EXPECT_EQ(std::system(("exec >" + output.string() + "; " + line).c_str()), 0) << line;
  return test::read_file(output);
}

TEST(Plan, is_a_command_for_each_run_that_is_left) {
  const test::TemporaryDirectory folder;
  const Ablation a = file_with(folder,
                               "[[rows]]\nlabel = \"a\"\nattention = \"full\"\n"
                               "[[rows]]\nlabel = \"b\"\nattention = \"fib-wmin:wmin=5,wmax=N/3\"\n"
                               "[[rows]]\nlabel = \"c\"\nattention = \"full\"\n");
  Request asked = request("a folder");
  asked.overrides = {{"epochs", "2"}};
  const auto runs = plan(a, asked);
  const std::string recipe = (kRecipes / "ablation-tiny.toml").string();
  EXPECT_EQ(shell_commands(runs), "fib train --recipe " + recipe +
                                      " --attention=full --seed=0 --epochs=2 --out 'a folder/tiny/full.fashion.0'\n" +
                                      "fib train --recipe " + recipe +
                                      " --attention=fib-wmin:wmin=5,wmax=N/3 --seed=0 --epochs=2" +
                                      " --out 'a folder/tiny/fib-wmin_wmin=5_wmax=N-3.fashion.0'\n");
}

TEST(Plan, leaves_out_what_has_finished_and_resumes_what_was_interrupted) {
  const test::TemporaryDirectory folder;
  const Ablation a = file_with(folder,
                               "[[rows]]\nlabel = \"a\"\nattention = \"full\"\n"
                               "[[rows]]\nlabel = \"b\"\nattention = \"local\"\n");
  auto runs = plan(a, request(folder.path()));
  pretend_finished(runs[0]);
  pretend_finished(runs[1]);
  std::filesystem::remove(runs[1].directory / "summary.json");
  runs = plan(a, request(folder.path()));
  EXPECT_EQ(shell_commands(runs), "fib train --resume --out " + runs[1].directory.string() + "\n");
}

TEST(Plan, as_a_job_array_trains_resumes_and_repeats_nothing) {
  const test::TemporaryDirectory folder;
  const Ablation a = file_with(folder,
                               "[[rows]]\nlabel = \"a\"\nattention = \"full\"\n"
                               "[[rows]]\nlabel = \"b\"\nattention = \"local\"\n");
  const auto runs = plan(a, request(folder.path()));
  write_file(folder / "job.sh", slurm_script("table", runs));
  EXPECT_TRUE(mentions(slurm_script("table", runs), "#SBATCH --array=0-1\n"));
  const std::string task =
      "srun() { echo \"$@\"; }; SLURM_ARRAY_TASK_ID=1; SLURM_JOB_ID=7; . " + (folder / "job.sh").string();
  const auto output = folder / "output";
  EXPECT_TRUE(mentions(shell("bash -c '" + task + "'", output), "fib train --recipe "));
  EXPECT_TRUE(mentions(test::read_file(output), "--attention=local --seed=0 --out " + runs[1].directory.string()));
  pretend_finished(runs[1]);
  EXPECT_EQ(shell("bash -c '" + task + "'", output), "");
  std::filesystem::remove(runs[1].directory / "summary.json");
  EXPECT_EQ(shell("bash -c '" + task + "'", output), "fib train --resume --out " + runs[1].directory.string() + "\n");
  EXPECT_EQ(slurm_script("table", {}), "");
}

/// Names that would act where a shell, or Slurm, read them as they are.
TEST(Plan, quotes_every_name_in_a_job_array) {
  const test::TemporaryDirectory folder;
  const std::string pwn = folder / "pwn";
  for (const std::string& hostile :
       {"$(touch " + pwn + ")", "`touch " + pwn + "`", "a'; touch " + pwn + "; '", "a\ntouch " + pwn + "\n",
        "a\" ; touch " + pwn + " #", "x) touch " + pwn + ";; *", std::string("-rf"), std::string("a b\t*")}) {
    ablations::Run run;
    run.directory = folder.path() / hostile;
    run.arguments = {"--recipe", hostile, "--attention=" + hostile};
    const std::string script = slurm_script(hostile, {run});
    write_file(folder / "job.sh", script);
    const std::string task =
        "srun() { printf '%s\\0' \"$@\"; }; SLURM_ARRAY_TASK_ID=0; SLURM_JOB_ID=7; . " + (folder / "job.sh").string();
    write_file(folder / "task.sh", task);
    const std::string words = shell("bash " + (folder / "task.sh").string(), folder / "output");
    const auto word = [](const std::string& text) { return text + std::string(1, '\0'); };
    EXPECT_EQ(words, word("fib") + word("train") + word("--recipe") + word(hostile) + word("--attention=" + hostile) +
                         word("--out") + word(run.directory.string()))
        << script;
    EXPECT_FALSE(std::filesystem::exists(pwn)) << script;
    const std::string directives = script.substr(0, script.find("set -u"));
    for (size_t at = 0; at < directives.size(); at = directives.find('\n', at) + 1)
      EXPECT_EQ(directives[at], '#') << "a line that is no comment among Slurm's: " << directives;
    EXPECT_EQ(directives.find_first_of("$`'\""), std::string::npos) << directives;
    write_file(folder / "commands.sh", "fib() { printf '%s\\0' \"$@\"; }\n" + shell_commands({run}));
    EXPECT_TRUE(mentions(shell("bash " + (folder / "commands.sh").string(), folder / "output"), word(hostile)));
    EXPECT_FALSE(std::filesystem::exists(pwn));
  }
}

TEST(Plan, has_a_run_for_every_seed) {
  const test::TemporaryDirectory folder;
  const Ablation a = file_with(folder, "[[rows]]\nlabel = \"a\"\nattention = \"full\"\n");
  Request three = request(folder.path());
  three.seeds = 3;
  const auto runs = plan(a, three);
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[2].recipe.run.seed, 2);
  EXPECT_NE(runs[1].directory, runs[2].directory);
}

}  // namespace
}  // namespace fib::ablations
