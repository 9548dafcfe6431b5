// SPDX-License-Identifier: Apache-2.0
// What a run learns. The trainer knows steps, evaluations, checkpoints and processes; what a batch is, what its loss is
// and how the result is judged, it asks a task.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/safetensors.h"
#include "training/recipe/begin.h"
#include "training/recipe/recipe.h"
#include "training/run/metrics.h"
#include "training/torch/parameter_groups.h"
#include "training/torch/process_group.h"

namespace fib::training {

// ---- What takes part in every step of a run beside the model and its optimizer

class StepHook {
 public:
  virtual ~StepHook() = default;
  /// Added to the loss of a step.
  virtual at::Tensor penalty() = 0;
  /// Gradients of a step are there; parameters are still those they belong to.
  virtual void collect(ProcessGroup& group) = 0;
  /// Step `step`, counted from 0, of `steps` is done.
  virtual void stepped(int64_t step, int64_t steps) = 0;
  /// All that a resumed run needs, the same in every process: the tensor itself, which may be written to.
  virtual at::Tensor state() = 0;
};

// ---- Tasks

/// Some samples as tensors, each with the samples along its first dimension. What each tensor is, the task knows.
struct TaskBatch {
  std::vector<at::Tensor> tensors;
  std::vector<std::string> skipped = {};  ///< what could not be read and was replaced, with the reason

  int64_t size() const { return tensors.front().size(0); }
  /// One of `parts` equal pieces, as views.
  TaskBatch part(int64_t index, int64_t parts) const;
};

/// The batches of one epoch, in order; those of this process.
class TaskStream {
 public:
  virtual ~TaskStream() = default;
  /// None after the last.
  virtual std::optional<TaskBatch> next() = 0;
};

/// How an evaluation reports its progress, and what cancels it.
struct EvaluationHooks {
  /// How many samples are done, of all processes together, and how many there are.
  std::function<void(int64_t done, int64_t total)> progress = {};
  CancelToken cancel = {};

  /// Called after every batch, in every process equally often. Once one of them is cancelled all throw Cancelled.
  void batch_done(ProcessGroup& group, int64_t done, int64_t total) const;
};

enum class Split { validation, test };

/// What a task says about itself.
struct TaskFacts {
  std::string samples = "images";    ///< what they are called
  std::string evaluation_unit = {};  ///< what those of an evaluation are called, where it is something else
  int64_t train = 0, validation = 0, test = 0;
  Score score{};
  bool judges_averages_only = false;      ///< evaluations are too expensive for both kinds of weights
  std::vector<std::string> notices = {};  ///< what a person should know of how the data were read
};

/// What attention costs in a step.
struct AttentionFacts {
  double pruning_ratio = 0, pruning_ratio_with_cls = 0;
  double seconds = 0;  ///< of the mechanisms alone, forward and backward
};

class Task {
 public:
  virtual ~Task() = default;

  /// What is trained: float32 on the CPU.
  virtual torch::nn::Module& network() = 0;
  /// Before the steps of an epoch.
  void train() { train_what_learns(network()); }
  /// Blocks of each stage of the network, for layer_decay.
  virtual std::vector<int64_t> stages() const = 0;
  virtual TaskFacts facts() const = 0;

  /// Before the first step of a run, and not again where it is resumed after that: may change the network, the same way
  /// in every process. What it has done goes to `tell`, a line each.
  virtual void begin(ProcessGroup& /*group*/, const EvaluationHooks& /*hooks*/,
                     const std::function<void(const std::string&)>& /*tell*/) {}

  virtual int64_t steps_per_epoch() const = 0;
  /// Begins an epoch at any of its steps. Batches depend on the recipe, the epoch and the step alone.
  virtual std::unique_ptr<TaskStream> epoch(int64_t epoch, int64_t first_step) = 0;
  /// The mean loss of some samples, with its graph. What it draws comes from torch's generator, which the step seeds.
  virtual at::Tensor loss(const TaskBatch& batch) = 0;

  /// How well the network does, in eval mode and without gradients. Every process does its part, and all get the whole
  /// result, with the figure of facts().score in it.
  virtual Evaluation evaluate(Split split, ProcessGroup& group, const EvaluationHooks& hooks) = 0;

  /// What goes with the weights, beside the step and their kind.
  virtual TensorMetadata metadata() const = 0;
  /// None where there is no attention. `samples` is what one backward sees.
  virtual std::optional<AttentionFacts> attention(int64_t /*samples*/) { return std::nullopt; }
};

/// Which of several processes asks.
struct RankInfo {
  int rank = 0;
  int world = 1;
  int local_world = 1;  ///< processes on this machine
};

/// What a recipe asks for, made.
struct Experiment {
  Recipe recipe{};
  std::unique_ptr<Task> task = nullptr;
  std::shared_ptr<StepHook> hook = nullptr;  ///< null where nothing takes part in the steps
};

/// A task is a row: what a recipe calls it, and how it is made of the recipe.
struct TaskRow {
  std::string name;
  std::string help;
  std::function<Experiment(const Recipe&, const RankInfo&)> make;
  /// What a new run's recipe leaves open, decided.
  std::function<Recipe(Recipe)> settle = closed_recipe;
};

/// Each in the file of its task. Model and data as the recipe says, and the search of channels where it prunes.
Experiment prepare_classification(const Recipe& recipe, const RankInfo& rank);
/// The recipe's weights with dense attention, and once more with the recipe's. Throws std::invalid_argument for an
/// attention whose pairs do not follow from positions, or weights that are not dense.
Experiment prepare_adaptation(const Recipe& recipe, const RankInfo& rank);

/// The tasks of this room. Rooms that stand after it have tables of their own (sequences/torch/tasks.h), and a program
/// joins them (all_tasks() in cli/torch/train_session.cpp).
inline std::vector<TaskRow> classification_tasks() {
  return {{"classification", "images to classes", prepare_classification, settled_recipe},
          {"adaptation", "a dense model's answers, with a sparse attention", prepare_adaptation, settled_recipe}};
}

/// With what is open decided as the recipe's task, which must be among `tasks`, decides it.
Recipe settled(Recipe recipe, const std::vector<TaskRow>& tasks);

/// Makes the recipe's task, which must be among `tasks`. Throws std::invalid_argument or std::runtime_error with one
/// line for what does not fit or cannot be found.
Experiment prepare(const Recipe& recipe, const RankInfo& rank = {},
                   const std::vector<TaskRow>& tasks = classification_tasks());

/// While it lives the network is in eval mode and nothing records gradients.
class EvalMode {
 public:
  explicit EvalMode(torch::nn::Module& network) : network_(network), was_training_(network.is_training()) {
    network.eval();
  }
  ~EvalMode() { network_.train(was_training_); }
  EvalMode(const EvalMode&) = delete;
  EvalMode& operator=(const EvalMode&) = delete;

 private:
  torch::nn::Module& network_;
  bool was_training_;
  torch::NoGradGuard no_grad_;
};

}  // namespace fib::training
