// SPDX-License-Identifier: Apache-2.0
// One self-contained HTML page about training runs: nothing is loaded, and one small script shows the keys of a patch.
// Numbers in, text out: models are evaluated elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fibottention/pattern.h"
#include "report/attention_drawing.h"
#include "report/plot.h"
#include "report/run_record.h"
#include "training/run/metrics.h"

namespace fib::report {

/// An image that was taken for something else, with certainty.
struct Mistake {
  std::string item;  ///< which image
  SquareImage image;
  int64_t truth = 0, predicted = 0;
  double probability = 0;  ///< that the model gave to its answer
};

/// Where a model looks in one of the sample images.
struct SampleMaps {
  std::vector<double> rollout, last_layer;  ///< over patches; empty where the mechanism has no maps
  int64_t predicted = 0;
  double probability = 0;
};

struct Sample {
  std::string item;
  SquareImage image;
  int64_t truth = 0;
};

/// An episode that a policy played, as frames side by side.
struct EpisodeStrip {
  std::string which;  ///< "best"
  uint32_t seed = 0;
  double score = 0;
  int64_t steps = 0;
  Pixels frames{};
};

/// What an encoder's patches look at in an image, the mean of all of them.
struct EncoderMap {
  SquareImage image;
  std::vector<double> first_layer, last_layer;  ///< over patches
};

/// How a policy played.
struct PlayedEpisodes {
  int64_t count = 0;
  double mean_score = 0, policy_ms = 0;
  std::string sampler;
  std::vector<EpisodeStrip> strips;
  std::vector<EncoderMap> maps;  ///< of frames of the median episode; empty where the mechanism has no maps
};

/// What a decoder of a text or a time series learned.
struct LearnedSequence {
  std::vector<training::Metric> figures;  ///< of its test
  std::string text = {};                  ///< that it writes
  std::optional<LinePlot> forecast = std::nullopt;
  std::string note = {};  ///< why there is none of both
};

struct PageRun {
  RunRecord record;
  double top5 = 0, gmacs = 0;
  int64_t parameters = 0, test_samples = 0;
  std::string config;                           ///< config.toml
  std::string directory;                        ///< as it was given
  std::optional<SupportSet> support;            ///< of the first layer, where the mechanism has one
  std::optional<Box> diversity;                 ///< in percent; none for a single head
  std::vector<std::vector<int64_t>> confusion;  ///< [truth][predicted]
  std::vector<Mistake> mistakes;
  std::vector<SampleMaps> maps;                            ///< one per sample
  std::optional<PlayedEpisodes> episodes = std::nullopt;   ///< of a policy
  std::optional<LearnedSequence> sequence = std::nullopt;  ///< of a decoder
};

struct Page {
  std::string title;
  std::string made_by;           ///< the command that makes it again
  std::string made_on, made_at;  ///< machine and time, "2026-11-17 03:41 UTC"
  std::string version;
  std::vector<std::string> class_names;
  int64_t diversity_images = 0;
  std::vector<Box> paper_diversity;
  std::vector<Sample> samples;
  std::vector<PageRun> runs;
};

std::string page_html(const Page& page);

}  // namespace fib::report
