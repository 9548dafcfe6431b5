// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy files: float32, float64 and, for images, uint8, in C order, little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "base/read_file.h"

namespace fib {

enum class NpyType { float32, float64, uint8 };
/// What a reader can use.
enum class NpyAccepted { floats, bytes };
const char* npy_type_name(NpyType type);

struct NpyHeader {
  NpyType type = NpyType::float32;
  std::vector<int64_t> shape;
  size_t data_begin = 0;  ///< where the values start; they fill the file from there to its end
};

/// Checks a whole file's bytes: format versions 1 to 3, and a size that is exactly what the header says. Throws
/// std::runtime_error with one line: `name`, what was found, what is accepted.
NpyHeader parse_npy(std::span<const std::byte> file, const std::string& name,
                    NpyAccepted accepted = NpyAccepted::floats);

/// An array read in place from the mapped file. Move-only; the values live as long as the array.
class NpyArray {
 public:
  explicit NpyArray(const std::filesystem::path& file, NpyAccepted accepted = NpyAccepted::floats);

  NpyType type() const { return header_.type; }
  const std::vector<int64_t>& shape() const { return header_.shape; }
  /// T is float, double or uint8_t as type() says; the others throw std::logic_error.
  template <class T>
  std::span<const T> values() const;

 private:
  MappedFile file_;
  NpyHeader header_;
  std::vector<std::byte> aligned_;  ///< a copy, only where a header of odd length leaves the values misaligned
};

/// Writes version 1. T is float, double or uint8_t; throws std::invalid_argument unless the values fill the shape.
template <class T>
void write_npy(AtomicFile& file, std::span<const int64_t> shape, std::span<const T> values);
/// The same, committed.
template <class T>
void write_npy(const std::filesystem::path& file, std::span<const int64_t> shape, std::span<const T> values);

}  // namespace fib
