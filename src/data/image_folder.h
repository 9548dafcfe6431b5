// SPDX-License-Identifier: Apache-2.0
// A folder of class folders of pictures.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace fib {

struct LabelledImage {
  std::filesystem::path file;
  int64_t label = 0;
};

struct ImageFolder {
  std::vector<std::string> classes;   ///< the folders' names, by ascending label
  std::vector<LabelledImage> images;  ///< by label, then by path: the same on every machine
  int64_t num_labels = 0;             ///< the largest label plus one
};

/// A class folder whose name is all digits is that class index; otherwise names are sorted and numbered from 0.
/// Pictures are found by their extension (jpg, jpeg, png, webp, in any case), in folders within folders too;
/// hidden files and all others are passed by. Throws std::runtime_error with one line: no such folder, no class
/// folders, numbers mixed with names, one number twice, a class without pictures.
ImageFolder list_image_folder(const std::filesystem::path& folder);

}  // namespace fib
