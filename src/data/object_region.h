// SPDX-License-Identifier: Apache-2.0
// Which patches of a model's input show the object: from a box, or by a rule for bright things on black ground.
#pragma once

#include <filesystem>
#include <map>
#include <vector>

#include "data/dataset.h"
#include "data/pipeline.h"

namespace fib {

/// One entry per patch of the square input, in reading order.
using PatchRegion = std::vector<bool>;

/// The patches whose centre lies in the box, which is given in pixels of the image as it is stored; `view` is an
/// evaluation's way to the input (CropMode::center).
PatchRegion patches_in_box(const ObjectBox& box, ImageSize image, const PipelineConfig& view, int patch);

/// The patches at least half of whose pixels are brighter than a tenth of white: the foreground rule for Fashion-MNIST
/// and MNIST, whose ground is black. `input` is the square input before normalization.
PatchRegion bright_patches(const Image& input, int patch);

/// Boxes by number of the image in its dataset, from lines "index,left,top,right,bottom" in pixels of the stored
/// image, right and bottom inside; a first line that begins with a letter is a header. Throws std::runtime_error with
/// file and line for anything else, and for a file without a box.
std::map<size_t, ObjectBox> read_boxes(const std::filesystem::path& csv);

}  // namespace fib
