// SPDX-License-Identifier: Apache-2.0
#include "cli/recipe_files.h"

#include <set>
#include <stdexcept>

#include "base/nearest.h"

namespace fib::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEnding = ".toml";

}  // namespace

std::vector<fs::path> recipe_folders() {
  const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
  // fib is installed in bin, fib-torch in libexec/fibottention.
  return {"recipes", here / "../recipes", here / "../share/fibottention/recipes",
          here / "../../share/fibottention/recipes"};
}

std::vector<std::string> recipe_names() {
  std::set<std::string> names;
  std::error_code unreadable;
  for (const fs::path& folder : recipe_folders())
    for (const auto& file : fs::directory_iterator(folder, unreadable))
      if (file.path().extension() == kEnding) names.insert(file.path().stem().string());
  return {names.begin(), names.end()};
}

fs::path find_recipe(const std::string& given) {
  if (given == "-") return "/dev/stdin";
  const bool is_path = given.find('/') != std::string::npos || given.ends_with(kEnding);
  if (is_path || fs::is_regular_file(given)) return given;
  for (const fs::path& folder : recipe_folders()) {
    const fs::path file = (folder / (given + kEnding)).lexically_normal();
    if (fs::is_regular_file(file)) return file;
  }
  throw std::invalid_argument(unknown_name("recipe", given, recipe_names()));
}

}  // namespace fib::cli
