// SPDX-License-Identifier: Apache-2.0
#include "training/torch/task.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.h"
#include "training/recipe/options.h"
#include "training/torch/adaptation.h"
#include "training/torch/classification.h"

namespace fib::training {
namespace {

std::vector<TaskRow>& task_table() {
  static std::vector<TaskRow> rows = {
      {"classification", "images to classes", prepare_classification},
      {"adaptation", "a dense model's answers, with a sparse attention", prepare_adaptation}};
  return rows;
}

const TaskRow& find_task(const std::string& name) { return find_named(task_table(), "task", name, &TaskRow::name); }

void require_divisible(const Recipe& recipe, const RankInfo& rank) {
  if (recipe.batch % (rank.world * recipe.accumulate) != 0)
    throw std::invalid_argument(fmt::format("batch {} does not divide among {} processes with accumulate {}",
                                            recipe.batch, rank.world, recipe.accumulate));
}

}  // namespace

TaskBatch TaskBatch::part(int64_t index, int64_t parts) const {
  TaskBatch piece;
  for (const at::Tensor& tensor : tensors)
    piece.tensors.push_back(tensor.narrow(0, index * size() / parts, size() / parts));
  return piece;
}

void EvaluationHooks::batch_done(ProcessGroup& group, int64_t done, int64_t total) const {
  if (progress) progress(std::min(total, done * group.world()), total);
  if (!wants_stop) return;
  const at::Tensor stop = at::tensor({wants_stop() ? 1.0 : 0.0}, at::kDouble);
  group.sum(stop);
  if (stop.item<double>() > 0) throw Interrupted();
}

void EvaluationHooks::between_layers(const ProcessGroup& group) const {
  if (group.world() == 1 && wants_stop && wants_stop()) throw Interrupted();
}

void add_task(TaskRow row) {
  if (std::ranges::count(task_table(), row.name, &TaskRow::name) > 0)
    throw std::invalid_argument(fmt::format("there is a task '{}' already", row.name));
  task_table().push_back(std::move(row));
}

std::vector<TaskRow> tasks() { return task_table(); }

Experiment prepare(const Recipe& recipe, const RankInfo& rank) {
  check_recipe(recipe);
  require_divisible(recipe, rank);
  return find_task(recipe.task).make(recipe, rank);
}

}  // namespace fib::training
