// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.h"
#include "data/loader.h"
#include "models/table.h"
#include "training/recipe/options.h"
#include "training/recipe/schedule.h"
#include "training/update.h"

namespace fib::training {
namespace {

constexpr Interval kPositive{.least = 0, .open_least = true};
constexpr Interval kNotNegative{.least = 0};
// Counts have ends too: what does not fit where it is used would be cut there and give another run than the recipe
// says.
constexpr double kMost = 2147483647;
constexpr Interval kCount{.least = 1, .most = kMost};
constexpr Interval kCountOrNone{.least = 0, .most = kMost};
constexpr Interval kEpochs{.least = 1, .most = 1000000};  // whose steps can be counted
constexpr Interval kSide{.least = 0, .most = 16384};      // as in what weights tell of themselves, src/models/card.cpp
constexpr Interval kFrames{.least = 0, .most = 4096};     // likewise
constexpr Interval kSamplingRate{.least = 1, .most = 4096};  // likewise
constexpr Interval kThreads{.least = 0, .most = 1024};       // as --threads
constexpr Interval kWorkers{.least = 0, .most = kMaxWorkers};
constexpr Interval kPrefetch{.least = 1, .most = 1024};
constexpr Interval kShare{.least = 0, .most = 1};
constexpr Interval kRate{.least = 0, .most = 1, .open_most = true};

std::vector<Option> model_options() {
  return {
      {"model", "model", &Recipe::model, "a name that `fib models` lists"},
      {"model", "attention", &Recipe::attention, "NAME or NAME:key=value,… as `fib attentions` lists them"},
      {"model",
       "attention_in",
       &Recipe::attention_in,
       "of models for clips: within frames, over time, both, or over all patches of all frames at once",
       {},
       models::attention_in_names()},
      {"model", "attention_layers", &Recipe::attention_layers,
       "that take it, counted from 0, such as 0-5,9; the others are dense; empty: all"},
      {"model", "resolution", &Recipe::resolution, "side of the images in pixels; 0: the model's own", kSide},
      {"model", "patch", &Recipe::patch, "side of a patch in pixels; 0: the model's own", kSide},
      {"model", "frames", &Recipe::frames, "of a clip; 0: the model's own", kFrames},
      {"model", "pool", &Recipe::pool, "what the classifier sees", {}, {"token", "mean"}},
      {"model", "dropout", &Recipe::dropout, "after embeddings, projections and in the MLP", kRate},
      {"model", "attention_dropout", &Recipe::attention_dropout, "of attention weights", kRate},
      {"model", "drop_path", &Recipe::drop_path, "of the last block's branches; earlier ones grow from 0", kRate},
      {"model", "weights", &Recipe::weights, "safetensors file to start from; empty: random weights"},
  };
}

std::vector<Option> data_options() {
  return {
      {"data", "data", &Recipe::data, "KIND or KIND:PATH as `fib datasets` lists them"},
      {"data", "validation_fraction", &Recipe::validation_fraction,
       "of the training set, held out to choose the best weights", kRate},
      {"data",
       "train_fraction",
       &Recipe::train_fraction,
       "of what is left, used for training",
       {.least = 0, .most = 1, .open_least = true}},
      {"data", "limit_per_class", &Recipe::limit_per_class, "most training images of a class; 0: no limit",
       kCountOrNone},
      {"data", "split_seed", &Recipe::split_seed, "which images are held out", kNotNegative},
      {"data", "sampling_rate", &Recipe::sampling_rate,
       "thirtieths of a second from one frame of a clip to the next that is seen", kSamplingRate},
      {"data", "workers", &Recipe::workers, "threads that prepare images; 0: half of the cores", kWorkers, {}, false},
      {"data", "prefetch", &Recipe::prefetch, "batches prepared ahead", kPrefetch, {}, false},
      {"data", "skip_bad", &Recipe::skip_bad, "put another image in place of an unreadable one instead of stopping"},
  };
}

std::vector<Option> augment_options() {
  return {
      {"augment",
       "crop",
       &Recipe::crop,
       "random resized crop, random shift, random place after a random resize (clips), or the whole image",
       {},
       {"resized", "padded", "jittered", "none"}},
      {"augment",
       "crop_scale",
       &Recipe::crop_scale,
       "area of a resized crop",
       {.least = 0, .most = 1, .open_least = true}},
      {"augment", "crop_ratio", &Recipe::crop_ratio, "width over height of a resized crop", kPositive},
      {"augment", "crop_padding", &Recipe::crop_padding, "pixels that a padded crop shifts by at most", kSide},
      {"augment",
       "crop_sides",
       &Recipe::crop_sides,
       "shorter side, in pixels, that a jittered crop is cut from",
       {.least = 1, .most = kSide.most}},
      {"augment", "flip", &Recipe::flip, "probability of a horizontal flip", kShare},
      {"augment", "color_jitter", &Recipe::color_jitter,
       "of brightness, contrast, saturation; unused with rand_augment", kNotNegative},
      {"augment", "rand_augment", &Recipe::rand_augment, "such as rand-m15-n2-mstd1.0-inc1; empty: none"},
      {"augment", "random_erasing", &Recipe::random_erasing, "probability of a box of noise", kShare},
      {"augment", "repeated_augmentation", &Recipe::repeated_augmentation,
       "times in a row that an image is seen, augmented anew; an epoch has as many fewer images", kCount},
      {"augment", "mixup", &Recipe::mixup, "alpha of mixup; 0: off", kNotNegative},
      {"augment", "cutmix", &Recipe::cutmix, "alpha of cutmix; 0: off", kNotNegative},
      {"augment", "mix_probability", &Recipe::mix_probability, "that a batch is mixed at all", kShare},
      {"augment", "mix_switch", &Recipe::mix_switch, "probability of cutmix where both are on", kShare},
      {"augment",
       "eval_crop",
       &Recipe::eval_crop,
       "share of the side that evaluation sees",
       {.least = 0, .most = 1, .open_least = true}},
      {"augment",
       "eval_crops",
       &Recipe::eval_crops,
       "squares along the longer side whose scores are averaged: 1 or 3",
       {.least = 1, .most = 3}},
  };
}

std::vector<Option> optimizer_options() {
  return {
      {"optimizer",
       "optimizer",
       &Recipe::optimizer,
       "AdamW, or gradient descent with Nesterov's momentum",
       {},
       names_of(optimizers(), &OptimizerRow::name)},
      {"optimizer", "batch", &Recipe::batch, "images of one step, over all processes", kCount},
      {"optimizer", "accumulate", &Recipe::accumulate, "parts that a step's batch is computed in", kCount},
      {"optimizer", "lr", &Recipe::lr, "learning rate at the top of the schedule", kPositive},
      {"optimizer", "lr_batch", &Recipe::lr_batch, "batch that lr is meant for, others scale it; 0: lr as it is",
       kCountOrNone},
      {"optimizer", "weight_decay", &Recipe::weight_decay, "how strongly parameters decay", kNotNegative},
      {"optimizer",
       "decay_on",
       &Recipe::decay_on,
       "what decays: all parameters, or all but biases, norms and embeddings as timm does it",
       {},
       {"weights", "all"}},
      {"optimizer", "beta1", &Recipe::beta1, "memory of AdamW's mean", kRate},
      {"optimizer", "beta2", &Recipe::beta2, "memory of AdamW's square", kRate},
      {"optimizer", "eps", &Recipe::eps, "of AdamW's denominator", kPositive},
      {"optimizer", "momentum", &Recipe::momentum, "of SGD; 0: plain gradient descent", kRate},
      {"optimizer", "clip", &Recipe::clip, "largest norm of the gradient; 0: no limit", kNotNegative},
      {"optimizer",
       "layer_decay",
       &Recipe::layer_decay,
       "factor of the learning rate from a block to the one before",
       {.least = 0, .most = 1, .open_least = true}},
      {"optimizer", "smoothing", &Recipe::smoothing, "of labels", kRate},
  };
}

std::vector<Option> schedule_options() {
  return {
      {"schedule", "epochs", &Recipe::epochs, "times that every training image is seen", kEpochs},
      {"schedule",
       "schedule",
       &Recipe::schedule,
       "how the learning rate falls: a cosine by epoch or by step, or at milestones",
       {},
       schedule_names()},
      {"schedule", "warmup_epochs", &Recipe::warmup_epochs, "epochs of linear growth; 0: none", kNotNegative},
      {"schedule", "warmup_lr", &Recipe::warmup_lr, "learning rate it grows from", kNotNegative},
      {"schedule", "min_lr", &Recipe::min_lr, "learning rate at the end of the cosine", kNotNegative},
      {"schedule", "milestones", &Recipe::milestones, "epochs at which it is multiplied by gamma", kNotNegative},
      {"schedule", "gamma", &Recipe::gamma, "factor of the learning rate at a milestone", kPositive},
      {"ema", "ema", &Recipe::ema, "largest decay of the averaged weights; 0: none are kept", kRate},
      {"ema",
       "ema_rule",
       &Recipe::ema_rule,
       "after n steps at most (1 + n) / (10 + n), at most 1 - (n - 1)^-power, or always ema",
       {},
       average_names()},
      {"ema", "ema_power", &Recipe::ema_power, "of ema_rule power", kPositive},
  };
}

std::vector<Option> prune_options() {
  return {
      {"prune", "prune_ratio", &Recipe::prune_ratio,
       "share of the parameters in attention and MLPs that fib prune removes; 0: none", kRate},
      {"prune", "prune_interval", &Recipe::prune_interval, "steps between two updates of the masks", kCount},
      {"prune", "prune_attention_penalty", &Recipe::prune_attention_penalty, "of the masks of attention, in the loss",
       kNotNegative},
      {"prune", "prune_mlp_penalty", &Recipe::prune_mlp_penalty, "of the masks of MLPs, in the loss", kNotNegative},
  };
}

std::vector<Option> adapt_options() {
  return {
      {"adapt", "adapt_fade", &Recipe::adapt_fade,
       "share of the steps in which the pairs that fib adapt leaves out fade; in all others they are gone", kShare},
      {"adapt", "adapt_temperature", &Recipe::adapt_temperature,
       "that the logits of both models are divided by where they are compared", kPositive},
      {"adapt", "adapt_features", &Recipe::adapt_features,
       "weight of the difference of the blocks' outputs in the loss", kNotNegative},
  };
}

std::vector<Option> run_options() {
  return {
      {"run", "task", &Recipe::task, "what is learned and how it is judged"},
      {"run", "seed", &Recipe::seed, "of initial weights, order, augmentation and dropout", kNotNegative},
      {"run",
       "threads",
       &Recipe::threads,
       "of each process; 0: the cores divided among the processes",
       kThreads,
       {},
       false},
      {"run", "eval_every", &Recipe::eval_every, "epochs between evaluations", kCount},
      {"run",
       "eval_batch",
       &Recipe::eval_batch,
       "images of one step of evaluation; 0: as in training",
       kCountOrNone,
       {},
       false},
      {"run", "eval_images", &Recipe::eval_images,
       "most images of an evaluation, spread evenly over validation and test set; 0: all", kCountOrNone},
      {"run",
       "checkpoint_every",
       &Recipe::checkpoint_every,
       "steps between checkpoints; 0: after every epoch",
       kCountOrNone,
       {},
       false},
      {"run", "log_every", &Recipe::log_every, "steps between lines of metrics.jsonl", kCount, {}, false},
  };
}

std::vector<Option> joined() {
  std::vector<Option> all;
  for (auto* part : {model_options, data_options, augment_options, optimizer_options, schedule_options, prune_options,
                     adapt_options, run_options})
    for (Option& option : part()) all.push_back(std::move(option));
  return all;
}

}  // namespace

const std::vector<Option>& options() {
  static const std::vector<Option> table = joined();
  return table;
}

}  // namespace fib::training
