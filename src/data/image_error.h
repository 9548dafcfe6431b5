// SPDX-License-Identifier: Apache-2.0
// The one line that a picture's defects become.
#pragma once

#include <cstdint>
#include <string>

namespace fib {

[[noreturn]] void refuse_image(const std::string& name, const std::string& reason);

/// Throws unless both sides are positive and the product is at most kMaxPixels.
void check_image_size(int64_t width, int64_t height, const std::string& name);

}  // namespace fib
