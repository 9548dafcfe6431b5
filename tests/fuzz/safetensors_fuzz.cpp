// SPDX-License-Identifier: Apache-2.0
#include "base/safetensors.h"
#include "fuzz.h"

namespace {

/// Every byte of every tensor is inside the file, and the tensors cover the data without overlap.
void check_content(const fib::SafetensorsContent& content, const std::byte* end) {
  const std::byte* next = nullptr;
  for (const fib::TensorView& tensor : content.tensors) {
    fib::fuzz::require(next == nullptr || tensor.bytes.data() == next);
    next = tensor.bytes.data() + tensor.bytes.size();
    if (tensor.type > fib::TensorType::bf16) continue;
    std::vector<float> values(static_cast<size_t>(tensor.elements()));
    fib::copy_values(tensor, std::span(values));
  }
  fib::fuzz::require(next == nullptr || next == end);
}

}  // namespace

/// Whatever the bytes: a refusal, or tensors that tile the file.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  fib::fuzz::refuse_or_succeed(
      [&] { check_content(fib::parse_safetensors(file, "fuzz.safetensors"), file.data() + file.size()); });
  return 0;
}
