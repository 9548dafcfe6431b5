// SPDX-License-Identifier: Apache-2.0
// What `fib classify` says of an image, whoever classified it.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/printable.h"
#include "cli/output.h"
#include "cli/standard_streams.h"
#include "data/labels.h"
#include "report/table.h"

namespace fib::cli {

template <class Image>
nlohmann::ordered_json classified_json(const Image& image) {
  auto top = nlohmann::ordered_json::array();
  for (const auto& c : image.top) {
    top.push_back({{"class", c.index},
                   {"label", c.label.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(c.label)},
                   {"probability", c.probability},
                   {"logit", c.logit}});
  }
  return {{"image", image.file}, {"top", top}};
}

template <class Image>
std::string classified_text(const Image& image) {
  using report::Table;
  using enum Table::Align;
  Table table({{"", left}, {"", right}, {"", right}, {"", right}, {"", left}});
  for (const auto& c : image.top) {
    table.add_row({"", fmt::format("{:.2f} %", 100 * c.probability), fmt::format("{:.3f}", c.logit),
                   fmt::format("{}", c.index), c.label});
  }
  return printable(image.file, 200) + "\n" + table.to_string() + "\n";
}

/// The files to read; "-" is standard input.
inline std::vector<std::string> image_files(StandardStreams& streams, std::vector<std::string> images) {
  for (std::string& image : images) image = streams.input("IMAGE", image);
  return images;
}

/// The results of some files, shown or collected; how many there are.
template <class Image>
size_t show_classified(std::vector<Image> images, const StandardStreams& streams, bool text,
                       nlohmann::ordered_json& json) {
  size_t classified = 0;
  for (Image& image : images) {
    image.file = streams.shown(image.file);
    if (!image.error.empty()) {
      say_error(image.error);
      continue;
    }
    json.push_back(classified_json(image));
    if (text) fmt::print("{}", classified_text(image));
    ++classified;
  }
  return classified;
}

inline void check_all_classified(size_t classified, size_t images) {
  if (classified < images)
    throw std::runtime_error(fmt::format("{} of {} images could not be classified", images - classified, images));
}

inline std::vector<std::string> read_class_names(const std::string& file, int64_t classes) {
  std::vector<std::string> names = read_labels(file);
  if (static_cast<int64_t>(names.size()) == classes) return names;
  throw std::runtime_error(fmt::format("{} names {} classes, the weights have {}", file, names.size(), classes));
}

}  // namespace fib::cli
