// SPDX-License-Identifier: Apache-2.0
#include "data/memory_dataset.h"

#include <algorithm>

namespace fib {

MemoryDataset::MemoryDataset(DatasetInfo info, MemoryImages images)
    : Dataset(std::move(info), std::move(images.labels)), images_(std::move(images)) {}

Image MemoryDataset::image(size_t index) const {
  Image image = make_image(images_.width, images_.height);
  const size_t pixels = image.pixels.size() / 3;
  if (images_.channels == 3) {
    std::copy_n(&images_.pixels[index * 3 * pixels], 3 * pixels, image.pixels.data());
    return image;
  }
  const uint8_t* grey = &images_.pixels[index * pixels];
  for (size_t p = 0; p < pixels; ++p) std::fill_n(&image.pixels[3 * p], 3, grey[p]);
  return image;
}

std::string MemoryDataset::item_name(size_t index) const {
  const auto next = std::upper_bound(images_.first_of_file.begin(), images_.first_of_file.end(), index);
  const size_t file = static_cast<size_t>(next - images_.first_of_file.begin()) - 1;
  return images_.files[file] + " image " + std::to_string(index - images_.first_of_file[file]);
}

}  // namespace fib
