// SPDX-License-Identifier: Apache-2.0
// fib prune from the outside: a smaller model that all commands load, also after an interruption.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "background.h"
#include "cli/run_fib.h"
#include "files.h"
#include "tiny_mnist.h"

namespace {

using fib::test::mentions;

class Prune : public testing::Test {
 protected:
  void SetUp() override { fib::test::write_tiny_mnist(directory_ / "data"); }

  std::string path(const std::string& name) const { return directory_ / name; }
  /// Eight steps of sixteen images.
  std::string arguments(const std::string& name, const std::string& more) const {
    return "prune --quiet --json --model vit_nano_patch2_28 --data mnist:" + path("data") +
           " --validation-fraction 0.2 --batch 16 --epochs 2 --prune-interval 2 --workers 1 --log-every 1 --out " +
           path(name) + " " + more;
  }
  Outcome prune(const std::string& name, const std::string& more) const { return run_fib(arguments(name, more)); }

  fib::test::TemporaryDirectory directory_;
};

TEST_F(Prune, leaves_a_smaller_model_that_other_commands_load) {
  const Outcome pruned = prune("half", "--ratio 0.5 --attention fibottention");
  ASSERT_EQ(pruned.code, 0) << pruned.err;
  const auto json = nlohmann::json::parse(pruned.out);
  const int64_t left = json.at("pruned").at("parameters");
  EXPECT_LT(left, 95530 * 2 / 3);

  const std::string weights = " --weights " + path("half/pruned.safetensors");
  const Outcome tested =
      run_fib("eval --json --model vit_nano_patch2_28 --attention fibottention --data mnist:" + path("data") + weights +
              " --crop 28 --resize 28");
  ASSERT_EQ(tested.code, 0) << tested.err;
  EXPECT_NEAR(nlohmann::json::parse(tested.out).at("top1").get<double>(), json.at("pruned").at("top1").get<double>(),
              1e-9);

  const Outcome trained =
      run_fib("train --quiet --json --model vit_nano_patch2_28 --epochs 2 --batch 16 --data mnist:" + path("data") +
              weights + " --out " + path("again"));
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(nlohmann::json::parse(trained.out).at("parameters").get<int64_t>(), left);
  EXPECT_EQ(run_fib("eval --json --run " + path("again")).code, 0);

  const Outcome twice = prune("twice", "--ratio 0.5" + weights);
  EXPECT_EQ(twice.code, 2);
  EXPECT_TRUE(mentions(twice.err, "pruned already")) << twice.err;
}

TEST_F(Prune, resumed_ends_with_the_same_bits) {
  const std::string options = "--ratio 0.3 --checkpoint-every 1 --eval-images 8";
  const Outcome whole = prune("whole", options);
  ASSERT_EQ(whole.code, 0);
  EXPECT_EQ(nlohmann::json::parse(whole.out).at("pruned").at("images"), 8);
  const pid_t child = fib::test::start(arguments("cut", options));
  fib::test::wait_for_lines(path("cut/metrics.jsonl"), 3);
  ::kill(child, SIGKILL);
  fib::test::wait_for(child);
  const Outcome resumed = run_fib("prune --quiet --json --resume --out " + path("cut"));
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(read_file(path("whole/pruned.safetensors")), read_file(path("cut/pruned.safetensors")));
}

TEST_F(Prune, refuses_ratios_and_models_that_make_no_sense) {
  for (const char* ratio : {"0", "1", "1.5", "-0.5", "half"}) {
    const Outcome refused = prune("bad", std::string("--ratio ") + ratio);
    EXPECT_EQ(refused.code, 2) << ratio << refused.err;
    EXPECT_TRUE(mentions(refused.err, ratio)) << refused.err;
    EXPECT_EQ(std::count(refused.err.begin(), refused.err.end(), '\n'), 1) << refused.err;
  }
  const Outcome swin = prune("swin", "--ratio 0.5 --model swin_micro_patch2_window7_28");
  EXPECT_TRUE(mentions(swin.err, "--model")) << swin.err;
}

}  // namespace
