// SPDX-License-Identifier: Apache-2.0
#include "analysis/ablations/ablation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <stdexcept>

#include "analysis/paper/tables.h"
#include "attention/registry.h"
#include "base/json.h"
#include "base/nearest.h"
#include "base/read_file.h"
#include "base/text.h"
#include "training/recipe/options.h"

namespace fib::ablations {
namespace {

/// One table of the file: text and numbers by key, each taken once.
class Fields {
 public:
  Fields(const toml::table& table, std::string file) : table_(table), file_(std::move(file)) {}

  void text(const char* key, std::string& target) {
    known_.emplace_back(key);
    if (const toml::node* node = table_.get(key)) target = value<std::string>(*node, key, "text");
  }
  void number(const char* key, std::optional<double>& target) {
    known_.emplace_back(key);
    if (const toml::node* node = table_.get(key)) target = value<double>(*node, key, "a number");
  }
  void flag(const char* key, bool& target) {
    known_.emplace_back(key);
    if (const toml::node* node = table_.get(key)) target = value<bool>(*node, key, "true or false");
  }
  void words(const char* key, std::vector<std::string>& target) {
    known_.emplace_back(key);
    const toml::node* node = table_.get(key);
    if (node == nullptr) return;
    if (!node->is_array()) throw std::invalid_argument(where(*node) + key + " must be a list of words");
    for (const toml::node& word : *node->as_array()) target.push_back(value<std::string>(word, key, "a list of words"));
  }
  /// Whatever has not been asked for is a mistake.
  void finish(const std::vector<std::string>& others = {}) {
    known_.insert(known_.end(), others.begin(), others.end());
    for (const auto& [key, node] : table_) {
      const std::string name(key.str());
      if (std::find(known_.begin(), known_.end(), name) == known_.end())
        throw std::invalid_argument(where(node) + unknown_name("key", name, known_));
    }
  }
  std::string where(const toml::node& node) const {
    return file_ + " line " + std::to_string(node.source().begin.line) + ": ";
  }

 private:
  template <class T>
  T value(const toml::node& node, const char* key, const char* kind) const {
    if (const auto found = node.value<T>()) return *found;
    throw std::invalid_argument(where(node) + key + " must be " + kind);
  }

