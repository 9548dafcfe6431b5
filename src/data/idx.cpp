// SPDX-License-Identifier: Apache-2.0
#include "data/idx.h"

#include <stdexcept>

#include "base/checked.h"
#include "data/memory_dataset.h"
#include "data/registry/packed_file.h"
#include "data/row_info.h"

namespace fib {
namespace {

constexpr uint32_t kUnsignedBytes = 0x0800;

uint32_t big_endian(std::span<const uint8_t> bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

std::string hex(uint32_t value) {
  std::string text = "0x";
  for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[value >> shift & 15];
  return text;
}

void check_magic(std::span<const uint8_t> file, size_t rank, const std::string& name) {
  if (file.size() < 4 + 4 * rank)
    throw std::runtime_error(name + ": " + std::to_string(file.size()) + " bytes, an IDX header of rank " +
                             std::to_string(rank) + " has " + std::to_string(4 + 4 * rank));
  const uint32_t magic = big_endian(file), expected = kUnsignedBytes | static_cast<uint32_t>(rank);
  if (magic != expected)
    throw std::runtime_error(name + ": the magic number is " + hex(magic) + ", an IDX file of bytes with rank " +
                             std::to_string(rank) + " has " + hex(expected));
}

struct Content {
  std::string name;
  std::vector<uint8_t> bytes;
};

Content read_checked(const std::filesystem::path& folder, const DatasetFile& file, bool verify) {
  const auto found = find_packed(folder, file.name);
  if (!found) throw std::runtime_error((folder / file.name).string() + ": not found, neither plain nor as .gz");
  Content content{found->string(), read_packed(*found)};
  if (verify) check_md5(*found, content.bytes, file.md5);
  return content;
}

}  // namespace

IdxArray parse_idx(std::span<const uint8_t> file, size_t rank, const std::string& name) {
  check_magic(file, rank, name);
  IdxArray array;
  for (size_t d = 0; d < rank; ++d) array.shape.push_back(big_endian(file.subspan(4 + 4 * d)));
  array.values = file.subspan(4 + 4 * rank);
  const auto expected = checked_bytes(array.shape, 1);
  if (!expected || static_cast<size_t>(*expected) != array.values.size())
    throw std::runtime_error(name + ": " + std::to_string(array.values.size()) + " bytes after the header, its shape " +
                             shape_text(array.shape) + " needs " +
                             (expected ? std::to_string(*expected) : "more than can be counted"));
  return array;
}

DatasetPtr open_idx(const DatasetRow& row, const std::filesystem::path& folder, DatasetPart part, bool verify) {
  const size_t first = part == DatasetPart::train ? 0 : 2;
  const Content images = read_checked(folder, row.files[first], verify);
  const Content labels = read_checked(folder, row.files[first + 1], verify);
  const IdxArray pixels = parse_idx(images.bytes, 3, images.name), classes = parse_idx(labels.bytes, 1, labels.name);
  if (classes.shape[0] != pixels.shape[0])
    throw std::runtime_error(labels.name + ": " + std::to_string(classes.shape[0]) + " labels for the " +
                             std::to_string(pixels.shape[0]) + " images of " + images.name);
  if (pixels.shape[1] != row.image_size || pixels.shape[2] != row.image_size)
    throw std::runtime_error(images.name + ": images of " + shape_text(std::span(pixels.shape).subspan(1)) + ", " +
                             std::string(row.name) + " has " + std::to_string(row.image_size) + " by " +
                             std::to_string(row.image_size));
  MemoryImages memory{
      row.image_size, row.image_size, 1, {pixels.values.begin(), pixels.values.end()}, {}, {images.name}, {0}};
  memory.labels = checked_labels(classes.values, 1, row.classes, labels.name);
  return std::make_shared<MemoryDataset>(info_of(row, folder), std::move(memory));
}

}  // namespace fib
