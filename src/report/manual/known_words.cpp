// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <functional>
#include <sstream>

#include "attention/registry.h"
#include "base/nearest.h"
#include "data/registry/datasets.h"
#include "models/table.h"
#include "report/manual/manual.h"
#include "training/recipe/recipe_files.h"

namespace fib::report {
namespace {

struct WordList {
  const char* value;
  std::function<std::vector<std::string>()> words;
};

const std::vector<WordList>& word_lists() {
  static const std::vector<WordList> lists = {
      {"SPEC", [] { return names_of(attention::mechanisms(), &attention::MechanismInfo::name); }},
      {"MODEL", [] { return names_of(models::table(), &models::ModelRow::name); }},
      {"DATA", [] { return names_of(dataset_rows(), &DatasetRow::name); }},
      {"RECIPE", training::recipe_names},
  };
  return lists;
}

/// A word with capitals stands for something else, as in ddpm|ddim:K.
bool stands_for_itself(const std::string& word) {
  return !word.empty() && std::ranges::none_of(word, [](unsigned char c) { return std::isupper(c); });
}

}  // namespace

std::vector<std::string> known_words(const std::string& value) {
  for (const WordList& list : word_lists())
    if (value == list.value) return list.words();
  if (value.find('|') == std::string::npos) return {};
  std::string plain = value.substr(0, value.find(','));
  std::erase_if(plain, [](char c) { return c == '[' || c == ']'; });
  std::vector<std::string> words;
  std::istringstream parts(plain);
  for (std::string word; std::getline(parts, word, '|');)
    if (stands_for_itself(word)) words.push_back(word);
  return words;
}

}  // namespace fib::report
