// SPDX-License-Identifier: Apache-2.0
// Everything that decides what a training run computes, as plain values. What each one means, accepts and is called on
// the command line and in TOML stands once, in the table of options.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fib::training {

/// Two numbers, low <= high.
struct Span {
  double low = 0;
  double high = 1;
  friend bool operator==(const Span&, const Span&) = default;
};

struct Recipe {
  // model
  std::string model = "vit_micro_patch2_28";
  std::string attention = "fibottention";
  std::string attention_in = "spatial";
  std::string attention_layers;
  int64_t resolution = 0;
  int64_t patch = 0;
  int64_t frames = 0;
  std::string pool = "token";
  double dropout = 0;
  double attention_dropout = 0;
  double drop_path = 0;
  std::string weights;

  // data
  std::string data = "fashion-mnist";
  double validation_fraction = 0.1;
  double train_fraction = 1;
  int64_t limit_per_class = 0;
  int64_t split_seed = 0;
  int64_t sampling_rate = 32;
  int64_t workers = 0;
  int64_t prefetch = 4;
  bool skip_bad = false;

  // augment
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
  double mix_probability = 1;
  double mix_switch = 0.5;
  double eval_crop = 1;
  int64_t eval_crops = 1;

  // optimizer
  std::string optimizer = "adamw";
  int64_t batch = 64;
  int64_t accumulate = 1;
  double lr = 1e-3;
  int64_t lr_batch = 0;
  double weight_decay = 0.05;
  std::string decay_on = "weights";
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double momentum = 0.9;
  double clip = 1;
  double layer_decay = 1;
  double smoothing = 0.1;

  // schedule
  int64_t epochs = 10;
  std::string schedule = "step";
  double warmup_epochs = 1;
  double warmup_lr = 1e-6;
  double min_lr = 1e-5;
  std::vector<double> milestones;
  double gamma = 0.1;

  // ema
  double ema = 0.999;
  std::string ema_rule = "warmup";
  double ema_power = 0.75;

  // prune
  double prune_ratio = 0;
  int64_t prune_interval = 100;
  double prune_attention_penalty = 4.8e-3;
  double prune_mlp_penalty = 2e-4;

  // adapt
  double adapt_fade = 0.5;
  double adapt_temperature = 2;
  double adapt_features = 1;

  // run
  std::string task = "classification";
  int64_t seed = 0;
  int64_t threads = 0;
  int64_t eval_every = 1;
  int64_t eval_batch = 0;
  int64_t eval_images = 0;
  int64_t checkpoint_every = 0;
  int64_t log_every = 10;

  /// The learning rate at the top of the schedule.
  double peak_lr() const { return lr_batch > 0 ? lr * static_cast<double>(batch) / static_cast<double>(lr_batch) : lr; }

  friend bool operator==(const Recipe&, const Recipe&) = default;
};

/// The search of fib prune as its authors run it: a constant learning rate, no averages.
Recipe search_recipe();

/// What fib adapt begins with: small steps from weights that are good already, judged as they are.
Recipe adaptation_recipe();

}  // namespace fib::training
