// SPDX-License-Identifier: Apache-2.0
// What `fib reproduce … --scale paper` trains and shows, against the settings of the paper as typed here from its text.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "analysis/ablations/commands.h"
#include "analysis/ablations/jobs.h"
#include "fibottention/pattern.h"
#include "files.h"
#include "training/recipe/model_options.h"
#include "training/recipe/options.h"

namespace fib::ablations {
namespace {

using test::error_of;
using test::mentions;
using Texts = std::vector<std::string>;

const std::filesystem::path kProjectRecipes = FIB_TEST_DATA "/../../recipes";

Ablation entry(const std::string& name) { return read_ablation(kProjectRecipes / "ablations" / (name + ".toml")); }

std::vector<Run> paper_runs(const Ablation& ablation) {
  return plan(ablation, {Scale::paper, 1, {}, kProjectRecipes, "out"});
}
std::vector<Run> paper_runs(const std::string& name) { return paper_runs(entry(name)); }

// ---- What is trained

/// The trainings of an entry: every model with every attention on every data.
struct Trainings {
  Texts models, attentions, data;
};

/// "model, attention, data, epochs, batch, learning rate".
std::string line(const std::string& model, const std::string& attention, const std::string& data,
                 const std::string& schedule) {
  return fmt::format("{} | {} | {} | {}", model, attention, data, schedule);
}

std::string schedule_text(int64_t epochs, int64_t batch, double lr) {
  return fmt::format("{} epochs, batches of {}, lr {}", epochs, batch, lr);
}

/// § Training of image classification, and the table of settings.
const std::string kImages = schedule_text(100, 64, 1e-3);
/// § Training of video action classification; the rate is TimeSformer's.
const std::string kVideo = schedule_text(15, 32, 0.005);
/// § Training of robot learning: batches of 64, all else as Crossway Diffusion's published training.
const std::string kRobots = schedule_text(501, 64, 1e-4);

const Texts kCifars = {"cifar10", "cifar100"};
const Texts kFourDatasets = {"cifar10", "cifar100", "tiny-imagenet", "imagenet"};
const Texts kVitB = {"vit_base_patch16_224"};

Texts with(const std::string& name, const Texts& values) {
  Texts list;
  for (const std::string& value : values) list.push_back(name + value);
  return list;
}

Texts joined(Texts a, const Texts& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const Texts kWindows = {"2", "3", "4", "5", "6", "7", "8", "9", "10", "15", "20", "40", "80", "120", "160"};
const Texts kSixMechanisms = {"full", "random", "topk", "bigbird", "longformer", "fibottention"};

/// The entries that train image classifiers.
const std::map<std::string, std::vector<Trainings>>& classification() {
  static const std::map<std::string, std::vector<Trainings>> all = {
      {"table-sota",
       {{kVitB,
         {"full", "random", "topk", "sparse-transformer", "bigbird", "longformer", "linformer", "efficient",
          "fibottention"},
         kFourDatasets}}},
      {"table-backbones",
       {{{"vit_base_patch16_224", "deit_small_patch16_224", "swin_base_patch4_window7_224", "convit_base"},
         {"full", "fibottention"},
         kFourDatasets},
        {{"iFormer_t"}, {"full", "fibottention:wmax=65"}, kFourDatasets}}},
      {"table-pruning", {{{"vit_base_patch16_224", "deit_small_patch16_224", "convit_base"}, kSixMechanisms, kCifars}}},
      {"table-diversity",
       {{kVitB, {"full", "random", "sparse-transformer", "longformer", "bigbird", "fibottention"}, {"cifar10"}}}},
      {"figure-corruption", {{kVitB, {"full", "fibottention"}, kCifars}}},
      // Boxes around objects: the paper names no data, Tiny-ImageNet has them.
      {"inductive-bias", {{kVitB, {"full", "fibottention"}, {"tiny-imagenet"}}}},
      {"table-sequences", {{kVitB, {"powers-of-2", "powers-of-3", "squares", "cubes", "fib-1-1"}, kCifars}}},
      {"figure-dilation",
       {{kVitB,
         joined(with("dilation:c=", {"1", "2", "3", "4", "5"}), with("dilation-varying:c=", {"1", "2", "3", "4", "5"})),
         kCifars}}},
      {"figure-wmax",
       {{kVitB,
         joined(with("fib-wmin:wmax=N,wmin=", {"1", "2", "3", "5", "8", "13"}),
                with("fib-wmin:wmax=N/3,wmin=", {"1", "2", "3", "5", "8", "13"})),
         kCifars}}},
      {"figure-wythoff",
       {{kVitB, joined({"fibottention"}, with("fib-shift:delta=", {"0", "1", "2", "4", "8", "16"})), kCifars}}},
      {"table-random",
       {{kVitB,
         joined({"full", "full", "random:class=drawn,masking=zero,ratio=1"},
                joined(with("random:ratio=", {"0.2", "0.4", "0.6", "0.8", "0.9", "1"}),
                       with("random:class=drawn,ratio=", {"0.2", "0.4", "0.6", "0.8", "0.9"}))),
         kCifars}}},
      {"table-bigbird",
       {{kVitB, {"bigbird:random=N,w=2", "bigbird:random=392,w=2", "bigbird:random=N,w=4"}, {"cifar10"}}}},
      {"table-diagonal",
       {{kVitB,
         joined(with("local:w=", {"2", "10", "15", "20", "40"}),
                with("local:diagonal=true,w=", {"2", "10", "15", "20", "40"})),
         kCifars}}},
      {"table-windows", {{kVitB, joined({"full"}, with("local:w=", kWindows)), kCifars}}}};
  return all;
}

const Texts kVideoAttentions = {"full",
                                "bigbird",
                                "fibottention:wmax=N,wmin=1",
                                "fibottention-modified:wmax=N,wmin=1",
                                "fibottention:wmax=N,wmin=N",
                                "fibottention-modified:wmax=N,wmin=N"};
/// As the published robot code has them.
const Texts kRobotAttentions = {"full", "bigbird:random=N,w=4", "fibottention:wmax=N,wmin=N",
                                "fibottention-modified:wmax=N,wmin=N"};

Texts lines_of(const Trainings& trainings, const std::string& schedule) {
  Texts lines;
  for (const std::string& model : trainings.models)
    for (const std::string& attention : trainings.attentions)
      for (const std::string& data : trainings.data) lines.push_back(line(model, attention, data, schedule));
  return lines;
}

/// What each entry of the list trains, in any order; nothing for those that train nothing.
std::map<std::string, Texts> typed_settings() {
  std::map<std::string, Texts> typed = {{"figure-architecture", {}},
                                        {"figure-costs", {}},
                                        {"figure-robots", {}},
                                        {"table-wythoff", {}},
                                        {"table-settings", {}}};
  for (const auto& [name, list] : classification())
    for (const Trainings& trainings : list) typed[name] = joined(typed[name], lines_of(trainings, kImages));
  typed["table-video"] = lines_of({{"timesformer_base_patch16_224"},
                                   kVideoAttentions,
                                   {"smarthome:?split=cs", "smarthome:?split=cv2", "nucla:?test_subjects=10"}},
                                  kVideo);
  typed["table-robots"] =
      joined(lines_of({{"arm_vit_b8"},
                       kRobotAttentions,
                       {"hdf5:data/robomimic/lift/ph/image_abs.hdf5", "hdf5:data/robomimic/can/ph/image_abs.hdf5"}},
                      kRobots),
             lines_of({{"pusht_vit_b8"}, kRobotAttentions, {"zarr:data/pusht/pusht_cchi_v7_replay.zarr"}}, kRobots));
  return typed;
}

/// With its options in alphabetical order.
std::string sorted_options(const std::string& attention) {
  AttentionSpec spec = AttentionSpec::parse(attention);
  std::ranges::sort(spec.options);
  return spec.to_string();
}

TEST(PaperScale, trains_what_the_paper_says_entry_by_entry) {
  std::map<std::string, Texts> typed = typed_settings();
  for (const Ablation& ablation : read_ablations(kProjectRecipes / "ablations")) {
    SCOPED_TRACE(ablation.name);
    ASSERT_TRUE(typed.contains(ablation.name)) << "not typed from the paper";
    Texts planned;
    for (const auto& run : paper_runs(ablation)) {
      if (run.preparation) continue;
      const training::Recipe& r = run.recipe;
      planned.push_back(line(r.model.name, sorted_options(r.model.attention), r.data.source,
                             schedule_text(r.schedule.epochs, r.optimizer.batch, r.optimizer.lr)));
    }
    std::ranges::sort(planned);
    std::ranges::sort(typed[ablation.name]);
    EXPECT_EQ(planned, typed[ablation.name]);
    typed.erase(ablation.name);
  }
  EXPECT_TRUE(typed.empty()) << typed.begin()->first << " is not in the list";
}

/// The table of settings: an option's key and its value as TOML.
const std::vector<std::pair<std::string, std::string>> kSettings = {{"eval_crop", "0.9"},
                                                                    {"batch", "64"},
                                                                    {"optimizer", "\"adamw\""},
                                                                    {"eps", "1e-06"},
                                                                    {"weight_decay", "0.05"},
                                                                    {"grad_clip", "1.0"},
                                                                    {"schedule", "\"epoch\""},
                                                                    {"lr", "0.001"},
                                                                    {"lr_batch", "0"},
                                                                    {"warmup_lr", "1e-06"},
                                                                    {"min_lr", "1e-05"},
                                                                    {"epochs", "100"},
                                                                    {"warmup_epochs", "5.0"},
                                                                    {"ema_rule", "\"constant\""},
                                                                    {"ema", "0.99992"},
                                                                    {"crop", "\"resized\""},
                                                                    {"crop_scale", "[0.08, 1.0]"},
                                                                    {"crop_ratio", "[0.67, 1.5]"},
                                                                    {"flip", "0.5"},
                                                                    {"color_jitter", "0.4"},
                                                                    {"rand_augment", "\"rand-m15-n2-mstd1.0-inc1\""},
                                                                    {"mixup", "0.8"},
                                                                    {"cutmix", "1.0"},
                                                                    {"mixup_prob", "0.5"},
                                                                    {"mixup_switch_prob", "0.5"},
                                                                    {"label_smoothing", "0.1"},
                                                                    {"weights", "\"\""},
                                                                    {"drop_path", "0.0"},
                                                                    {"random_erasing", "0.0"},
                                                                    {"repeated_augmentation", "1"},
                                                                    {"validation_fraction", "0.0"}};

TEST(PaperScale, trains_image_classifiers_by_the_papers_table_of_settings) {
  for (const auto& [name, trainings] : classification()) {
    SCOPED_TRACE(name);
    for (const auto& run : paper_runs(name)) {
      const bool after_search = run.stage > 0;
      for (const auto& [key, value] : kSettings) {
        if (after_search && (key == "weights" || run.preparation)) continue;
        EXPECT_EQ(training::to_toml(training::find_option(key).get(run.recipe)), value) << key;
      }
      const models::Options options = training::model_options(run.recipe, {10, 3});
      const models::Dimensions dims = models::dimensions(run.recipe.model.name, options);
      EXPECT_EQ(dims.height, 224) << run.recipe.model.name;
    }
  }
}

TEST(PaperScale, begins_video_models_from_weights_and_samples_their_frames) {
  for (const auto& run : paper_runs("table-video")) {
    const bool nucla = run.data == "nucla-cs";
    const models::Options options = training::model_options(run.recipe, {10, 3});
    const models::Dimensions dims = models::dimensions(run.recipe.model.name, options);
    EXPECT_EQ(run.recipe.model.weights, "vit_base_patch16_224.safetensors");
    EXPECT_EQ(dims.frames(), nucla ? 16 : 8);
    EXPECT_EQ(run.recipe.data.sampling_rate, nucla ? 4 : 32);
    EXPECT_EQ(dims.height, 224);
    EXPECT_EQ(run.recipe.model.attention_in, "spatial");
  }
}

TEST(PaperScale, prunes_one_backbone_with_upop) {
  training::Recipe recipe;
  training::read_toml_file(recipe, kProjectRecipes / "upop-deit-imagenet.toml");
  for (const char* table : {"table-backbones", "table-pruning"})
    for (const auto& run : paper_runs(table)) {
      if (run.verb != "prune") continue;
      EXPECT_EQ(run.recipe.model.name, recipe.model.name) << table;
      EXPECT_EQ(run.recipe.prune.ratio, 0.5);
      EXPECT_EQ(run.recipe.schedule.epochs, 60);
    }
}

/// wmin = 5 and wmax = 65, or as the paper's printed ratios have it.
TEST(PaperScale, prunes_what_the_papers_main_table_prints) {
  for (const AblationRow& row : entry("table-sota").rows) {
    training::Recipe recipe;
    recipe.model.name = "vit_base_patch16_224";
    recipe.model.attention = row.attention;
    recipe.data.source = "cifar10";
    EXPECT_NEAR(image_cost(recipe).pruning_ratio, row.paper_pruned.value(), 1e-4) << row.label;
  }
  const SupportSet support = make_support(AttentionSpec::parse("fibottention"), {.patches = 196, .heads = 12});
  EXPECT_EQ(support.head(0).window, 5);
  EXPECT_EQ(support.head(11).window, 65);
}

/// The two figures of the video section follow from windows of N in every head, not from the stated 1 to N.
TEST(PaperScale, offers_the_windows_that_give_the_papers_ratios_of_video) {
  const auto pruned = [](const std::string& label) {
    const Ablation table = entry("table-video");
    for (const auto& run : paper_runs(table))
      if (table.rows[run.row].label == label) return 100 * image_cost(run.recipe).pruning_ratio;
    return 0.0;
  };
  EXPECT_NEAR(pruned("TimeSformer + Fibottention (Wythoff), all windows N"), 95.52, 0.005);
  EXPECT_NEAR(pruned("TimeSformer + Fibottention (Modified Wythoff), all windows N"), 93.73, 0.005);
  EXPECT_NEAR(pruned("TimeSformer + Fibottention (Wythoff)"), 96.94, 0.005);
  EXPECT_NEAR(pruned("TimeSformer + Fibottention (Modified Wythoff)"), 95.15, 0.005);
}

// ---- What is shown

/// What follows a flag in a command.
std::string value_of(const Texts& words, const std::string& flag) {
  const auto found = std::ranges::find(words, flag);
  return found == words.end() || found + 1 == words.end() ? "" : *(found + 1);
}

std::vector<Showing> paper_showings(const std::string& name) {
  const Ablation ablation = entry(name);
  return showings(ablation, paper_runs(ablation), Scale::paper, "it");
}

TEST(PaperScale, measures_diversity_on_all_test_images_of_cifar10_alone) {
  EXPECT_EQ(value_of(paper_showings("table-diversity").front().words, "--images"), "10000");
}

TEST(PaperScale, measures_inductive_bias_over_a_hundred_images) {
  EXPECT_EQ(value_of(paper_showings("inductive-bias").front().words, "--images"), "100");
}

TEST(PaperScale, has_a_table_of_corruptions_for_each_dataset_with_all_test_images) {
  const auto all = paper_showings("figure-corruption");
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].out, "it.c10");
  EXPECT_EQ(all[1].out, "it.c100");
  for (const Showing& showing : all) {
    EXPECT_EQ(value_of(showing.words, "--images"), "10000");
    EXPECT_EQ(std::ranges::count(showing.words, "--run"), 2);
  }
}

TEST(PaperScale, shows_figures_and_arrays_that_need_no_training) {
  EXPECT_EQ(paper_showings("table-wythoff").front().words, (Texts{"pattern", "--array", "5x7", "--modified"}));
  EXPECT_EQ(paper_showings("figure-architecture").front().words,
            (Texts{"pattern", "--tokens", "196", "--heads", "12", "--svg", "it.svg"}));
  const Texts costs = paper_showings("figure-costs").front().words;
  for (const char* model : {"vit_base_patch16_224", "vit_tiny_patch16_224", "convit_base"})
    EXPECT_EQ(std::ranges::count(costs, model), 1) << model;
  EXPECT_TRUE(value_of(costs, "--resolution").starts_with("224,"));
}

TEST(PaperScale, shows_a_frame_of_every_robot) {
  const auto all = paper_showings("figure-robots");
  ASSERT_EQ(all.size(), 3U);
  for (const Showing& showing : all) {
    EXPECT_EQ(showing.words[0], "simulate");
    EXPECT_EQ(showing.out, "it." + showing.words[1]);
    EXPECT_EQ(value_of(showing.words, "--png"), showing.out + ".png");
  }
}

// ---- What is said before the first hour is spent

TEST(PaperScale, names_the_missing_weights_that_video_models_begin_from) {
  const auto runs = paper_runs("table-video");
  EXPECT_EQ(
      error_of([&] { left_to_do(runs, false); }),
      "the runs begin from weights that are missing: 'vit_base_patch16_224.safetensors'; give --set weights=FILE");
  EXPECT_EQ(missing_weights(runs), Texts{"vit_base_patch16_224.safetensors"});
  const std::string line = "# The runs begin from weights that are missing here: vit_base_patch16_224.safetensors; ";
  EXPECT_TRUE(mentions(shell_commands(runs), line));
  EXPECT_TRUE(mentions(slurm_script("table-video", runs), line));
  EXPECT_FALSE(mentions(shell_commands(paper_runs("table-sota")), "missing"));
  EXPECT_TRUE(missing_weights(paper_runs("table-pruning")).empty()) << "made by an earlier stage";
}

/// Smarthome has 16,115 clips, of which persons or cameras are held out; a folder is taken to have a thousand.
TEST(PaperScale, estimates_video_from_the_clips_that_are_trained_on) {
  const auto seconds = [](const std::string& data) {
    const auto runs = plan(entry("table-video"), {Scale::paper, 1, {{"data", data}}, kProjectRecipes, "out"});
    return estimated_seconds(runs.front(), runs, 10);
  };
  const double thousand = seconds("clips:/nowhere");
  EXPECT_NEAR(seconds("smarthome:?split=cs") / thousand, 16.115 * 11 / 18, 0.01);
  EXPECT_NEAR(seconds("smarthome:?split=cv2") / thousand, 16.115 * 5 / 7, 0.01);
  EXPECT_NEAR(seconds("nucla:?test_subjects=9,10") / thousand, 1.494 * 8 / 10, 0.01);
  EXPECT_NEAR(seconds("nucla:?test_views=3") / thousand, 1.494 * 2 / 3, 0.01);
}

}  // namespace
}  // namespace fib::ablations
