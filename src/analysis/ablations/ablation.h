// SPDX-License-Identifier: Apache-2.0
// The paper's tables and figures as files of rows: what varies. What the paper found is looked up in analysis/paper.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace fib::ablations {

/// What runs of the ablations learn from.
struct AblationData {
  std::string name;       ///< in names of directories: "c10"
  std::string word;       ///< for people: "CIFAR-10"
  std::string column;     ///< of the paper's tables; empty where they have none
  double paper_unit = 1;  ///< what makes percent of the paper's number
};
const std::vector<AblationData>& ablation_data();
const AblationData& find_ablation_data(const std::string& name);

/// Which recipe runs at a scale, and on which data.
struct ScaleRecipe {
  std::string data, file;
};
/// Recipes that belong together: at each scale what a row is trained with.
struct RecipeSet {
  std::string name;
  std::vector<ScaleRecipe> tiny, small, paper;
};
/// Throws std::invalid_argument with the nearest name for an unknown one.
const RecipeSet& find_recipe_set(const std::string& name);

struct AblationRow {
  std::string label, attention;
  std::string series;                   ///< which curve of the figure; empty in tables
  std::optional<double> x;              ///< its place on the axis
  std::map<std::string, double> paper;  ///< its figures in percent, by the data's name
};

struct Ablation {
  std::string name;     ///< of its file
  std::string title;    ///< what the paper calls it
  std::string section;  ///< where it is in the paper
  std::string command;  ///< what shows it, where nothing is to be trained here
  std::string needs;    ///< what is missing for it
  std::string x_label;
  std::string recipes = "images";             ///< a RecipeSet
  std::string measure = "top-1, percent";     ///< what is measured
  std::string setting = "ViT-B, 100 epochs";  ///< the paper's
  std::vector<AblationRow> rows;
};

/// A file that names one of the paper's tables (`paper`) takes its rows by label, or by `paper` in the row, with their
/// attention where the row has none of its own; `columns` chooses a group of the table's columns, for all rows or for
/// one. Throws std::invalid_argument with file and line for an unknown key, a value of another kind, an attention or a
/// row of the paper that does not exist; std::runtime_error when the file cannot be read.
Ablation read_ablation(const std::filesystem::path& file);

/// All files of a folder, by name.
std::vector<Ablation> read_ablations(const std::filesystem::path& folder);

/// Throws std::invalid_argument with the nearest name for an unknown one.
const Ablation& find_ablation(const std::vector<Ablation>& all, const std::string& name);

}  // namespace fib::ablations
