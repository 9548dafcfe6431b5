// SPDX-License-Identifier: Apache-2.0
// Clips from video files through the program: trained on, judged, classified, looked at.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/run_fib.h"
#include "data/write_clip.h"
#include "files.h"

namespace fib::test {
namespace {

using nlohmann::json;

/// Two classes that differ in how fast they get lighter.
class Video : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryDirectory();
    for (const char* name : {"slow", "fast"}) {
      std::filesystem::create_directories(clips() / name);
      for (int i = 0; i < 5; ++i)
        write_clip(clips() / name / (std::to_string(i) + ".mp4"), {.frames = *name == 's' ? 24 : 12 + i});
    }
    trained_ = new Outcome(run_fib("train " + options() + " --out " + run().string()));
  }
  static void TearDownTestSuite() {
    delete trained_;
    delete folder_;
  }

  static std::filesystem::path clips() { return *folder_ / "clips"; }
  static std::filesystem::path run() { return *folder_ / "run"; }
  static std::string options() {
    return "--quiet --model mini_timesformer --attention fibottention:wmin=1,wmax=N --resolution 32 --frames 2 "
           "--sampling-rate 4 --crop jittered --crop-sides 32,36 --eval-crops 3 --optimizer sgd --lr 0.01 --epochs 1 "
           "--batch 4 --warmup-epochs 0 --validation-fraction 0 --ema 0 --data clips:" +
           clips().string();
  }

  static TemporaryDirectory* folder_;
  static Outcome* trained_;
};
TemporaryDirectory* Video::folder_ = nullptr;
Outcome* Video::trained_ = nullptr;

TEST_F(Video, is_trained_on_and_judged_by_three_squares) {
  ASSERT_EQ(trained_->code, 0) << trained_->err;
  const Outcome outcome = run_fib("eval --json --run " + run().string());
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json result = json::parse(outcome.out);
  EXPECT_EQ(result["images"], 2);
  const json summary = json::parse(read_file(run() / "summary.json"));
  EXPECT_TRUE(mentions(summary.dump(), "\"clips\""));
}

TEST_F(Video, is_classified_by_weights_that_tell_how_they_see_it) {
  ASSERT_EQ(trained_->code, 0) << trained_->err;
  const std::string clip = (clips() / "slow" / "0.mp4").string(), weights = (run() / "model.safetensors").string();
  const Outcome by_run = run_fib("classify --json --run " + run().string() + " " + clip);
  ASSERT_EQ(by_run.code, 0) << by_run.err;
  const json top = json::parse(by_run.out)[0]["top"];
  ASSERT_EQ(top.size(), 2U);
  EXPECT_TRUE(top[0]["label"] == "slow" || top[0]["label"] == "fast");
  EXPECT_EQ(run_fib("classify --json --weights " + weights + " " + clip).out, by_run.out);

  write_file(*folder_ / "half.mp4", read_file(clip).substr(0, 600));
  const Outcome broken = run_fib("classify --run " + run().string() + " " + (*folder_ / "half.mp4").string());
  EXPECT_EQ(broken.code, 1);
  EXPECT_TRUE(mentions(broken.err, "cannot read clip"));
}

TEST_F(Video, is_classified_and_judged_by_a_compiled_model_as_by_its_weights) {
  ASSERT_EQ(trained_->code, 0) << trained_->err;
  const std::string file = (*folder_ / "clips.fib").string(), clip = (clips() / "slow" / "0.mp4").string();
  const Outcome compiled = run_fib("compile --quiet --run " + run().string() + " -o " + file);
  ASSERT_EQ(compiled.code, 0) << compiled.err;
  const auto top_of = [&](const std::string& subject) {
    const Outcome outcome = run_fib("classify --json " + subject + " " + clip);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return json::parse(outcome.out)[0]["top"];
  };
  const json by_engine = top_of("--engine " + file), by_run = top_of("--run " + run().string());
  ASSERT_EQ(by_engine.size(), by_run.size());
  for (size_t i = 0; i < by_run.size(); ++i) {
    EXPECT_EQ(by_engine[i]["label"], by_run[i]["label"]);
    EXPECT_NEAR(by_engine[i]["logit"], by_run[i]["logit"], 1e-4);
  }
  const std::string data = " --data clips:" + clips().string();
  const Outcome judged = run_fib("eval --json --engine " + file + data);
  ASSERT_EQ(judged.code, 0) << judged.err;
  EXPECT_NEAR(json::parse(judged.out)["loss"], json::parse(run_fib("eval --json --run " + run().string()).out)["loss"],
              1e-4);
  const Outcome images = run_fib("eval --engine " + file + " --data fashion-mnist");
  EXPECT_EQ(images.code, 2);
  EXPECT_TRUE(mentions(images.err, "mini_timesformer takes clips, fashion-mnist has images")) << images.err;
}

TEST_F(Video, has_attention_maps_and_a_page_with_strips_of_frames) {
  ASSERT_EQ(trained_->code, 0) << trained_->err;
  const std::string svg = (*folder_ / "maps.svg").string(), page = (*folder_ / "report.html").string();
  const Outcome maps = run_fib("analyze attention-maps --json --out " + svg + " --run " + run().string());
  ASSERT_EQ(maps.code, 0) << maps.err;
  const json row = json::parse(maps.out)["rows"][0];
  EXPECT_EQ(row["layers"].size(), 2U);                 // those of attention over time are passed by
  EXPECT_EQ(row["rollout"].size(), 2U * 4 * 4);        // two frames of 4 x 4 patches
  EXPECT_EQ(row["layers"][0]["from_cls"].size(), 3U);  // heads
  const Outcome report = run_fib("report --quiet " + run().string() + " -o " + page);
  ASSERT_EQ(report.code, 0) << report.err;
  EXPECT_TRUE(mentions(read_file(page), "width=\"256\" height=\"128\""));
}

TEST_F(Video, is_refused_where_images_belong_and_the_other_way_round) {
  const Outcome images =
      run_fib("train --model mini_timesformer --data fashion-mnist --out " + (*folder_ / "no").string());
  EXPECT_NE(images.code, 0);
  EXPECT_TRUE(mentions(images.err, "mini_timesformer takes clips, fashion-mnist has images"));
  const Outcome clip =
      run_fib("train --model mini_vit --data clips:" + clips().string() + " --out " + (*folder_ / "no").string());
  EXPECT_NE(clip.code, 0);
  EXPECT_TRUE(mentions(clip.err, "mini_vit takes images, clips has clips"));
}

TEST(VideoCost, is_counted_wherever_attention_is) {
  const auto total = [](const std::string& options) {
    const Outcome outcome = run_fib("flops --json --model timesformer_base_patch16_224 " + options);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return json::parse(outcome.out)["rows"][0]["gmacs"]["total"].get<double>();
  };
  const double spatial = total("--attention full"), joint = total("--attention full --attention-in joint");
  EXPECT_NEAR(spatial, 196, 2);  // the published 196 GFLOPs for 8 frames
  EXPECT_LT(joint, spatial);     // no second attention, no temporal_fc
  EXPECT_LT(total("--attention fibottention:wmin=1,wmax=N --attention-in joint"), joint);
  EXPECT_NEAR(total("--attention full --frames 16"), 2 * spatial, 8);
}

}  // namespace
}  // namespace fib::test
