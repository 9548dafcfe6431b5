// SPDX-License-Identifier: Apache-2.0
#include "training/recipe/recipe.h"

#include "data/loader.h"
#include "models/table.h"

namespace fib::training {
namespace {

constexpr Interval kFrames{.least = 0, .most = 4096};        // as in the metadata of weights, src/models/card.cpp
constexpr Interval kSamplingRate{.least = 1, .most = 4096};  // likewise
constexpr Interval kThreads{.least = 0, .most = 1024};       // as --threads
constexpr Interval kWorkers{.least = 0, .most = kMaxWorkers};
constexpr Interval kPrefetch{.least = 1, .most = 1024};

}  // namespace

OptionRows<ModelSettings> ModelSettings::rows() {
  using M = ModelSettings;
  return {
      {"model", &M::name, "a name that `fib models` lists"},
      {"attention", &M::attention, "NAME or NAME:key=value,… as `fib attentions` lists them"},
      {"attention_in",
       &M::attention_in,
       "of models for clips: within frames, over time, both, or over all patches of all frames at once",
       {},
       models::attention_in_names()},
      {"attention_layers", &M::attention_layers,
       "that take it, counted from 0, such as 0-5,9; the others are dense; empty: all"},
      {"tokens", &M::tokens,
       "fewer of them from block to block, of ViT and DeiT: tome:r=N or evit:keep=SHARE,at=BLOCK,…; empty: all"},
      {"resolution", &M::resolution, "side of the images in pixels; 0: the model's own", kSide},
      {"patch", &M::patch, "side of a patch in pixels; 0: the model's own", kSide},
      {"frames", &M::frames, "of a clip; 0: the model's own", kFrames},
      {"pool", &M::pool, "what the classifier sees", {}, {"token", "mean"}},
      {"dropout", &M::dropout, "after embeddings, projections and in the MLP", kRate},
      {"attention_dropout", &M::attention_dropout, "of attention weights", kRate},
      {"drop_path", &M::drop_path, "of the last block's branches; earlier ones grow from 0", kRate},
      {"weights", &M::weights, "safetensors file to start from; empty: random weights"},
  };
}

OptionRows<DataSettings> DataSettings::rows() {
  using D = DataSettings;
  return {
      {"data", &D::source, "KIND or KIND:PATH as `fib datasets` lists them"},
      {"validation_fraction", &D::validation_fraction, "of the training set, held out to choose the best weights",
       kRate},
      {"train_fraction", &D::train_fraction, "of what is left, used for training", kPositiveShare},
      {"limit_per_class", &D::limit_per_class, "most training images of a class; 0: no limit", kCountOrNone},
      {"split_seed", &D::split_seed, "which images are held out", kNotNegative},
      {"sampling_rate", &D::sampling_rate, "thirtieths of a second from one frame of a clip to the next that is seen",
       kSamplingRate},
      {"workers", &D::workers, "threads that prepare images; 0: half of the cores", kWorkers, {}, false},
      {"prefetch", &D::prefetch, "batches prepared ahead", kPrefetch, {}, false},
      {"skip_bad", &D::skip_bad, "put another image in place of an unreadable one instead of stopping"},
  };
}

OptionRows<AugmentSettings> AugmentSettings::rows() {
  using A = AugmentSettings;
  return {
      {"crop",
       &A::crop,
       "random resized crop, random shift, random place after a random resize (clips), or the whole image",
       {},
       {"resized", "padded", "jittered", "none"}},
      {"crop_scale", &A::crop_scale, "area of a resized crop", kPositiveShare},
      {"crop_ratio", &A::crop_ratio, "width over height of a resized crop", kPositive},
      {"crop_padding", &A::crop_padding, "pixels that a padded crop shifts by at most", kSide},
      {"crop_sides",
       &A::crop_sides,
       "shorter side, in pixels, that a jittered crop is cut from",
       {.least = 1, .most = kSide.most}},
      {"flip", &A::flip, "probability of a horizontal flip", kShare},
      {"color_jitter", &A::color_jitter, "of brightness, contrast, saturation; unused with rand_augment", kNotNegative},
      {"rand_augment", &A::rand_augment, "such as rand-m15-n2-mstd1.0-inc1; empty: none"},
      {"random_erasing", &A::random_erasing, "probability of a box of noise", kShare},
      {"repeated_augmentation", &A::repeated_augmentation,
       "times in a row that an image is seen, augmented anew; an epoch has as many fewer images", kCount},
      {"mixup", &A::mixup, "alpha of mixup; 0: off", kNotNegative},
      {"cutmix", &A::cutmix, "alpha of cutmix; 0: off", kNotNegative},
      {"mixup_prob", &A::mixup_prob, "that a batch is mixed at all", kShare},
      {"mixup_switch_prob", &A::mixup_switch_prob, "probability of cutmix where both are on", kShare},
      {"eval_crop", &A::eval_crop, "share of the side that evaluation sees", kPositiveShare},
      {"eval_crops",
       &A::eval_crops,
       "squares along the longer side whose scores are averaged: 1 or 3",
       {.least = 1, .most = 3}},
  };
}

OptionRows<RunSettings> RunSettings::rows() {
  using R = RunSettings;
  return {
      {"task", &R::task, "what is learned and how it is judged"},
      {"seed", &R::seed, "of initial weights, order, augmentation and dropout", kNotNegative},
      {"threads", &R::threads, "of each process; 0: the cores divided among the processes", kThreads, {}, false},
      {"precision",
       &R::precision,
       "of products while training; parameters, sums and evaluation stay in float32",
       {},
       {"f32", "bf16"}},
      {"eval_every", &R::eval_every, "epochs between evaluations", kCount},
      {"eval_batch", &R::eval_batch, "images of one step of evaluation; 0: as in training", kCountOrNone, {}, false},
      {"eval_images", &R::eval_images,
       "most images of an evaluation, spread evenly over validation and test set; 0: all", kCountOrNone},
      {"checkpoint_every",
       &R::checkpoint_every,
       "steps between checkpoints; 0: after every epoch",
       kCountOrNone,
       {},
       false},
      {"log_every", &R::log_every, "steps between lines of metrics.jsonl", kCount, {}, false},
  };
}

}  // namespace fib::training
