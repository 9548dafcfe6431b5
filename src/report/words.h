// SPDX-License-Identifier: Apache-2.0
// Numbers and support sets in words, the same in tables and in images.
#pragma once

#include <cstdint>
#include <string>

#include "fibottention/pattern.h"

namespace fib::report {

/// 1234567 as 1,234,567.
std::string grouped(int64_t value);
/// 1.5 KiB.
std::string bytes(int64_t count);

/// "NAME, 196 tokens + 1 class token, 12 heads".
std::string describe_support(const std::string& name, const SupportSet& support);

/// The offsets of a head in at most `width` columns: "1 2 3 5", "1 2 3 … 34 55 (9)", with "0" for the diagonal and
/// "+ 196 random" for listed pairs.
std::string describe_keys(const SupportSet::Head& head, size_t width, const std::string& ellipsis);

}  // namespace fib::report
