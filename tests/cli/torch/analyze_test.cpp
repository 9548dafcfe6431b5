// SPDX-License-Identifier: Apache-2.0
// The analyses, the report and the reproduction from the outside, on runs of a second.
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "background.h"
#include "cli/run_fib.h"
#include "files.h"
#include "mini_vit.h"
#include "tiny_mnist.h"

namespace fib::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const std::string kTinyRun =
    " --model vit_nano_patch2_28 --validation-fraction 0.2 --batch 16 --epochs 1 --warmup-epochs 0 --threads 1 "
    "--workers 1 ";

/// Two trained runs, made once for all tests of the program.
class Analyze : public testing::Test {
 protected:
  static void make_data() {
    folder_ = std::make_unique<TemporaryDirectory>();
    write_tiny_mnist(*folder_ / "data");
  }
  static void SetUpTestSuite() {
    make_data();
    for (const char* attention : {"full", "fibottention"}) {
      const Outcome trained = run_fib("train --quiet" + kTinyRun + "--data " + data() + " --attention " + attention +
                                      " --out " + run_of(attention));
      ASSERT_EQ(trained.code, 0) << trained.err;
    }
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static std::string data() { return "fashion-mnist:" + (*folder_ / "data").string(); }
  static std::string run_of(const std::string& name) { return (*folder_ / name).string(); }
  static std::string path(const std::string& name) { return (*folder_ / name).string(); }
  static std::string both() {
    return " --run " + run_of("full") + " --run " + run_of("fibottention") + " --threads 1 ";
  }

  static std::unique_ptr<TemporaryDirectory> folder_;
};

std::unique_ptr<TemporaryDirectory> Analyze::folder_;

TEST_F(Analyze, diversity_of_runs_beside_the_papers) {
  const Outcome outcome = run_fib("analyze diversity" + both() + "--images 20 --json --plot " + path("boxes.svg"));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json result = json::parse(outcome.out);
  EXPECT_EQ(result["unit"], "percent");
  ASSERT_EQ(result["rows"].size(), 2U);
  for (const json& row : result["rows"]) {
    EXPECT_EQ(row["images"], 20);
    EXPECT_EQ(row["layer"], 3);
    EXPECT_GT(row["min"], 0.0);
    EXPECT_LE(row["max"], 100.0);
    EXPECT_LE(row["q1"], row["median"]);
  }
  EXPECT_EQ(result["rows"][0]["paper"]["median"], 43.0);
  EXPECT_EQ(result["rows"][1]["paper"]["median"], 57.34);
  EXPECT_TRUE(mentions(read_file(path("boxes.svg")), "<svg"));
  const Outcome text = run_fib("analyze diversity" + both() + "--images 5 --layer 1");
  EXPECT_TRUE(mentions(text.out, "the paper's fibottention"));
  EXPECT_TRUE(mentions(text.out, "layer 1, 5 images"));
  const std::string twice = " --run " + run_of("fibottention") + " --run " + run_of("fibottention");
  const Outcome seeds = run_fib("analyze diversity --threads 1 --images 2" + twice);
  const size_t once = seeds.out.find("the paper's fibottention");
  EXPECT_NE(once, std::string::npos) << seeds.err;
  EXPECT_EQ(seeds.out.find("the paper's fibottention", once + 1), std::string::npos) << seeds.out;
}

TEST_F(Analyze, diversity_of_weights_without_a_run) {
  fs::create_directories(path("images/0"));
  fs::copy_file(fs::path(FIB_TEST_DATA) / "images/rgb.jpg", path("images/0/rgb.jpg"));
  const Outcome outcome =
      run_fib(with_mini_vit("analyze diversity") + "--attention fibottention --json --data folder:" + path("images"));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["rows"][0]["images"], 1);
}

/// All but the maps, whose rows are of images.
TEST_F(Analyze, says_how_images_become_input_and_which_were_passed_by) {
  const std::string grey = "Input: 28 x 28, grey, whole images, mean 0.28";
  for (const char* analysis :
       {"diversity --images 2", "inductive-bias --images 10", "corruption --images 2 --corruption fog --severity 1"}) {
    const Outcome text = run_fib(std::string("analyze ") + analysis + both());
    EXPECT_TRUE(mentions(text.out, grey)) << text.out << text.err;
    EXPECT_TRUE(mentions(text.out, "(as the weights say)")) << text.out;
    const json rows = json::parse(run_fib(std::string("analyze ") + analysis + both() + "--json").out)["rows"];
    for (const json& row : rows) EXPECT_EQ(row["input"]["as_told_by"], "the weights") << row;
  }
  const Outcome maps = run_fib("analyze attention-maps" + both() + "-o " + path("inputs.svg"));
  EXPECT_TRUE(mentions(maps.out, grey)) << maps.out << maps.err;

  const std::string folder = path("passed_by");
  fs::create_directories(folder + "/0");
  fs::copy_file(fs::path(FIB_TEST_DATA) / "images/rgb.jpg", folder + "/0/rgb.jpg");
  write_file(folder + "/0/scan.tiff", "?");
  const Outcome passed = run_fib("analyze diversity" + both() + "--images 1 --data folder:" + folder);
  EXPECT_EQ(passed.code, 0) << passed.err;
  const size_t first = passed.err.find("1 .tiff");
  EXPECT_NE(first, std::string::npos) << passed.err;
  EXPECT_EQ(passed.err.find("1 .tiff", first + 1), std::string::npos) << "once for both runs: " << passed.err;
}