  const toml::table& table_;
  std::string file_;
  std::vector<std::string> known_;
};

/// Which part of the paper a row stands beside; no table, no numbers.
struct PaperPlace {
  std::string table, columns;
};

/// The share that a column says is pruned, of the group or of the whole table.
std::optional<double> papers_pruned_share(const paper::Table& table, const std::string& name,
                                          const std::string& group) {
  for (const char* column : {"Pruning Ratio", "Mask Ratio"})
    for (const std::string& place : {group + column, std::string(column)})
      if (const auto percent = table.number(name, place)) return *percent / 100;
  return std::nullopt;
}

/// What the paper's table says of the row called `name`.
void add_papers_numbers(AblationRow& row, const std::string& name, const PaperPlace& place) {
  const paper::Table& table = paper::find_table(place.table);
  const std::string group = place.columns.empty() ? "" : place.columns + " / ";
  for (const AblationData& data : ablation_data()) {
    if (const auto number = table.number(name, group + data.column)) row.paper[data.word] = *number * data.paper_unit;
  }
  row.paper_pruned = papers_pruned_share(table, name, group);
  if (row.attention.empty()) row.attention = table.row(name).attention;
}

/// Throws std::invalid_argument where paper or attention do not exist.
void complete(AblationRow& row, const std::string& name, const PaperPlace& place) {
  if (!place.table.empty()) add_papers_numbers(row, name.empty() ? row.label : name, place);
  if (row.label.empty() || row.attention.empty()) throw std::invalid_argument("a row needs a label and an attention");
  attention::check_spec(AttentionSpec::parse(row.attention));
}

AblationRow read_row(const toml::table& table, const std::string& file, PaperPlace place) {
  AblationRow row;
  std::string name;
  Fields fields(table, file);
  fields.text("label", row.label);
  fields.text("attention", row.attention);
  fields.text("backbone", row.backbone);
  fields.text("series", row.series);
  fields.number("x", row.x);
  fields.text("paper", name);
  fields.text("columns", place.columns);
  fields.finish();
  try {
    complete(row, name, place);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fields.where(table) + error.what());
  }
  return row;
}

/// [recipes] with a table for each scale: data = "file".
decltype(Ablation::recipes) read_recipes(const toml::table& scales, const Fields& fields) {
  decltype(Ablation::recipes) recipes;
  for (const auto& [scale, node] : scales) {
    if (!node.is_table()) throw std::invalid_argument(fields.where(node) + "a scale must be a table, data = \"file\"");
    for (const auto& [data, recipe] : *node.as_table()) {
      const auto name = recipe.value<std::string>();
      if (!name) throw std::invalid_argument(fields.where(recipe) + "a recipe must be text");
      recipes[std::string(scale.str())].emplace_back(find_data(std::string(data.str())).word, *name);
    }
  }
  return recipes;
}

/// A value as --set would have it.
std::string as_text(const toml::node& node, const Fields& fields) {
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (const auto whole = node.value_exact<int64_t>()) return fmt::format("{}", *whole);
  if (const auto number = node.value_exact<double>()) return fmt::format("{}", *number);
  throw std::invalid_argument(fields.where(node) + "an option must be text or a number");
}

Settings read_settings(const toml::table& table, const Fields& fields) {
  Settings settings;
  for (const auto& [key, node] : table)
    if (!node.is_table()) settings.emplace_back(std::string(key.str()), as_text(node, fields));
  return settings;
}

/// [backbones.WORD.SCALE] with options, and [backbones.WORD.SCALE.search] with those of UPop's search.
decltype(Ablation::backbones) read_backbones(const toml::table& words, const Fields& fields) {
  decltype(Ablation::backbones) backbones;
  const auto table = [&](const toml::node& node) -> const toml::table& {
    if (const toml::table* found = node.as_table()) return *found;
    throw std::invalid_argument(fields.where(node) + "a backbone has a table of options for each scale");
  };
  for (const auto& [word, scales] : words) {
    for (const auto& [scale, options] : table(scales)) {
      Backbone& backbone = backbones[std::string(word.str())][std::string(scale.str())];
      backbone.settings = read_settings(table(options), fields);
      if (const toml::node* search = table(options).get("search"))
        backbone.search = read_settings(table(*search), fields);
    }
  }
  return backbones;
}

/// A table may come from others: what it runs shows something, and writes nowhere but where results are written.
void check_command(const std::vector<std::string>& words, const std::string& file) {
  const std::vector<std::string> showing = {"pattern", "flops", "analyze", "simulate"};
  if (!words.empty() && std::find(showing.begin(), showing.end(), words.front()) == showing.end())
    throw std::invalid_argument(fmt::format("{}: command must begin with {}, got {}", file, fmt::join(showing, ", "),
                                            in_quotes(words.front())));
  for (const std::string& word : words)
    if (word.find('/') != std::string::npos)
      throw std::invalid_argument(file + ": command names files by {out} and {runs}, got " + in_quotes(word));
}

/// The tables of an array [[KEY]], in order.
template <class Read>
void for_tables(const toml::table& table, const char* key, const Fields& fields, const Read& read) {
  const toml::array* list = table[key].as_array();
  if (list == nullptr) return;
  for (const toml::node& node : *list) {
    if (!node.is_table())
      throw std::invalid_argument(fmt::format("{}{} must be tables, [[{}]]", fields.where(node), key, key));
    read(*node.as_table());
  }
}

/// `command`, or [[commands]] with a word for the files of each.
std::vector<ShowingCommand> read_commands(const toml::table& table, Fields& fields, const std::string& file) {
  std::vector<ShowingCommand> commands(1);
  fields.words("command", commands.front().words);
  if (commands.front().words.empty()) commands.clear();
  for_tables(table, "commands", fields, [&](const toml::table& one) {
    Fields own(one, file);
    own.text("word", commands.emplace_back().word);
    own.words("words", commands.back().words);
    own.finish();
  });
  for (const ShowingCommand& command : commands) check_command(command.words, file);
  return commands;
}

SettingLine read_setting(const toml::table& table, const std::string& file, const std::string& paper) {
  SettingLine line;
  Fields fields(table, file);
  fields.text("paper", line.name);
  fields.words("options", line.options);
  fields.text("note", line.note);
  fields.finish();
  try {
    paper::find_table(paper).row(line.name);
    for (const std::string& key : line.options) training::find_option(key);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fields.where(table) + error.what());
  }
  return line;
}

