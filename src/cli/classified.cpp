// SPDX-License-Identifier: Apache-2.0
#include "cli/classified.h"

#include <fmt/format.h>

#include <stdexcept>

#include "base/printable.h"
#include "cli/output.h"
#include "data/labels.h"
#include "report/table.h"

namespace fib::cli {
namespace {

nlohmann::ordered_json classified_json(const ClassifiedImage& image) {
  auto top = nlohmann::ordered_json::array();
  for (const RankedClass& c : image.top) {
    top.push_back({{"class", c.index},
                   {"label", c.label.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(c.label)},
                   {"probability", c.probability},
                   {"logit", c.logit}});
  }
  return {{"image", image.file}, {"top", top}};
}

std::string classified_text(const ClassifiedImage& image) {
  using report::Table;
  using enum Table::Align;
  Table table({{"", left}, {"", right}, {"", right}, {"", right}, {"", left}});
  for (const RankedClass& c : image.top) {
    table.add_row({"", fmt::format("{:.2f} %", 100 * c.probability), fmt::format("{:.3f}", c.logit),
                   fmt::format("{}", c.index), c.label});
  }
  return printable(image.file, 200) + "\n" + table.to_string() + "\n";
}

}  // namespace

std::vector<std::string> image_files(StandardStreams& streams, std::vector<std::string> images) {
  for (std::string& image : images) image = streams.input("IMAGE", image);
  return images;
}

size_t show_classified(std::vector<ClassifiedImage> images, const StandardStreams& streams, bool text,
                       nlohmann::ordered_json& json) {
  size_t classified = 0;
  for (ClassifiedImage& image : images) {
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

void check_all_classified(size_t classified, size_t images) {
  if (classified < images)
    throw std::runtime_error(fmt::format("{} of {} images could not be classified", images - classified, images));
}

std::vector<std::string> read_class_names(const std::string& file, int64_t classes) {
  std::vector<std::string> names = read_labels(file);
  if (static_cast<int64_t>(names.size()) == classes) return names;
  throw std::runtime_error(fmt::format("{} names {} classes, the weights have {}", file, names.size(), classes));
}

}  // namespace fib::cli
