// SPDX-License-Identifier: Apache-2.0
// Tiny ImageNet as its archive unpacks: wnids.txt, words.txt, train/<wnid>/images, val/images and
// val/val_annotations.txt.
#pragma once

#include <filesystem>

#include "data/open_dataset.h"

namespace fib {

/// Classes are the wnids in alphabetical order. Every image has the box of its object.
DatasetPtr open_tiny_imagenet(const DatasetRow& row, const std::filesystem::path& folder, DatasetPart part);

}  // namespace fib
