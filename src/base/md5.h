// SPDX-License-Identifier: Apache-2.0
// MD5 (RFC 1321): not for secrets, but it is what published datasets are identified by.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace fib {

/// 32 lower-case hexadecimal digits.
std::string md5_hex(std::span<const std::byte> bytes);

}  // namespace fib
