// SPDX-License-Identifier: Apache-2.0
// Which training runs a table needs at a scale, where they are, and how far they have come.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/ablations/ablation.h"
#include "analysis/statistics.h"
#include "attention/equal_pairs.h"
#include "models/cost.h"
#include "training/recipe/recipe.h"

namespace fib::ablations {

/// tiny: Fashion-MNIST, minutes. small: CIFAR-10 on a few cores, hours. paper: the paper's setting, on both CIFARs.
enum class Scale { tiny, small, paper };
/// Throws std::invalid_argument for another word.
Scale scale_of(const std::string& word);
std::string word_of(Scale scale);
/// Whether there are recipes for it.
bool has_scale(const Ablation& ablation, Scale scale);

struct NamedRecipe {
  std::string data, file;  ///< a word of ablation_data(), and the file's name
  training::Recipe recipe;
};

struct Request {
  Scale scale = Scale::tiny;
  int64_t seeds = 1;              ///< runs of each row, from seed 0
  Settings overrides{};           ///< of every recipe
  std::filesystem::path recipes;  ///< the folder with the recipes
  std::filesystem::path out;      ///< the folder of all runs
  /// Rows that leave their number of pairs open get the nearest to this one's; none: all keep their defaults.
  std::optional<AttentionSpec> match_pairs = std::nullopt;
};

enum class State { missing, unfinished, finished };

struct Run {
  size_t row = 0;    ///< of the ablation
  std::string data;  ///< a word of ablation_data()
  training::Recipe recipe;
  std::string verb = "train";          ///< of `fib`; a search of UPop's is "prune"
  std::vector<std::string> arguments;  ///< behind the verb, which make the same recipe
  int64_t stage = 0;                   ///< runs of earlier stages finish before it begins
  bool preparation = false;            ///< of the row's own run, whose result alone is the row's
  std::filesystem::path directory;
  std::optional<attention::EqualPairs> matched;  ///< where the request matched its pairs
  State state = State::missing;
  std::optional<double> top1;     ///< or another score, in percent, of a finished run
  std::optional<double> seconds;  ///< that training took
};

/// In the order of rows, data and seeds; a row that is pruned has two preparations before its own run. Runs with the
/// same recipe are the same run, whichever table asked for them.
/// Throws std::invalid_argument for an option that does not exist, where a directory holds a run with other values, and
/// where pairs are to be matched and no row leaves its own open.
std::vector<Run> plan(const Ablation& ablation, const Request& request);

/// Those of an ablation at the request's scale, as their files have them.
std::vector<NamedRecipe> recipes_of(const Ablation& ablation, const Request& request);

/// Weights that runs begin from and that are not on this machine. Those that an earlier stage makes do not count.
std::vector<std::string> missing_weights(const std::vector<Run>& runs);

/// What a finished run says; called again when one has finished.
void look_up(Run& run);

/// Whether what the recipe learns from is on this machine.
bool has_data(const training::Recipe& recipe);
/// The data's name, and the command or the address that it comes from.
std::string how_to_get(const training::Recipe& recipe);

/// What an image costs in the recipe's model; of a policy, in its encoder.
models::Cost image_cost(const training::Recipe& recipe);

/// The recipe's attention with as many pairs as `target` would have in its model, as nearly as can be. Throws
/// std::invalid_argument where that cannot be, see with_equal_pairs().
attention::EqualPairs match_pairs(const training::Recipe& recipe, const AttentionSpec& target);

/// Seconds of the run on this machine: as measured where a run of this scale has finished, otherwise from its
/// multiply-accumulates at `gmacs_per_second`.
double estimated_seconds(const Run& run, const std::vector<Run>& others, double gmacs_per_second);

// ---- What came of them

/// Top-1 in percent of a row's finished runs on one dataset.
analysis::Estimate measured(const std::vector<Run>& runs, size_t row, const std::string& data);

/// The row that another is compared with: full attention in the same backbone, or the backbone's first row where the
/// table has none.
size_t baseline_row(const Ablation& ablation, size_t row);

/// Row against `baseline`, over the seeds that both have finished; none with fewer than two.
std::optional<analysis::PairedTest> compared(const std::vector<Run>& runs, size_t row, size_t baseline,
                                             const std::string& data);

}  // namespace fib::ablations
