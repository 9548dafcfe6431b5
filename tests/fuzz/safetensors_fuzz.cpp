// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <stdexcept>

#include "base/safetensors.h"

namespace {

/// Every byte of every tensor is inside the file, and the tensors cover the data without overlap.
void check_content(const fib::SafetensorsContent& content, const std::byte* end) {
  const std::byte* next = nullptr;
  for (const fib::TensorView& tensor : content.tensors) {
    if (next != nullptr && tensor.bytes.data() != next) std::abort();
    next = tensor.bytes.data() + tensor.bytes.size();
    if (tensor.type > fib::TensorType::bf16) continue;
    std::vector<float> values(static_cast<size_t>(tensor.elements()));
    fib::copy_values(tensor, std::span(values));
  }
  if (next != nullptr && next != end) std::abort();
}

}  // namespace

/// Whatever the bytes: either one exception of the promised kind, or tensors that tile the file.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  try {
    check_content(fib::parse_safetensors(file, "fuzz.safetensors"), file.data() + file.size());
  } catch (const std::runtime_error& error) {
    if (std::string_view(error.what()).find('\n') != std::string_view::npos) std::abort();
  }
  return 0;
}
