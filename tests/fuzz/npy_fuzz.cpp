// SPDX-License-Identifier: Apache-2.0
#include "base/checked.h"
#include "base/npy.h"
#include "fuzz.h"

/// Whatever the bytes: a refusal, or a header that agrees with the file's size.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fib::fuzz::refuse_or_succeed([&] {
    const fib::NpyHeader header = fib::parse_npy(std::as_bytes(std::span(data, size)), "fuzz.npy");
    const auto bytes = fib::checked_bytes(header.shape, header.type == fib::NpyType::float32 ? 4 : 8);
    fib::fuzz::require(bytes && header.data_begin + static_cast<size_t>(*bytes) == size);
  });
  return 0;
}
