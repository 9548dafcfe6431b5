// SPDX-License-Identifier: Apache-2.0
// An array of a recording: its header, and behind a byte that no text holds the file of a chunk.
#include <algorithm>

#include "fuzz.h"
#include "robots/zarr.h"

/// Whatever the bytes: a refusal, or a chunk of the size that the header says. Small ones, so that the time goes into
/// the formats.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int64_t kMaxChunk = 1 << 20;
  const std::string text = fib::fuzz::text_of(data, size);
  const size_t end = std::min(text.find('\xff'), size);
  fib::fuzz::refuse_or_succeed([&] {
    const fib::robots::ZarrHeader header = fib::robots::parse_zarray(text.substr(0, end), "fuzz/.zarray");
    fib::fuzz::require(header.rows() > 0 && header.chunk_rows > 0 && header.chunk_bytes() > 0);
    if (end == size || header.chunk_bytes() > kMaxChunk) return;
    const auto file = std::as_bytes(std::span(data, size)).subspan(end + 1);
    const auto values = fib::robots::decode_zarr_chunk(file, header, "fuzz/0");
    fib::fuzz::require(values.size() == static_cast<size_t>(header.chunk_bytes()));
  });
  return 0;
}
