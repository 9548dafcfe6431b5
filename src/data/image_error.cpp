// SPDX-License-Identifier: Apache-2.0
#include "data/image_error.h"

#include <stdexcept>

#include "data/image.h"

namespace fib {

void refuse_image(const std::string& name, const std::string& reason) {
  throw std::runtime_error("cannot read image '" + name + "': " + reason);
}

void check_image_size(int64_t width, int64_t height, const std::string& name) {
  const std::string size = std::to_string(width) + "×" + std::to_string(height) + " pixels";
  if (width < 1 || height < 1) refuse_image(name, "its header says " + size);
  if (width > kMaxPixels / height)
    refuse_image(name, size + " are too many, accepted are up to " + std::to_string(kMaxPixels));
}

}  // namespace fib
