// SPDX-License-Identifier: Apache-2.0
#include "data/object_region.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "base/read_file.h"
#include "base/text.h"
#include "data/images/resize.h"
#include "data/transforms/pillow_ops.h"

namespace fib {
namespace {

/// From the input's pixels back to those of the stored image, along one axis.
struct ViewAxis {
  double begin = 0, scale = 1;
  double stored(double at) const { return (at + begin) * scale; }
};

ViewAxis axis_of(int64_t stored, int64_t resized, int64_t crop) {
  return {static_cast<double>(center_crop_begin(resized, crop)),
          static_cast<double>(stored) / static_cast<double>(resized)};
}

bool lies_within(double at, int low, int high) { return at >= low && at < high + 1; }

bool is_bright_patch(const Image& input, int patch, int row, int column) {
  constexpr int kBright = 25;  // a tenth of 255, rounded down
  int bright = 0;
  for (int y = row * patch; y < (row + 1) * patch; ++y) {
    for (int x = column * patch; x < (column + 1) * patch; ++x)
      bright += grey_of(input.row(y) + ptrdiff_t{3} * x) > kBright;
  }
  return 2 * bright >= patch * patch;
}

/// None where the fields are not five numbers that make a box.
std::optional<std::pair<size_t, ObjectBox>> parse_box(std::string line) {
  for (char& c : line) c = c == ',' ? ' ' : c;
  std::istringstream fields(line);
  int64_t index = -1;
  ObjectBox box;
  std::string rest;
  fields >> index >> box.left >> box.top >> box.right >> box.bottom;
  const bool good = fields && index >= 0 && box.left >= 0 && box.top >= 0 && box.right >= box.left &&
                    box.bottom >= box.top && !(fields >> rest);
  return good ? std::optional(std::pair{static_cast<size_t>(index), box}) : std::nullopt;
}

}  // namespace

PatchRegion patches_in_box(const ObjectBox& box, ImageSize image, const PipelineConfig& view, int patch) {
  const auto shorter = static_cast<int64_t>(std::floor(view.input_size / view.crop_ratio));
  const ImageSize resized = resized_size(image, shorter);
  const ViewAxis across = axis_of(image.width, resized.width, view.input_size);
  const ViewAxis down = axis_of(image.height, resized.height, view.input_size);
  const int side = view.input_size / patch;
  PatchRegion region;
  for (int row = 0; row < side; ++row) {
    for (int column = 0; column < side; ++column)
      region.push_back(lies_within(down.stored((row + 0.5) * patch), box.top, box.bottom) &&
                       lies_within(across.stored((column + 0.5) * patch), box.left, box.right));
  }
  return region;
}

PatchRegion bright_patches(const Image& input, int patch) {
  PatchRegion region;
  for (int row = 0; row < input.height / patch; ++row) {
    for (int column = 0; column < input.width / patch; ++column)
      region.push_back(is_bright_patch(input, patch, row, column));
  }
  return region;
}

std::map<size_t, ObjectBox> read_boxes(const std::filesystem::path& csv) {
  std::istringstream in(read_file(csv, kMaxRecordBytes));
  std::map<size_t, ObjectBox> boxes;
  size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    const bool header = number == 1 && !line.empty() && std::isalpha(static_cast<unsigned char>(line[0])) != 0;
    if (line.empty() || header) continue;
    const auto entry = parse_box(line);
    if (!entry)
      throw std::runtime_error(
          fmt::format("{} line {}: {}, expected index,left,top,right,bottom", csv.string(), number, in_quotes(line)));
    boxes.insert(*entry);
  }
  if (boxes.empty()) throw std::runtime_error(csv.string() + ": names no image, expected index,left,top,right,bottom");
  return boxes;
}

}  // namespace fib
