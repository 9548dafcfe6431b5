// SPDX-License-Identifier: Apache-2.0
// fib adapt from the outside: a dense model becomes a sparse one that all commands run, also after an interruption.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "background.h"
#include "cli/run_fib.h"
#include "files.h"
#include "tiny_mnist.h"

namespace {

using fib::test::mentions;

class Adapt : public testing::Test {
 protected:
  void SetUp() override {
    fib::test::write_tiny_mnist(directory_ / "data");
    const Outcome trained =
        run_fib("train --quiet --model vit_nano_patch2_28 --attention full --data mnist:" + path("data") +
                " --validation-fraction 0.2 --batch 16 --epochs 1 --ema 0 --out " + path("dense"));
    ASSERT_EQ(trained.code, 0) << trained.err;
  }

  std::string path(const std::string& name) const { return directory_ / name; }
  /// Eight steps of sixteen images, from the dense weights; an option is given once.
  std::string arguments(const std::string& name, const std::string& more) const {
    std::string all =
        "adapt --quiet --json --validation-fraction 0.2 --batch 16 --workers 1 --log-every 1 --data mnist:" +
        path("data") + " --out " + path(name) + " " + more;
    for (const std::string& usual : {std::string("--model vit_nano_patch2_28"), std::string("--epochs 2"),
                                     "--weights " + path("dense/best.safetensors")})
      if (!mentions(more, usual.substr(0, usual.find(' ')))) all += " " + usual;
    return all;
  }
  Outcome adapt(const std::string& name, const std::string& more) const { return run_fib(arguments(name, more)); }

  fib::test::TemporaryDirectory directory_;
};

TEST_F(Adapt, leaves_a_mixture_of_layers_that_other_commands_run) {
  const Outcome adapted = adapt("some", "--attention fibottention --attention-layers 1-2");
  ASSERT_EQ(adapted.code, 0) << adapted.err;
  const auto result = nlohmann::json::parse(adapted.out);
  EXPECT_EQ(result.at("sparse_layers"), 2);
  EXPECT_EQ(result.at("layers"), 3);
  EXPECT_EQ(result.at("dense").at("agreement"), 1);
  EXPECT_EQ(result.at("images"), 30);

  const auto tested = [&](const std::string& more) {
    const Outcome outcome = run_fib("eval --json " + more);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out).at("loss").get<double>();
  };
  const double loss = result.at("after").at("loss");
  EXPECT_NEAR(tested("--run " + path("some")), loss, 1e-6);
  const std::string on_its_own = "--weights " + path("some/best.safetensors") + " --data mnist:" + path("data") + " ";
  EXPECT_NEAR(tested(on_its_own), loss, 1e-6) << "the weights say which layers are sparse";
  EXPECT_GT(std::abs(tested(on_its_own + "--attention-layers 0-2") - loss), 1e-6);
  ASSERT_EQ(run_fib("compile --run " + path("some") + " -o " + path("some.fib")).code, 0);
  EXPECT_NEAR(tested("--engine " + path("some.fib") + " --data mnist:" + path("data")), loss, 1e-4);
}

TEST_F(Adapt, resumed_ends_with_the_same_bits) {
  ASSERT_EQ(adapt("whole", "--checkpoint-every 1").code, 0);
  const pid_t child = fib::test::start(arguments("cut", "--checkpoint-every 1"));
  fib::test::wait_for_lines(path("cut/metrics.jsonl"), 3);
  ::kill(child, SIGKILL);
  fib::test::wait_for(child);
  const Outcome resumed = run_fib("adapt --quiet --json --resume --out " + path("cut"));
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(read_file(path("whole/model.safetensors")), read_file(path("cut/model.safetensors")));
  EXPECT_EQ(read_file(path("whole/adaptation.json")), read_file(path("cut/adaptation.json")));
}

TEST_F(Adapt, resumed_in_any_stage_ends_with_the_same_bits) {
  const std::string stages =
      "--adapt-fade-fraction 0 --adapt-ridge 32 --adapt-branch-epochs 1 --mixup 0.8 --ema 0.9 --checkpoint-every 1";
  ASSERT_EQ(adapt("whole", stages).code, 0);
  for (const int lines : {2, 6}) {
    const std::string name = "cut" + std::to_string(lines);
    const pid_t child = fib::test::start(arguments(name, stages));
    fib::test::wait_for_lines(path(name + "/metrics.jsonl"), lines);
    ::kill(child, SIGKILL);
    fib::test::wait_for(child);
    ASSERT_EQ(run_fib("adapt --quiet --json --resume --out " + path(name)).code, 0);
    EXPECT_EQ(read_file(path("whole/model.safetensors")), read_file(path(name + "/model.safetensors"))) << lines;
    EXPECT_EQ(read_file(path("whole/adaptation.json")), read_file(path(name + "/adaptation.json"))) << lines;
  }
}

TEST_F(Adapt, tells_what_the_fitted_projections_have_gained) {
  std::string loud = arguments("told", "--adapt-fade-fraction 0 --adapt-ridge 32 --epochs 1");
  loud.erase(loud.find("--quiet "), 8);
  const Outcome adapted = run_fib(loud);
  ASSERT_EQ(adapted.code, 0) << adapted.err;
  EXPECT_TRUE(mentions(adapted.err, "the dense weights with sparse attention: top-1 "));
  EXPECT_TRUE(mentions(adapted.err, "after fitting the projections: top-1 "));
}

