// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <stdexcept>

#include "base/checked.h"
#include "data/dataset.h"
#include "data/file_formats.h"
#include "data/registry/packed_file.h"

namespace fib {
namespace {

constexpr uint32_t kUnsignedBytes = 0x0800;

uint32_t big_endian(std::span<const uint8_t> bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

size_t header_size(size_t rank) { return 4 + 4 * rank; }

void check_magic(std::span<const uint8_t> file, size_t rank, const std::string& name) {
  if (file.size() < header_size(rank))
    throw std::runtime_error(
        fmt::format("{}: {} bytes, an IDX header of rank {} has {}", name, file.size(), rank, header_size(rank)));
  const uint32_t magic = big_endian(file), expected = kUnsignedBytes | static_cast<uint32_t>(rank);
  if (magic != expected)
    throw std::runtime_error(
        fmt::format("{}: the magic number is {:#010x}, an IDX file of bytes with rank {} has {:#010x}", name, magic,
                    rank, expected));
}

std::vector<int64_t> shape_of(std::span<const uint8_t> file, size_t rank) {
  std::vector<int64_t> shape;
  for (size_t d = 0; d < rank; ++d) shape.push_back(big_endian(file.subspan(4 + 4 * d)));
  return shape;
}

struct Content {
  std::string name;
  std::vector<uint8_t> bytes;
};

/// No more is unpacked than the header announces.
Content read_checked(const DatasetRequest& wanted, const DatasetFile& file, size_t rank) {
  const auto found = find_packed(wanted.folder, file.name);
  if (!found) throw std::runtime_error((wanted.folder / file.name).string() + ": not found, neither plain nor as .gz");
  const size_t size = idx_file_size(read_packed_start(*found, header_size(rank)), rank, found->string());
  Content content{found->string(), read_packed(*found, size)};
  if (wanted.verify) check_md5(*found, content.bytes, file.md5);
  return content;
}

}  // namespace

size_t idx_file_size(std::span<const uint8_t> start, size_t rank, const std::string& name) {
  check_magic(start, rank, name);
  const std::vector<int64_t> shape = shape_of(start, rank);
  const auto values = checked_bytes(shape, 1);
  if (!values || static_cast<size_t>(*values) > kMaxUnpacked)
    throw std::runtime_error(fmt::format("{}: its header announces the shape {}, accepted are up to {} values", name,
                                         shape_text(shape), kMaxUnpacked));
  return header_size(rank) + static_cast<size_t>(*values);
}

IdxArray parse_idx(std::span<const uint8_t> file, size_t rank, const std::string& name) {
  const size_t announced = idx_file_size(file, rank, name) - header_size(rank);
  IdxArray array{shape_of(file, rank), file.subspan(header_size(rank))};
  if (announced != array.values.size())
    throw std::runtime_error(fmt::format("{}: {} bytes after the header, its shape {} needs {}", name,
                                         array.values.size(), shape_text(array.shape), announced));
  return array;
}

DatasetPtr open_idx(const DatasetRequest& wanted) {
  const DatasetRow& row = wanted.row;
  const size_t first = wanted.part == DatasetPart::train ? 0 : 2;
  const Content images = read_checked(wanted, row.files[first], 3);
  const Content labels = read_checked(wanted, row.files[first + 1], 1);
  const IdxArray pixels = parse_idx(images.bytes, 3, images.name), classes = parse_idx(labels.bytes, 1, labels.name);
  if (classes.shape[0] != pixels.shape[0])
    throw std::runtime_error(fmt::format("{}: {} labels for the {} images of {}", labels.name, classes.shape[0],
                                         pixels.shape[0], images.name));
  if (pixels.shape[1] != row.image_size || pixels.shape[2] != row.image_size)
    throw std::runtime_error(fmt::format("{}: images of {}, {} has {} by {}", images.name,
                                         shape_text(std::span(pixels.shape).subspan(1)), row.name, row.image_size,
                                         row.image_size));
  MemoryImages memory{
      row.image_size, row.image_size, 1, {pixels.values.begin(), pixels.values.end()}, {}, {images.name}, {0}};
  memory.labels = checked_labels(classes.values, 1, row.classes, labels.name);
  return std::make_shared<MemoryDataset>(info_of(row, wanted.folder), std::move(memory));
}

}  // namespace fib
