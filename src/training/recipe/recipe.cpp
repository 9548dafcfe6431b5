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
      {"model", &M::name, "a name that `fib models` lists; with weights that say theirs, that one"},
      {"attention", &M::attention, "NAME or NAME:key=value,… as `fib attentions` lists them"},
      {"attention_in",
       &M::attention_in,
       "which attention of a model for clips is the one asked for: within frames, over time, both, or one over all "
       "patches "
       "of all frames",
       {},
       models::attention_in_names()},
      {"attention_layers", &M::attention_layers,
       "layers that take the attention, counted from 0, such as 0-5,9; the others are dense; by default all"},
      {"tokens", &M::tokens,
       "how ViT and DeiT drop tokens from block to block: tome:r=N or evit:keep=SHARE,at=BLOCK,…; by default they keep "
       "all"},
      {"resolution", &M::resolution, "side of the images in pixels; 0 is that of the weights, or the model's own",
       kSide},
      {"patch", &M::patch, "side of a patch in pixels; 0 is that of the weights, or the model's own", kSide},
      {"frames", &M::frames, "number of frames of a clip; 0 is the model's own", kFrames},
      {"pool",
       &M::pool,
       "what the classifier sees: the class token, or the mean of all tokens; with weights, as they say",
       {},
       {"token", "mean"}},
      {"dropout", &M::dropout, "probability of dropout after the embedding, after projections and in MLPs", kRate},
      {"attention_dropout", &M::attention_dropout, "probability of dropout of attention weights", kRate},
      {"drop_path", &M::drop_path,
       "probability of leaving out a branch of the last block; it grows to this from 0 in the first", kRate},
      {"weights", &M::weights, "safetensors file to begin with; without one weights are random"},
      {"freeze", &M::freeze,
       "which parameters keep the values of the weights: those of the embeddings and the first N blocks, or all but "
       "the classifier's; by default none"},
  };
}

OptionRows<DataSettings> DataSettings::rows() {
  using D = DataSettings;
  return {
      {"data", &D::source, "KIND or KIND:PATH as `fib datasets` lists them"},
      {"validation_fraction", &D::validation_fraction,
       "share of the training set that is held out to choose the best weights by", kRate},
      {"train_fraction", &D::train_fraction, "share of the remaining images that is trained on", kPositiveShare},
      {"limit_per_class", &D::limit_per_class, "largest number of training images of a class; 0 takes all",
       kCountOrNone},
      {"split_seed", &D::split_seed, "seed that decides which images are held out", kNotNegative},
      {"sampling_rate", &D::sampling_rate, "thirtieths of a second between two frames of a clip that the model sees",
       kSamplingRate},
      {"workers", &D::workers, "number of threads that prepare images; 0 is half of the cores", kWorkers, {}, false},
      {"prefetch", &D::prefetch, "number of batches that are prepared ahead", kPrefetch, {}, false},
      {"skip_bad", &D::skip_bad, "put another image in place of an unreadable one instead of stopping"},
  };
}

OptionRows<AugmentSettings> AugmentSettings::rows() {
  using A = AugmentSettings;
  return {
      {"crop",
       &A::crop,
       "what training sees of an image: a random part resized, a random shift, a random place after a random resize "
       "(for "
       "clips), or the whole",
       {},
       {"resized", "padded", "jittered", "none"}},
      {"crop_scale", &A::crop_scale, "area of a resized crop as a share of the image, from LOW to HIGH",
       kPositiveShare},
      {"crop_ratio", &A::crop_ratio, "width over height of a resized crop, from LOW to HIGH", kPositive},
      {"crop_padding", &A::crop_padding, "number of pixels that a padded crop shifts by at most", kSide},
      {"crop_sides",
       &A::crop_sides,
       "shorter side of the image, in pixels, that a jittered crop is cut from, from LOW to HIGH",
       {.least = 1, .most = kSide.most}},
      {"flip", &A::flip, "probability of a horizontal flip", kShare},
      {"color_jitter", &A::color_jitter,
       "how far brightness, contrast and saturation change at most; not used with rand_augment", kNotNegative},
      {"rand_augment", &A::rand_augment,
       "RandAugment as timm writes it, such as rand-m15-n2-mstd1.0-inc1; by default none"},
      {"random_erasing", &A::random_erasing, "probability that a box of the image is replaced by noise", kShare},
      {"repeated_augmentation", &A::repeated_augmentation,
       "how often in a row an image is seen, augmented anew each time; an epoch has as many fewer images", kCount},
      {"mixup", &A::mixup, "alpha of mixup; 0 turns it off", kNotNegative},
      {"cutmix", &A::cutmix, "alpha of cutmix; 0 turns it off", kNotNegative},
      {"mixup_prob", &A::mixup_prob, "probability that a batch is mixed at all", kShare},
      {"mixup_switch_prob", &A::mixup_switch_prob, "probability of cutmix where both are on", kShare},
      {"eval_crop", &A::eval_crop,
       "share of the image's shorter side that evaluation sees; with weights, or at 0, as they say", kShare},
      {"eval_crops",
       &A::eval_crops,
       "number of squares along the longer side whose scores evaluation averages: 1 or 3",
       {.least = 1, .most = 3}},
  };
}

OptionRows<RunSettings> RunSettings::rows() {
  using R = RunSettings;
  return {
      {"task", &R::task,
       "what is learned: classification, adaptation (fib adapt), text, series, or a robot's task: pusht, lift, can"},
      {"seed", &R::seed, "seed of initial weights, order of images, augmentation and dropout", kNotNegative},
      {"threads",
       &R::threads,
       "number of threads of each process; 0 divides the cores among the processes",
       kThreads,
       {},
       false},
      {"precision",
       &R::precision,
       "type of matrix products while training; parameters, sums and evaluation stay in float32",
       {},
       {"f32", "bf16"}},
      {"eval_every", &R::eval_every, "number of epochs from one evaluation to the next", kCount},
      {"eval_batch",
       &R::eval_batch,
       "number of images in one step of evaluation; 0 is as in training",
       kCountOrNone,
       {},
       false},
      {"eval_images", &R::eval_images,
       "largest number of images of an evaluation, spread evenly over the set; 0 takes all", kCountOrNone},
      {"checkpoint_every",
       &R::checkpoint_every,
       "number of steps from one checkpoint to the next; 0 saves after every epoch",
       kCountOrNone,
       {},
       false},
      {"log_every", &R::log_every, "number of steps from one line of metrics.jsonl to the next", kCount, {}, false},
  };
}

}  // namespace fib::training
