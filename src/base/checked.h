// SPDX-License-Identifier: Apache-2.0
// What readers of untrusted files share: sizes that cannot overflow.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace fib {

/// item_size × the product of the dimensions; none when one is negative or the product of the non-zero ones does not
/// fit 63 bits. A zero dimension does not excuse absurd ones beside it.
std::optional<int64_t> checked_bytes(std::span<const int64_t> shape, int64_t item_size);

/// "(2, 3)", as Python writes a shape.
std::string shape_text(std::span<const int64_t> shape);

}  // namespace fib
