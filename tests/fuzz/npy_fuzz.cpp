// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <stdexcept>

#include "base/checked.h"
#include "base/npy.h"

/// Whatever the bytes: either one exception of the promised kind, or a header that agrees with the file's size.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const fib::NpyHeader header = fib::parse_npy(std::as_bytes(std::span(data, size)), "fuzz.npy");
    const auto bytes = fib::checked_bytes(header.shape, header.type == fib::NpyType::float32 ? 4 : 8);
    if (!bytes || header.data_begin + static_cast<size_t>(*bytes) != size) std::abort();
  } catch (const std::runtime_error& error) {
    if (std::string_view(error.what()).find('\n') != std::string_view::npos) std::abort();
  }
  return 0;
}
