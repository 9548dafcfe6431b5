// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>

#include "base/safetensors.h"
#include "robots/torch/rollout.h"
#include "training/run/directory.h"

namespace fib::robots {
namespace {

std::filesystem::path weights_of_run(const training::RunFiles& files) {
  for (const auto& file : {files.best(), files.ema(), files.model()})
    if (std::filesystem::exists(file)) return file;
  throw std::runtime_error(fmt::format("the run in '{}' has no weights yet", files.root.string()));
}

/// Every parameter by its name and in its shape.
void load_all(DiffusionPolicy& policy, const SafetensorsFile& file) {
  const at::NoGradGuard no_grad;
  for (const auto& item : policy.named_parameters()) {
    const TensorView* stored = file.find(item.key());
    if (stored == nullptr || at::IntArrayRef(stored->shape) != item.value().sizes()) {
      throw std::runtime_error(fmt::format("the weights do not fit {}: {} is {}", policy.row().name, item.key(),
                                           stored == nullptr ? "missing" : "of another shape"));
    }
    copy_values(*stored, std::span(item.value().data_ptr<float>(), static_cast<size_t>(item.value().numel())));
  }
}

}  // namespace

TrainedPolicy open_policy(const std::filesystem::path& run) {
  const training::RunFiles files{run};
  TrainedPolicy opened{.recipe = files.recipe(), .weights = "", .policy = nullptr, .normalizer = {}};
  if (!is_robot(opened.recipe.run.task)) {
    throw std::invalid_argument(fmt::format("the run in '{}' learned {}; accepted: a run of the tasks {}", run.string(),
                                            opened.recipe.run.task, fmt::join(robot_names(), ", ")));
  }
  const std::filesystem::path file = weights_of_run(files);
  opened.weights = file.filename();
  const SafetensorsFile stored(file);
  const auto normalizer = stored.metadata().find("limits");
  const Policy& row = find_policy(opened.recipe.model.name);
  opened.normalizer =
      RobotNormalizer::from_json(normalizer == stored.metadata().end() ? "" : normalizer->second, row.task);
  opened.policy = std::make_shared<DiffusionPolicy>(row, AttentionSpec::parse(opened.recipe.model.attention));
  load_all(*opened.policy, stored);
  opened.policy->eval();
  return opened;
}

}  // namespace fib::robots
