// SPDX-License-Identifier: Apache-2.0
// A finished training run as its directory tells it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace fib::report {

struct CurvePoint {
  double epoch = 0;
  double value = 0;
};

struct RunRecord {
  std::string name;  ///< of the directory
  std::string model, attention, data;
  std::string samples = "images";  ///< what it learned from
  std::string machine;             ///< that trained it; empty: not known
  int64_t seed = 0;
  int64_t train_samples = 0, test_samples = 0;
  int64_t steps = 0, processes = 1, threads = 1;
  std::string finished;  ///< when summary.json was written: "2026-11-17 03:41", UTC
  double epochs = 0;
  std::string score = "top1";  ///< the figure that the run is judged by
  double test_score = 0;
  bool lower_is_better() const { return score == "loss" || score == "mse"; }
  double train_seconds = 0;
  double samples_per_second = 0;  ///< of training; 0: not known, as where a resumed run had no step left
  double step_ms = 0, attention_ms = 0;
  double pair_share = 1;  ///< of all pairs of tokens, class token included
  double peak_memory_mb = 0;
  std::vector<CurvePoint> train_loss;  ///< mean of each epoch
  std::vector<CurvePoint> validation;  ///< scores of the averaged weights, of the model where none are kept

  /// What a score is multiplied by to be shown, and what it is called then: "top-1, percent".
  double score_scale() const;
  std::string score_label() const;
  double seconds(double epoch) const { return epochs > 0 ? epoch * train_seconds / epochs : 0; }
};

/// The color of each run: that of its mechanism, whatever is drawn. Equal mechanisms have one.
std::vector<size_t> mechanism_colors(const std::vector<RunRecord>& runs);

/// Throws std::runtime_error where the directory holds no finished run.
RunRecord read_run(const std::filesystem::path& directory);

// ---- Rows of JSON, the same for every command that shows runs. Rows that were kept stand for their runs after these
// are gone

/// What a row calls the score of the test set: this and the name of the metric.
inline constexpr const char* kTestKey = "test_";

/// The run in a directory, or all those of a file that holds {"rows": [...]} of run_json, which have no curves. Throws
/// std::runtime_error where there is neither.
std::vector<RunRecord> read_runs(const std::filesystem::path& path);

}  // namespace fib::report