TEST_F(Adapt, takes_offsets_that_were_measured_on_the_dense_model) {
  const std::string dense = "--model vit_nano_patch2_28 --weights " + path("dense/best.safetensors") +
                            " --data mnist:" + path("data") + " --images 20";
  const Outcome fit = run_fib("fit --quiet --json --keep 10% " + dense + " -o " + path("measured.offsets"));
  ASSERT_EQ(fit.code, 0) << fit.err;
  const auto told = nlohmann::json::parse(fit.out);
  EXPECT_EQ(told.at("images"), 20);
  for (const auto& row : told.at("rows")) EXPECT_LE(row.at("pairs").get<double>(), 0.1) << row;
  EXPECT_GE(told.at("rows")[0].at("attention").get<double>(), told.at("rows")[1].at("attention").get<double>())
      << "free offsets keep at least what a window keeps";

  const Outcome adapted = adapt("measured", "--epochs 1 --attention offsets:" + path("measured.offsets"));
  ASSERT_EQ(adapted.code, 0) << adapted.err;
  const auto pruned = nlohmann::json::parse(adapted.out).at("pruned_share").get<double>();
  EXPECT_NEAR(1 - pruned, told.at("rows")[0].at("pairs").get<double>(), 1e-9);
  EXPECT_EQ(run_fib("eval --run " + path("measured")).code, 0) << "the weights say where their offsets are";
}

TEST_F(Adapt, chooses_the_attention_of_each_layer) {
  const std::string choose = "--adapt-fade-fraction 0 --epochs 1 --choice-images 12 ";
  const Outcome adapted = adapt("chosen", choose + "--keep-accuracy 0.05");
  ASSERT_EQ(adapted.code, 0) << adapted.err;
  const auto result = nlohmann::json::parse(adapted.out);
  EXPECT_EQ(result.at("attention"), "offsets:file=" + path("chosen/attention.offsets"));
  const auto choice = nlohmann::json::parse(read_file(path("chosen/attention.json")));
  EXPECT_EQ(choice.at("images"), 12);
  EXPECT_EQ(choice.at("candidates").size(), 6U);
  int chosen = 0;
  for (const auto& point : choice.at("curve")) {
    EXPECT_GT(point.at("ms"), 0);
    if (!point.at("chosen").get<bool>()) continue;
    ++chosen;
    EXPECT_NEAR(1 - result.at("pruned_share").get<double>(), point.at("pairs").get<double>(), 1e-9);
  }
  EXPECT_EQ(chosen, 1);
  EXPECT_EQ(run_fib("eval --run " + path("chosen")).code, 0);

  const std::pair<std::string, std::string> cases[] = {
      {"--keep-accuracy 0.5 --speedup 2", "--speedup"},
      {"--keep-accuracy 2", "--keep-accuracy"},
      {"--keep-accuracy 0.5 --attention fibottention:grid=3", "without grid"}};
  for (const auto& [more, part] : cases) {
    const Outcome refused = adapt("bad", choose + more);
    EXPECT_NE(refused.code, 0) << more;
    EXPECT_TRUE(mentions(refused.err, part)) << more << ": " << refused.err;
    EXPECT_FALSE(std::filesystem::exists(path("bad"))) << more;
  }
  EXPECT_TRUE(mentions(adapt("chosen", choose + "--keep-accuracy 0.5").err, "begin a new run"));
}

TEST_F(Adapt, fit_refuses_in_one_line) {
  const std::string dense = "--model vit_nano_patch2_28 --weights " + path("dense/best.safetensors") +
                            " --data mnist:" + path("data") + " --images 2 -o " + path("bad.offsets") + " ";
  const std::pair<std::string, std::string> cases[] = {{"--keep 0", "--keep must be a share"},
                                                       {"--keep 120%", "'120%'"},
                                                       {"--shape round", "free"},
                                                       {"--attention fibottention", "leaves pairs out"}};
  for (const auto& [more, part] : cases) {
    const Outcome refused = run_fib("fit --quiet " + dense + more);
    EXPECT_NE(refused.code, 0) << more;
    EXPECT_TRUE(mentions(refused.err, part)) << more << ": " << refused.err;
    EXPECT_FALSE(std::filesystem::exists(path("bad.offsets"))) << more;
  }
}

TEST_F(Adapt, refuses_what_cannot_be_adapted_in_one_line) {
  ASSERT_EQ(adapt("sparse", "--epochs 1").code, 0);
  const std::pair<std::string, std::string> cases[] = {
      {"--attention fibotention", "did you mean 'fibottention'"},
      {"--attention full", "leaves no pair out"},
      {"--attention topk", "by their positions"},
      {"--attention fibottention:masking=zero", "masking=zero"},
      {"--attention-layers 2-3", "has attention in layers 0 to 2, got 3"},
      {"--attention-layers x", "'x'"},
      {"--model vit_micro_patch2_28", "do not fit"},
      {"--weights ''", "--weights"},
      {"--weights " + path("sparse/best.safetensors"), "fibottention"},
      {"--task classification", "fib train"}};
  for (const auto& [more, part] : cases) {
    const Outcome refused = adapt("bad", more);
    EXPECT_NE(refused.code, 0) << more;
    EXPECT_TRUE(mentions(refused.err, part)) << more;
    EXPECT_EQ(std::count(refused.err.begin(), refused.err.end(), '\n'), 1) << refused.err;
    EXPECT_FALSE(std::filesystem::exists(path("bad"))) << more;
  }
}

}  // namespace
