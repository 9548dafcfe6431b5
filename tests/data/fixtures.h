// SPDX-License-Identifier: Apache-2.0
// Small datasets on disk and in memory.
#pragma once

#include <zlib.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/dataset.h"
#include "files.h"

namespace fib::test {

inline std::string big_endian(uint32_t v) {
  return {static_cast<char>(v >> 24), static_cast<char>(v >> 16), static_cast<char>(v >> 8), static_cast<char>(v)};
}

/// An IDX file of bytes.
inline std::string idx_file(const std::vector<uint32_t>& shape, const std::string& values) {
  std::string file = big_endian(0x0800U | static_cast<uint32_t>(shape.size()));
  for (uint32_t d : shape) file += big_endian(d);
  return file + values;
}

inline void write_gzip(const std::filesystem::path& file, const std::string& content) {
  gzFile out = gzopen(file.c_str(), "wb");
  gzwrite(out, content.data(), static_cast<unsigned>(content.size()));
  gzclose(out);
}

/// n grey 28 × 28 images: image i is filled with the value i and has label i mod 10.
inline std::string idx_images(uint32_t n) {
  std::string values;
  for (uint32_t i = 0; i < n; ++i) values += std::string(28 * 28, static_cast<char>(i));
  return idx_file({n, 28, 28}, values);
}
inline std::string idx_labels(uint32_t n) {
  std::string values;
  for (uint32_t i = 0; i < n; ++i) values += static_cast<char>(i % 10);
  return idx_file({n}, values);
}
inline void write_mnist(const std::filesystem::path& folder, uint32_t train, uint32_t test) {
  write_file(folder / "train-images-idx3-ubyte", idx_images(train));
  write_file(folder / "train-labels-idx1-ubyte", idx_labels(train));
  write_gzip(folder / "t10k-images-idx3-ubyte.gz", idx_images(test));
  write_gzip(folder / "t10k-labels-idx1-ubyte.gz", idx_labels(test));
}

/// n images of side × side whose bytes all equal their number, labels modulo classes.
inline DatasetPtr counting_dataset(size_t n, int side = 8, int64_t classes = 10) {
  MemoryImages images{side, side, 1, {}, {}, {"memory"}, {0}};
  for (size_t i = 0; i < n; ++i) {
    images.pixels.insert(images.pixels.end(), static_cast<size_t>(side * side), static_cast<uint8_t>(i));
    images.labels.push_back(static_cast<int64_t>(i) % classes);
  }
  DatasetInfo info;
  info.name = "counting";
  info.classes = classes;
  info.image_size = side;
  info.channels = 1;
  info.mean = {0};
  info.std = {1};
  return std::make_shared<MemoryDataset>(info, std::move(images));
}

/// Sets an environment variable for a test.
class Environment {
 public:
  Environment(std::string name, const std::string& value) : name_(std::move(name)) {
    if (const char* old = std::getenv(name_.c_str())) before_ = old;
    ::setenv(name_.c_str(), value.c_str(), 1);
  }
  ~Environment() {
    if (before_) {
      ::setenv(name_.c_str(), before_->c_str(), 1);
    } else {
      ::unsetenv(name_.c_str());
    }
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::string name_;
  std::optional<std::string> before_;
};

}  // namespace fib::test
