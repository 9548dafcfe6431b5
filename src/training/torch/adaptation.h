// SPDX-License-Identifier: Apache-2.0
// A dense model gets a sparse attention. Teacher and student begin with the same weights; the pairs that the student
// leaves out fade, while its logits and the outputs of its blocks follow the teacher's. No label is learned from.
//
// Letters: B samples, T tokens, H heads, D channels of a token.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "attention/torch/mechanism.h"
#include "training/run/directory.h"
#include "training/torch/classification.h"
#include "training/torch/trained_model.h"

namespace fib::training {

/// The dense model that the recipe's weights are of, and how they see images.
TrainedModel open_teacher(const Recipe& recipe);

/// How far step `step`, counted from 0, of `steps` has come: to 1 in the last of the first `share` of them, where the
/// pairs are gone, and they stay so.
double fade_of(int64_t step, int64_t steps, double share);

/// Dense attention in the place of a sparse one. What the sparse one leaves out has a term in its scores that falls
/// from 0 to -inf.
class FadingAttention final : public attention::ForwardHook {
 public:
  /// `sparse` must be a support set.
  FadingAttention(attention::MechanismPtr sparse, double dropout);

  /// Takes the place of the sparse attention, or leaves it where nothing is left of the pairs: at 1. At 0 it is dense.
  void begin(double fade);
  void end() { sparse_->set_forward_hook(nullptr); }

  at::Tensor forward(const attention::Mechanism& asked, const attention::Inputs& in) override;
  at::Tensor forward_packed(const attention::Mechanism& asked, const at::Tensor& qkv, const at::Tensor& bias) override;

 private:
  at::Tensor with_fading(const at::Tensor& bias) const;

  attention::MechanismPtr sparse_, dense_;
  at::Tensor outside_;  ///< [1,H,T,T], true where the sparse one has no pair
  at::Tensor bias_;     ///< of the same shape; undefined at 0
};

/// What is compared: logits [B,classes], and of each block the tokens [B,T,D].
struct Answer {
  at::Tensor logits;
  std::vector<at::Tensor> blocks;
};
Answer answer_of(models::Model& model, const at::Tensor& images);

struct AnswerWeights {
  double temperature = 2;
  double features = 1;
};
/// 0 where both are the same: Kullback-Leibler divergence of the softened logits, in the scale that it has at
/// temperature 1, and the mean squared difference of the blocks' outputs as the next norm sees them.
at::Tensor distance(const Answer& student, const Answer& teacher, const AnswerWeights& weights);

class AdaptationTask final : public ClassificationTask {
 public:
  /// `teacher` in eval mode, with the class names that its weights know.
  struct Teacher {
    models::ModelPtr model;
    std::vector<std::string> class_names;
  };
  /// Throws std::invalid_argument where the student's blocks cannot be watched though they count.
  AdaptationTask(const Recipe& recipe, models::ModelPtr student, Teacher teacher, ClassificationData data = {});

  TaskFacts facts() const override;
  /// Fits the projections, where the recipe has images for that.
  void begin(ProcessGroup& group, const EvaluationHooks& hooks,
             const std::function<void(const std::string&)>& tell) override;
  /// Batches are images [B,C,h,w] and how far the pairs have faded, [B].
  std::unique_ptr<TaskStream> epoch(int64_t epoch, int64_t first_step) override;
  at::Tensor loss(const TaskBatch& batch) override;
  /// Of the sparse attention, however far the pairs have faded.
  Evaluation evaluate(Split split, ProcessGroup& group, const EvaluationHooks& hooks) override;
  TensorMetadata metadata() const override;

  /// How the teacher does on the test set.
  Evaluation evaluate_teacher(ProcessGroup& group);

 private:
  std::vector<at::Tensor> ridge_images() const;

  Teacher teacher_;
  std::vector<std::unique_ptr<FadingAttention>> fading_;
};

/// What an adaptation has come to, on the test set.
struct AdaptationResult {
  struct Stage {
    std::string name;  ///< "dense", "before" and "after"
    Evaluation evaluation{};
  };
  std::vector<Stage> stages;
  int64_t sparse_layers = 0, layers = 0;
  double pruned_share = 0;  ///< of all pairs of patch tokens, in all layers
};

/// Tests the models that a finished run began with, and writes adaptation.json into its directory.
AdaptationResult finish_adaptation(const Recipe& recipe, const RunFiles& files);
nlohmann::ordered_json to_json(const AdaptationResult& result, const Recipe& recipe);

}  // namespace fib::training
