// SPDX-License-Identifier: Apache-2.0
// The directory of one training run: which file is which, and who may write there.
#pragma once

#include <filesystem>
#include <string>

#include "training/recipe/recipe.h"

namespace fib::training {

/// The names in a run directory.
struct RunFiles {
  std::filesystem::path root;

  std::filesystem::path config() const { return root / "config.toml"; }
  std::filesystem::path metrics() const { return root / "metrics.jsonl"; }
  std::filesystem::path events() const { return root / "events.out.tfevents.fib"; }
  std::filesystem::path state() const { return root / "state.pt"; }
  std::filesystem::path model() const { return root / "model.safetensors"; }
  std::filesystem::path ema() const { return root / "ema.safetensors"; }
  std::filesystem::path best() const { return root / "best.safetensors"; }
  std::filesystem::path pruned() const { return root / "pruned.safetensors"; }
  std::filesystem::path summary() const { return root / "summary.json"; }

  /// The recipe of the run. Throws std::runtime_error where there is no run.
  Recipe recipe() const;
};

/// Holds the directory for this process: while it lives, another one is refused. Made where it is missing, and gone
/// again where no run has begun in it: a refusal leaves nothing behind. What a killed process left half written is
/// removed.
class RunDirectory {
 public:
  /// Throws std::runtime_error with one line where the directory cannot be written or is in use.
  explicit RunDirectory(std::filesystem::path root);
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  const RunFiles& files() const { return files_; }
  bool holds_run() const { return std::filesystem::exists(files_.config()); }

 private:
  void lock();
  void remove_leftovers() const;
  void remove_if_unused() const;

  RunFiles files_;
  std::filesystem::path made_;  ///< the uppermost directory that was not there before; empty: all were
  int lock_ = -1;
};

}  // namespace fib::training
