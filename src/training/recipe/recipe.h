// SPDX-License-Identifier: Apache-2.0
// Everything that decides what a training run computes, as groups of plain values. A group is a section of a TOML file;
// what its options mean and accept stands in its list of rows.
#pragma once

#include <cstdint>
#include <string>

#include "training/optimizer_kernels.h"
#include "training/option_row.h"
#include "training/recipe/adaptation.h"
#include "training/recipe/pruning.h"
#include "training/recipe/schedule.h"

namespace fib::training {

struct ModelSettings {
  std::string name = "vit_micro_patch2_28";
  std::string attention = "fibottention";
  std::string attention_in = "spatial";
  std::string attention_layers;
  std::string tokens;
  int64_t resolution = 0;
  int64_t patch = 0;
  int64_t frames = 0;
  std::string pool = "token";
  double dropout = 0;
  double attention_dropout = 0;
  double drop_path = 0;
  std::string weights;
  std::string freeze;

  static OptionRows<ModelSettings> rows();
  friend bool operator==(const ModelSettings&, const ModelSettings&) = default;
};

struct DataSettings {
  std::string source = "fashion-mnist";
  double validation_fraction = 0.1;
  double train_fraction = 1;
  int64_t limit_per_class = 0;
  int64_t split_seed = 0;
  int64_t sampling_rate = 32;
  int64_t workers = 0;
  int64_t prefetch = 4;
  bool skip_bad = false;

  static OptionRows<DataSettings> rows();
  friend bool operator==(const DataSettings&, const DataSettings&) = default;
};

struct AugmentSettings {
  std::string crop = "none";
  Span crop_scale = {0.08, 1};
  Span crop_ratio = {0.67, 1.5};
  int64_t crop_padding = 4;
  Span crop_sides = {256, 320};
  double flip = 0.5;
  double color_jitter = 0;
  std::string rand_augment;
  double random_erasing = 0;
  int64_t repeated_augmentation = 1;
  double mixup = 0;
  double cutmix = 0;
  double mixup_prob = 1;
  double mixup_switch_prob = 0.5;
  double eval_crop = 1;
  int64_t eval_crops = 1;

  static OptionRows<AugmentSettings> rows();
  friend bool operator==(const AugmentSettings&, const AugmentSettings&) = default;
};

struct RunSettings {
  std::string task = "classification";
  int64_t seed = 0;
  int64_t threads = 0;
  std::string precision = "f32";
  int64_t eval_every = 1;
  int64_t eval_batch = 0;
  int64_t eval_images = 0;
  int64_t checkpoint_every = 0;
  int64_t log_every = 10;

  static OptionRows<RunSettings> rows();
  friend bool operator==(const RunSettings&, const RunSettings&) = default;
};

struct Recipe {
  ModelSettings model;
  DataSettings data;
  AugmentSettings augment;
  OptimizerSettings optimizer;
  ScheduleSettings schedule;
  AverageSettings ema;
  PruningSettings prune;
  AdaptationSettings adapt;
  RunSettings run;

  friend bool operator==(const Recipe&, const Recipe&) = default;
};

}  // namespace fib::training
