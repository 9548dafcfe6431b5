// SPDX-License-Identifier: Apache-2.0
// Images to classes: the loss of soft labels, judged by top-1.
#pragma once

#include <functional>
#include <memory>

#include "data/loader.h"
#include "data/open_dataset.h"
#include "models/card.h"
#include "models/torch/model.h"
#include "prediction/accuracy.h"
#include "training/torch/task.h"

namespace fib::training {

using prediction::Accuracy;

/// In eval mode and without gradients; the model is in training mode afterwards if it was before. Every process of the
/// group does its part, and all get the whole result.
Accuracy measure_accuracy(models::Model& model, const Loader& loader, ProcessGroup& group,
                          const EvaluationHooks& hooks = {}, const prediction::LogitsSeen& seen = {});

/// A view [B,C,h,w] of the batch, or [B,C,T,h,w] of clips, which it must outlive; each view of a sample is one of B.
at::Tensor images_of(Batch& batch);

/// Logits [B,classes], of samples that are shown in several views their mean.
at::Tensor scores_of(models::Model& model, Batch& batch);

/// The frames that a model takes of a clip; none of images. Throws std::invalid_argument where it takes clips and the
/// data has images, or the other way round.
ClipSampling clip_sampling(const models::Dimensions& dims, const DatasetInfo& data, int64_t rate);

/// The mean over the batch of -Σ target · log softmax(logits), both [B,classes].
at::Tensor soft_cross_entropy(const at::Tensor& logits, const at::Tensor& targets);

/// A class that has n of N training images weighs N / (classes · n), so that the mean over the images is 1; one that
/// has none weighs 0 and is not counted.
std::vector<float> balanced_weights(const std::vector<int64_t>& labels, int64_t classes);

/// What a model's mechanisms cost for `samples` images: the ratios of the first layer that is the attention asked for,
/// the time of all of them with random queries, keys and values and without the projections around them, the best of
/// three.
AttentionFacts attention_facts(models::Model& model, int64_t samples);

/// Blocks of each stage.
std::vector<int64_t> stages_of(const models::Model& model);

/// What a classifier learns from and is judged by.
struct ClassificationData {
  std::unique_ptr<Loader> train = nullptr;
  std::unique_ptr<Loader> validation = nullptr;  ///< null where nothing is held out
  std::unique_ptr<Loader> test = nullptr;
  std::vector<std::string> beginning = {};  ///< a line for each thing that came of the weights it begins with
};

/// The recipe's data: in evaluation as `view` shows it, in training with the recipe's augmentation instead of its crop.
ClassificationData open_classification_data(const Recipe& recipe, const DataSplits& splits, const PipelineConfig& view,
                                            const RankInfo& rank);
DataSplits open_splits(const Recipe& recipe);

/// Images of a batch with their mixing done, as a tensor that keeps their memory.
at::Tensor mixed_images(Batch batch);

class ClassificationTask : public Task {
 public:
  /// Without data it can be given batches all the same: images [B,C,h,w] and targets [B,classes].
  ClassificationTask(const Recipe& recipe, models::ModelPtr model, ClassificationData data = {});

  torch::nn::Module& network() override { return *model_; }
  std::vector<int64_t> stages() const override { return stages_of(*model_); }
  TaskFacts facts() const override;
  int64_t steps_per_epoch() const override { return static_cast<int64_t>(data_.train->steps_per_epoch()); }
  std::unique_ptr<TaskStream> epoch(int64_t epoch, int64_t first_step) override;
  at::Tensor loss(const TaskBatch& batch) override;
  Evaluation evaluate(Split split, ProcessGroup& group, const EvaluationHooks& hooks) override;
  TensorMetadata metadata() const override;
  std::optional<AttentionFacts> attention(int64_t samples) override { return attention_facts(*model_, samples); }

  const models::ModelPtr& model() const { return model_; }

 protected:
  const Recipe& recipe() const { return recipe_; }
  const Loader& training_data() const { return *data_.train; }
  const Loader& data_of(Split split) const { return split == Split::validation ? *data_.validation : *data_.test; }

 private:
  Recipe recipe_;
  models::ModelPtr model_;
  ClassificationData data_;
};

/// What weights of the model are of, and how they see images: as the test set is shown.
models::ModelCard model_card(const Recipe& recipe, const models::Model& model, const Loader& test);

/// Batches of a dataset in its order, or of the images in it that the recipe limits evaluation to.
std::unique_ptr<Loader> evaluation_loader(const DatasetPtr& data, const Recipe& recipe, const models::Dimensions& dims,
                                          const RankInfo& rank = {});

}  // namespace fib::training
