// SPDX-License-Identifier: Apache-2.0
// What the library that decodes clips offers: clip.h without the turning.
#pragma once

#include "data/clips/clip.h"

namespace fib {

struct ClipDecoder {
  ClipIndex (*index)(const std::filesystem::path& file);
  std::vector<Image> (*read)(const std::filesystem::path& file, const ClipIndex& index,
                             std::span<const size_t> numbers);
};

}  // namespace fib
