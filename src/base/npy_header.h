// SPDX-License-Identifier: Apache-2.0
// The text inside a .npy header: a Python dict with exactly the keys descr, fortran_order and shape.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace fib {

/// What is wrong with the text; the caller knows the file and says so.
struct NpyDictError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct NpyDict {
  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

NpyDict parse_npy_dict(std::string_view text);

}  // namespace fib
