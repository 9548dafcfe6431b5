// SPDX-License-Identifier: Apache-2.0
// A compiled policy decides, without torch.
#pragma once

#include <filesystem>
#include <vector>

#include "engine/engine.h"
#include "engine/policy.h"
#include "robots/play/rollout.h"

namespace fib::robots {

/// What a compiled policy of this row takes and gives with these steps of a sampler.
engine::PolicyInterface interface_of(const Policy& row, const std::string& task, const std::string& sampler);

class CompiledPolicy final : public Player {
 public:
  /// Throws std::runtime_error with one line for a file that cannot be run, is no policy or does not fit its row.
  explicit CompiledPolicy(const std::filesystem::path& file, const engine::Limits& limits = {});

  const Policy& row() const override { return *row_; }
  std::vector<std::vector<double>> decide(const std::vector<Seen>& seen,
                                          const std::vector<CounterRng*>& streams) override;

  const Robot& robot() const { return find_robot(interface_.task); }
  const std::string& sampler() const { return interface_.sampler; }
  /// "pusht_small with full".
  std::string description() const;

 private:
  engine::Engine engine_;
  engine::PolicyInterface interface_;
  const Policy* row_ = nullptr;
  std::vector<float> sample_, actions_;
};

}  // namespace fib::robots
