// SPDX-License-Identifier: Apache-2.0
// Runs the built program as a person would, through the shell.
#pragma once

#include <string>

struct Outcome {
  int code;
  std::string out, err;
};

/// `arguments` as typed after `fib`.
Outcome run_fib(const std::string& arguments);

/// A fresh path for a file the test writes; removed when the test program ends.
std::string scratch_path(const std::string& name);
std::string read_file(const std::string& path);
