// SPDX-License-Identifier: Apache-2.0
// What the targets share: the promise that readers of untrusted input keep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace fib::fuzz {

/// The one thing that a target checks: where it does not hold, libFuzzer keeps the input.
inline void require(bool fact) {
  if (!fact) std::abort();
}

/// Runs `use`, which may refuse its input, but only by an exception of the promised kind and with one line.
template <class Use>
void refuse_or_succeed(const Use& use) {
  std::string message;
  try {
    use();
    return;
  } catch (const std::invalid_argument& error) {
    message = error.what();
  } catch (const std::runtime_error& error) {
    message = error.what();
  }
  require(!message.empty() && message.find('\n') == std::string::npos);
}

inline std::string text_of(const uint8_t* data, size_t size) { return {reinterpret_cast<const char*>(data), size}; }

}  // namespace fib::fuzz
