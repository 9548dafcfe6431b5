// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <memory>

#include "engine/fib_file.h"
#include "fuzz.h"

namespace {

constexpr size_t kAlignment = 64;

/// A mapped file begins on a page: tensors are aligned as far as their offsets are.
std::unique_ptr<std::byte, void (*)(void*)> aligned_copy(const uint8_t* data, size_t size) {
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(kAlignment, (size / kAlignment + 1) * kAlignment));
  std::memcpy(memory, data, size);
  return {memory, std::free};
}

}  // namespace

/// Whatever the bytes: a refusal, or steps that were checked against their tensors.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = aligned_copy(data, size);
  fib::fuzz::refuse_or_succeed([&] {
    const fib::SafetensorsContent content = fib::parse_safetensors({file.get(), size}, "fuzz.fib");
    const auto read = fib::engine::read_fib_metadata(content.metadata, content.tensors, "fuzz.fib");
    for (const auto& program : read.programs) fib::engine::check_program(program);
  });
  return 0;
}