TEST_F(Analyze, inductive_bias_by_the_foreground_rule_and_by_boxes) {
  const Outcome outcome = run_fib("analyze inductive-bias" + both() + "--images 10 --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json rows = json::parse(outcome.out)["rows"];
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_GT(rows[0]["region_share"], 0.0);
  EXPECT_TRUE(mentions(rows[0]["regions"], "foreground"));
  EXPECT_GE(rows[1]["each_head"]["variance"], rows[1]["heads_averaged"]["variance"]);
  write_file(path("boxes.csv"), "3,0,0,13,13\n");
  const Outcome boxed = run_fib("analyze inductive-bias" + both() + "--json --boxes " + path("boxes.csv"));
  ASSERT_EQ(boxed.code, 0) << boxed.err;
  EXPECT_EQ(json::parse(boxed.out)["rows"][0]["images"], 1);
  EXPECT_DOUBLE_EQ(json::parse(boxed.out)["rows"][0]["region_share"], 0.25);
}

TEST_F(Analyze, maps_of_an_image_as_picture_and_as_numbers) {
  for (const char* file : {"maps.svg", "maps.png"}) {
    const Outcome outcome =
        run_fib("analyze attention-maps" + both() + "--index 2,5 --patch 7,8 --json -o " + path(file));
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const json rows = json::parse(outcome.out)["rows"];
    ASSERT_EQ(rows.size(), 4U);
    EXPECT_EQ(rows[1]["image"], "image 5");
    EXPECT_EQ(rows[1]["label"], 5);
    EXPECT_EQ(rows[1]["patch"], 6 * 14 + 7);
    EXPECT_EQ(rows[1]["layers"].size(), 3U);
    EXPECT_EQ(rows[1]["layers"][0]["from_cls"].size(), 6U);
    EXPECT_EQ(rows[1]["rollout"].size(), 196U);
    EXPECT_GT(fs::file_size(path(file)), 1000U);
  }
}

TEST_F(Analyze, corruption_lowers_accuracy_and_repeats_itself) {
  const std::string command =
      "analyze corruption" + both() + "--images 30 --corruption gaussian_noise,contrast --severity 1,5 --json";
  const Outcome outcome = run_fib(command + " --plot " + path("severity.svg") + " --bars " + path("bars.svg") +
                                  " --panels " + path("panels.svg"));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json result = json::parse(outcome.out);
  EXPECT_EQ(result["rows"][0]["corruptions"].size(), 4U);
  EXPECT_EQ(result["rows"][0]["source"], "generated");
  EXPECT_EQ(outcome.out, run_fib(command).out);
  EXPECT_TRUE(mentions(read_file(path("severity.svg")), "<svg"));
  EXPECT_TRUE(mentions(read_file(path("bars.svg")), "<svg"));
  EXPECT_TRUE(mentions(read_file(path("panels.svg")), "accuracy by corruption and severity"));
  const Outcome text =
      run_fib("analyze corruption --run " + run_of("full") + " --threads 1 --images 5 --corruption fog");
  EXPECT_TRUE(mentions(text.out, "all, severity 5"));
}

TEST_F(Analyze, refuses_in_one_line) {
  fs::create_directories(path("bare"));
  fs::copy_file(run_of("full") + "/config.toml", path("bare/config.toml"));
  expect_refusal(run_fib("analyze diversity --run " + path("bare")), 1, {"bare", "has no best.safetensors"});
  expect_refusal(run_fib("analyze diversity --run /nowhere"), 1, {"/nowhere", "no config.toml"});
  expect_refusal(run_fib("analyze diversity"), 2, {"--run"});
  expect_refusal(run_fib("analyze diversity" + both() + "--images 0"), 2, {"--images", "'0'"});
  expect_refusal(run_fib("analyze diversity" + both() + "--layer 4"), 2, {"--layer 4", "1 to 3"});
  expect_refusal(run_fib("analyze diversity" + both() + "--plot a.pdf"), 2, {"a.pdf"});
  expect_refusal(run_fib("analyze diversity" + both() + "--plot /nowhere/a.svg"), 1, {"'/nowhere/a.svg'"});
  expect_refusal(run_fib("analyze corruption" + both() + "--bars /nowhere/a.svg"), 1, {"'/nowhere/a.svg'"});
  expect_refusal(run_fib("report " + run_of("full") + " -o /nowhere/a.html"), 1, {"'/nowhere/a.html'"});
  expect_refusal(run_fib("analyze diversty"), 2, {"diversty", "diversity"});
  expect_refusal(run_fib("analyze corruption" + both() + "--corruption rain"), 2, {"rain"});
  expect_refusal(run_fib("analyze corruption" + both() + "--corruption fog --published /nowhere"), 1, {"/nowhere"});
  expect_refusal(run_fib("analyze attention-maps" + both() + "--index 30 --json"), 2, {"30", "0 to 29"});
  expect_refusal(run_fib("analyze attention-maps" + both() + "--patch 15,1 --json"), 2, {"15,1", "14,14"});
  expect_refusal(run_fib("analyze attention-maps" + both()), 2, {"--out"});
  write_file(path("none.csv"), "index,left,top,right,bottom\n");
  expect_refusal(run_fib("analyze inductive-bias" + both() + "--boxes " + path("none.csv")), 1, {"names no image"});
  const Outcome linformer =
      run_fib("train --quiet" + kTinyRun + "--attention linformer --data " + data() + " --out " + path("linformer"));
  ASSERT_EQ(linformer.code, 0) << linformer.err;
  expect_refusal(run_fib("analyze attention-maps --json --run " + path("linformer")), 2,
                 {"linformer", "no attention map"});
}

TEST_F(Analyze, report_is_one_page_about_the_runs) {
  const std::string page = path("report.html");
  const Outcome outcome =
      run_fib("report --threads 1 " + run_of("full") + " " + run_of("fibottention") + " -o " + page);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::string html = read_file(page);
  for (const char* id :
       {"summary", "curves", "cost", "patterns", "diversity", "maps", "confusion", "mistakes", "commands"})
    EXPECT_TRUE(mentions(html, std::string("<section id=\"") + id + "\""));
  EXPECT_TRUE(mentions(html, "Ankle boot"));
  EXPECT_LT(html.size(), 3U << 20);
  expect_refusal(run_fib("report /nowhere -o " + path("none.html")), 1, {"/nowhere"});
  EXPECT_FALSE(fs::exists(path("none.html")));
}

/// Two rows of a second each, on the tiny data.
class Reproduce : public Analyze {
 protected:
  static void SetUpTestSuite() {
    make_data();
    fs::create_directories(path("recipes/ablations"));
    fs::copy_file(FIB_TEST_DATA "/../../recipes/ablation-tiny.toml", path("recipes/ablation-tiny.toml"));
    write_file(path("recipes/ablations/table-two.toml"),
               "title = \"Two\"\nsection = \"S\"\npaper = \"sequences\"\n"
               "[[rows]]\nlabel = \"2^n\"\n[[rows]]\nlabel = \"Fib(1,1)\"\n");
  }

  /// Short runs that save often.
  static std::string command(const std::string& out, int epochs) {
    return "reproduce table-two --json" + options(out, epochs);
  }
  static std::string options(const std::string& out, int epochs) {
    return " --recipes " + path("recipes") + " --out " + path(out) +
           " --set model=vit_nano_patch2_28 --set data=" + data() +
           " --set validation_fraction=0.2 --set batch=8 --set workers=1 --set checkpoint_every=1 --set epochs=" +
           std::to_string(epochs);
  }
};

TEST_F(Reproduce, trains_the_rows_and_shows_them_beside_the_paper) {
  const Outcome outcome = run_fib(command("whole", 1) + " --jobs 2");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json result = json::parse(outcome.out);
  ASSERT_EQ(result["rows"].size(), 2U);
  EXPECT_EQ(result["rows"][1]["paper"]["c10"], 87.3);
  EXPECT_TRUE(result["rows"][1]["runs"][0]["top1"].is_number());
  for (const char* end : {".txt", ".json", ".svg"}) EXPECT_TRUE(fs::exists(path("whole/table-two.tiny") + end));
  const auto before = fs::last_write_time(path("whole/tiny/fib-1-1.fashion.0/summary.json"));
  ASSERT_EQ(run_fib(command("whole", 1)).code, 0);
  EXPECT_EQ(fs::last_write_time(path("whole/tiny/fib-1-1.fashion.0/summary.json")), before) << "it was there already";
}

/// Starts `fib` and interrupts it once the second run has a checkpoint.
int interrupted(const std::string& arguments, const std::string& checkpoint, int signal = SIGINT) {
  const pid_t child = start(arguments);
  for (int i = 0; i < 3000 && !fs::exists(checkpoint); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  kill(child, signal);
  return wait_for(child);
}

TEST_F(Reproduce, goes_on_after_an_interruption_without_repeating_what_has_finished) {
  const std::string second = path("cut/tiny/fib-1-1.fashion.0");
  ASSERT_EQ(interrupted(command("cut", 3), second + "/state.pt"), 130);
  ASSERT_TRUE(fs::exists(path("cut/tiny/powers-of-2.fashion.0/summary.json")));
  ASSERT_FALSE(fs::exists(second + "/summary.json")) << "the run was over before it could be interrupted";
  const auto first = fs::last_write_time(path("cut/tiny/powers-of-2.fashion.0/summary.json"));
  expect_refusal(run_fib(command("cut", 3)), 2, {"interrupted", "--resume"});
  const Outcome resumed = run_fib(command("cut", 3) + " --resume");
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(fs::last_write_time(path("cut/tiny/powers-of-2.fashion.0/summary.json")), first);
  EXPECT_TRUE(mentions(read_file(second + ".log"), "continuing after step"));
  for (const json& row : json::parse(resumed.out)["rows"]) EXPECT_TRUE(row["runs"][0]["top1"].is_number());
}

TEST_F(Reproduce, leaves_no_training_behind_when_it_is_killed) {
  const std::string second = path("killed/tiny/fib-1-1.fashion.0");
  EXPECT_EQ(interrupted(command("killed", 3), second + "/state.pt", SIGKILL), 128 + SIGKILL);
  const auto saved = [&] { return mentions(read_file(second + ".log"), "--resume"); };
  for (int i = 0; i < 1000 && !saved(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(saved()) << read_file(second + ".log");
}

TEST_F(Reproduce, shows_its_runs_by_the_command_of_the_table) {
  write_file(path("recipes/ablations/table-heads.toml"),
             "title = \"Heads\"\nsection = \"Results\"\n"
             "command = [\"analyze\", \"diversity\", \"{runs}\", \"--images\", \"8\", \"--plot\", \"{out}.svg\"]\n"
             "[[rows]]\nlabel = \"2^n\"\nattention = \"powers-of-2\"\n");
  const std::string heads = "reproduce table-heads" + options("heads", 1);
  const Outcome plan = run_fib(heads + " --plan");
  EXPECT_TRUE(mentions(plan.out, "fib analyze diversity --run " + path("heads/tiny/powers-of-2.fashion.0")));
  const Outcome shown = run_fib(heads);
  ASSERT_EQ(shown.code, 0) << shown.err;
  EXPECT_TRUE(mentions(shown.out, "Head diversity in percent"));
  EXPECT_TRUE(mentions(read_file(path("heads/table-heads.tiny.txt")), "Head diversity in percent"));
  EXPECT_TRUE(fs::exists(path("heads/table-heads.tiny.svg")));
}

TEST_F(Reproduce, lists_what_there_is) {
  const Outcome text = run_fib("reproduce --list");
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_TRUE(mentions(text.out, "table-sequences"));
  EXPECT_TRUE(mentions(text.out, "no training"));
  const json list = json::parse(run_fib("reproduce --list --json").out);
  EXPECT_GE(list.size(), 15U);
}

TEST_F(Reproduce, refuses_in_one_line) {
  expect_refusal(run_fib("reproduce"), 2, {"--list"});
  expect_refusal(run_fib("reproduce table-sequence"), 2, {"table-sequences"});
  write_file(path("recipes/ablations/table-short.toml"),
             "title = \"Short\"\nsection = \"S\"\n[recipes.tiny]\nfashion = \"ablation-tiny.toml\"\n"
             "[[rows]]\nlabel = \"Full\"\nattention = \"full\"\n");
  expect_refusal(run_fib("reproduce table-short --scale small" + options("short", 1)), 2,
                 {"no recipes for the scale small"});
  expect_refusal(run_fib("reproduce table-sequences --scale huge"), 2, {"huge"});
  expect_refusal(run_fib("reproduce table-sequences --set epochs"), 2, {"KEY=VALUE"});
  expect_refusal(run_fib("reproduce --list --recipes /nowhere"), 1, {"/nowhere"});
  expect_refusal(run_fib(command("failing", 1) + " --set data=fashion-mnist:/nowhere"), 1, {"failed", "/nowhere"});
}

}  // namespace
}  // namespace fib::test
