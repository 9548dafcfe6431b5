// SPDX-License-Identifier: Apache-2.0
// Text and images inside of HTML and SVG.
#pragma once

#include <string>

namespace fib::report {

/// For element content and for attributes in double quotes. Control characters, which markup cannot hold, and bytes
/// that are not UTF-8 are shown as escapes; lines stay lines.
std::string escaped_markup(const std::string& text);

/// A PNG file's bytes as the address of an image: data:image/png;base64,…
std::string png_uri(const std::string& png);

}  // namespace fib::report
