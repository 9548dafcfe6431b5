// SPDX-License-Identifier: Apache-2.0
// Arrays in zarr v2 directories, as far as recorded demonstrations use the format: C order, chunks of whole rows,
// Blosc. Everything on disk is a stranger's: sizes are bounded before memory is taken, and each defect is one line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fib::robots {

enum class ZarrType { float32, int64 };

struct ZarrHeader {
  ZarrType type = ZarrType::float32;
  std::vector<int64_t> shape;
  int64_t chunk_rows = 0;
  bool compressed = false;
  char separator = '.';  ///< in the names of chunks

  int64_t rows() const { return shape.front(); }
  int64_t row_values() const;
  int64_t item_bytes() const { return type == ZarrType::float32 ? 4 : 8; }
  /// Chunks are whole also at the end of the array.
  int64_t chunk_bytes() const { return chunk_rows * row_values() * item_bytes(); }
};

/// Throws std::runtime_error with one line: `name`, what was found, what is accepted.
ZarrHeader parse_zarray(std::string_view json, const std::string& name);

/// What a chunk's file holds must be exactly what the header says.
std::vector<std::byte> decode_zarr_chunk(std::span<const std::byte> file, const ZarrHeader& header,
                                         const std::string& name);

/// Keeps the chunk it read last, for those who read on; each thread has its own.
class ZarrArray {
 public:
  /// `folder` holds .zarray; throws unless values are of this type and rows of this shape.
  ZarrArray(std::filesystem::path folder, ZarrType type, std::span<const int64_t> row_shape);

  int64_t rows() const { return header_.rows(); }
  /// Rows [begin, end); T is float or int64_t as the type says.
  template <class T>
  std::vector<T> read(int64_t begin, int64_t end);

 private:
  void load_chunk(int64_t chunk);

  std::filesystem::path folder_;
  ZarrHeader header_;
  int64_t loaded_ = -1;
  std::vector<std::byte> chunk_;
};

}  // namespace fib::robots