toml::table parse(const std::filesystem::path& file) {
  const std::string text = read_file(file, kMaxRecipeBytes);
  check_toml_nesting(text, file.string());
  try {
    return toml::parse(text, file.string());
  } catch (const toml::parse_error& error) {
    throw std::invalid_argument(file.string() + " line " + std::to_string(error.source().begin.line) + ": " +
                                printable(error.description(), 200));
  }
}

}  // namespace

const std::vector<AblationData>& ablation_data() {
  static const std::vector<AblationData> list = {{"fashion", "Fashion-MNIST", "Fashion-MNIST"},
                                                 {"c10", "CIFAR-10", "C10"},
                                                 {"c100", "CIFAR-100", "C100"},
                                                 {"tiny-in", "Tiny-ImageNet", "Tiny-IN"},
                                                 {"in-1k", "ImageNet-1K", "IN-1K"},
                                                 {"fight", "fight clips", "fight clips"},
                                                 {"smarthome-cs", "Smarthome CS", "SmartHome / CS"},
                                                 {"smarthome-cv2", "Smarthome CV2", "SmartHome / CV2"},
                                                 {"nucla-cs", "NUCLA CS", "NUCLA / CS"},
                                                 {"lift", "Lift", "Lift", 100},
                                                 {"can", "Can", "Can", 100},
                                                 {"pusht", "PushT", "PushT", 100}};
  return list;
}

const AblationData& find_data(const std::string& word) {
  return find_named(ablation_data(), "data of a table", word, &AblationData::word);
}

Ablation read_ablation(const std::filesystem::path& file) {
  const toml::table table = parse(file);
  Ablation ablation;
  ablation.name = file.stem();
  Fields fields(table, file.string());
  fields.text("title", ablation.title);
  fields.text("section", ablation.section);
  ablation.commands = read_commands(table, fields, file.string());
  fields.flag("table_per_data", ablation.table_per_data);
  fields.text("x_label", ablation.x_label);
  PaperPlace place;
  fields.text("paper", place.table);
  ablation.paper = place.table;
  fields.text("columns", place.columns);
  fields.text("measure", ablation.measure);
  fields.text("setting", ablation.setting);
  fields.text("note", ablation.note);
  fields.finish({"rows", "recipes", "backbones", "images", "commands", "settings"});
  if (const toml::table* recipes = table["recipes"].as_table()) ablation.recipes = read_recipes(*recipes, fields);
  if (const toml::table* images = table["images"].as_table())
    for (const auto& [scale, count] : read_settings(*images, fields)) ablation.images[scale] = count;
  if (const toml::table* words = table["backbones"].as_table()) ablation.backbones = read_backbones(*words, fields);
  for_tables(table, "rows", fields, [&](const toml::table& row) {
    ablation.rows.push_back(read_row(row, file.string(), place));
    const std::string& word = ablation.rows.back().backbone;
    if (!word.empty() && !ablation.backbones.contains(word))
      throw std::invalid_argument(fields.where(row) + "no [backbones." + printable(word, 40) + ".SCALE] in the file");
  });
  for_tables(table, "settings", fields, [&](const toml::table& line) {
    ablation.settings.push_back(read_setting(line, file.string(), place.table));
  });
  return ablation;
}

std::vector<Ablation> read_ablations(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".toml" && entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<Ablation> all;
  all.reserve(files.size());
  for (const auto& file : files) all.push_back(read_ablation(file));
  return all;
}

const Ablation& find_ablation(const std::vector<Ablation>& all, const std::string& name) {
  return find_named(all, "table or figure", name, &Ablation::name);
}

}  // namespace fib::ablations
