// SPDX-License-Identifier: Apache-2.0
#include "training/torch/task.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.h"
#include "training/recipe/options.h"

namespace fib::training {
namespace {

void require_divisible(const Recipe& recipe, const RankInfo& rank) {
  if (recipe.optimizer.batch % (rank.world * recipe.optimizer.accumulate) != 0)
    throw std::invalid_argument(fmt::format("batch {} does not divide among {} processes with accumulate {}",
                                            recipe.optimizer.batch, rank.world, recipe.optimizer.accumulate));
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
  const at::Tensor stop = at::tensor({cancel.requested() ? 1.0 : 0.0}, at::kDouble);
  group.sum(stop);
  if (stop.item<double>() > 0) throw Cancelled();
}

Recipe settled(Recipe recipe, const std::vector<TaskRow>& tasks) {
  return find_named(tasks, "task", recipe.run.task, &TaskRow::name).settle(std::move(recipe));
}

Experiment prepare(const Recipe& recipe, const RankInfo& rank, const std::vector<TaskRow>& tasks) {
  check_recipe(recipe);
  require_divisible(recipe, rank);
  return find_named(tasks, "task", recipe.run.task, &TaskRow::name).make(recipe, rank);
}

}  // namespace fib::training
