// SPDX-License-Identifier: Apache-2.0
// What readers of untrusted files share: sizes that cannot overflow and text that stays on one line.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace fib {

/// item_size × the product of the dimensions; none when one is negative or the product of the non-zero ones does not
/// fit 63 bits. A zero dimension does not excuse absurd ones beside it.
std::optional<int64_t> checked_bytes(std::span<const int64_t> shape, int64_t item_size);

/// "(2, 3)", as Python writes a shape.
std::string shape_text(std::span<const int64_t> shape);

/// Text from a file, in quotes, fit for one line of a message: control and non-ASCII bytes as \xNN, cut at 60
/// characters.
std::string in_quotes(std::string_view text);

}  // namespace fib
