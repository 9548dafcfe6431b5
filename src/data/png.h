// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace fib {

bool is_png(std::span<const std::byte> file);

/// A PNG reduced to what its pixels need, every chunk complete and with a right checksum, its size accepted.
struct EssentialPng {
  std::string bytes;
  int orientation = 1;
};

/// libpng prints what it dislikes to stderr: wrong checksums, unusual colour profiles, a missing end. So all that is
/// found here first, and chunks that do not matter (profiles, text, times) are left out.
EssentialPng essential_png(std::span<const std::byte> file, const std::string& name);

}  // namespace fib
