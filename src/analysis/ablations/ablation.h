// SPDX-License-Identifier: Apache-2.0
// The paper's tables and figures as files of rows: what varies. What the paper found is looked up in analysis/paper.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fib::ablations {

/// Data that runs of a table are made with: what it is called here, to people, and in the columns of the paper.
struct AblationData {
  std::string word, name, column;
  double paper_unit = 1;  ///< what makes percent of the paper's number
};
/// In the order that columns are shown; throws std::invalid_argument for another word.
const std::vector<AblationData>& ablation_data();
const AblationData& find_data(const std::string& word);

struct AblationRow {
  std::string label, attention;
  std::string backbone;                 ///< a word of its file; empty: the recipes' own model
  std::string series;                   ///< which curve of the figure; empty in tables
  std::optional<double> x;              ///< its place on the axis
  std::map<std::string, double> paper;  ///< its figures in percent by the word for the data, from its table
  std::optional<double> paper_pruned;   ///< the share of pairs that its table says is pruned
};

/// Options of a recipe by key, as text.
using Settings = std::vector<std::pair<std::string, std::string>>;

/// What makes a recipe one for another backbone.
struct Backbone {
  Settings settings;
  Settings search;  ///< not empty: UPop's, which makes the model smaller after a training and before another one
};

/// Words behind `fib` that show something: {runs} stands for trained runs, {images} for their number at the scale,
/// {out} for the path of the files without their ending.
struct ShowingCommand {
  std::string word;  ///< for the names of its files, where an ablation has several
  std::vector<std::string> words;
};

/// A line of the paper's table of settings.
struct SettingLine {
  std::string name;                  ///< of its row
  std::vector<std::string> options;  ///< keys of a recipe that are it; empty: the note says why
  std::string note;
};

struct Ablation {
  std::string name;     ///< of its file
  std::string title;    ///< what the paper calls it
  std::string section;  ///< where it is in the paper
  std::string paper;    ///< its table in analysis/paper; empty: it is a figure
  /// What shows it. Empty: the score of each row is shown, or the settings.
  std::vector<ShowingCommand> commands;
  /// By the word for a scale, what {images} stands for in the command.
  std::map<std::string, std::string> images;
  bool table_per_data = false;  ///< the command is given once for the runs of each dataset
  std::string x_label;
  std::string measure = "top-1, percent";     ///< what is measured
  std::string setting = "ViT-B, 100 epochs";  ///< of the paper's numbers
  std::string note;                           ///< sentences below the table: where it is not what the paper did
  /// By the word for a scale, the word for the data and the recipe of each run of a row; empty: those of all ablations.
  std::map<std::string, std::vector<std::pair<std::string, std::string>>> recipes;
  std::map<std::string, std::map<std::string, Backbone>> backbones;  ///< by their word and the word for a scale
  std::vector<AblationRow> rows;
  std::vector<SettingLine> settings;  ///< of a table that has settings, not results: shown beside the recipes
};

/// A file that names one of the paper's tables (`paper`) takes its rows by label, or by `paper` in the row, with their
/// attention where the row has none of its own; `columns` chooses a group of the table's columns, for all rows or for
/// one; `backbone` is one that [backbones.WORD.SCALE] describes. Throws std::invalid_argument with file and line for an
/// unknown key, a value of another kind, an attention or a row of the paper that does not exist; std::runtime_error
/// when the file cannot be read.
Ablation read_ablation(const std::filesystem::path& file);

/// All files of a folder, by name.
std::vector<Ablation> read_ablations(const std::filesystem::path& folder);

/// Throws std::invalid_argument with the nearest name for an unknown one.
const Ablation& find_ablation(const std::vector<Ablation>& all, const std::string& name);

}  // namespace fib::ablations
