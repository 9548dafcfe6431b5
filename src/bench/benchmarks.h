// SPDX-License-Identifier: Apache-2.0
// What the benchmarks can be asked for, and that of compiled models. It needs no torch, so that a command line can be
// read without it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "engine/limits.h"
#include "fibottention/pattern.h"
#include "models/table.h"

namespace fib::bench {

struct AttentionBenchOptions {
  AttentionSpec attention{"fibottention", {}};
  std::vector<int64_t> tokens = {196, 784, 4096};  ///< patch tokens
  int64_t batch = 1, heads = 12, dim = 64, cls = 1;
  bool backward = false;
  TimingOptions timing;
};

enum class ModelPass { forward, training };

struct ModelBenchOptions {
  std::string model = "vit_base_patch16_224";
  std::vector<int64_t> resolutions;       ///< the model's own when empty
  std::vector<AttentionSpec> attentions;  ///< compared with full, which always runs
  models::Options choice;                 ///< all else of the model
  std::vector<ModelPass> passes = {ModelPass::forward};
  std::vector<std::string> precisions = {"f32"};  ///< of training steps, as recipes name them; all take turns
  int64_t batch = 4;
  bool profile = false;                   ///< where the time of a training step, or of a compiled model, goes, too
  TimingOptions timing{.seconds = 10.0};  ///< of one resolution and pass
};

/// As it is reported: "forward" or "training step".
const char* to_string(ModelPass pass);

struct KindTime {
  std::string kind;
  double forward_ms = 0.0, backward_ms = 0.0;
};

/// Where the time of a training step goes: by kind of layer, forward and backward.
struct StepProfile {
  std::vector<KindTime> kinds;  ///< those that took time, the loss among them
  double between_ms = 0.0;      ///< of the step's gradients, outside all operators
  double optimizer_ms = 0.0;    ///< clipping, update and average
  double total_ms() const;
};

/// A step of a compiled model, the shortest of some runs.
struct EngineStep {
  std::string kind;       ///< with what it takes along: "linear, layer norm, gelu"
  std::string shape;      ///< "197 x 768 -> 2304"
  std::string weights;    ///< their name in the file, of the first where there are several; empty: it has none
  std::string precision;  ///< of its products; empty: it has none
  double ms = 0.0;
  std::optional<double> gops = {};        ///< billions of its products' operations a second
  std::optional<double> peak_share = {};  ///< of what the processor can do between registers in this precision
};

/// What a model took, LibTorch's or a compiled one.
struct ModelBenchRow {
  std::string model, attention;
  std::optional<std::string> engine = {};  ///< the file of a compiled model; none: LibTorch
  std::string precision = "f32";
  int64_t resolution = 0;
  std::optional<int64_t> tokens = {};  ///< not known of a compiled model
  int64_t batch = 0;
  ModelPass pass = ModelPass::forward;
  std::optional<double> ms = {}, ms_median = {}, images_per_second = {};
  std::optional<double> speedup_over_full = {};  ///< none of a compiled model
  /// Parameters, activations and, in training, gradients, optimizer and average; of a compiled model what loading the
  /// file and running it once have added to the process.
  std::optional<double> peak_memory_mb = {};
  std::optional<engine::Requirements> needs = {};  ///< of a compiled model, for a sample; computed from its steps
  std::string reason = {};                         ///< why there is no time
  std::optional<StepProfile> profile = {};         ///< of a training step, where asked for
  std::vector<EngineStep> steps = {};              ///< of a compiled model, where asked for
};

/// Compiled models, each at each of its sizes, timed in turn in one run. Of the options, those that need no torch:
/// batch, timing and profile.
std::vector<ModelBenchRow> bench_engines(const std::vector<std::string>& files, const ModelBenchOptions& options,
                                         const engine::Limits& limits = {});

}  // namespace fib::bench
