// SPDX-License-Identifier: Apache-2.0
// Commands that need torch live in a second program, fib-torch, so that the others start at once: loading torch costs
// half a second. `fib` becomes that program, with an environment that must stand before OpenMP is loaded.
#pragma once

#include <filesystem>

namespace fib::cli {

/// Beside this program, or in ../libexec/fibottention where it is installed; throws std::runtime_error when in neither.
std::filesystem::path find_torch_program();

/// Replaces this process; returns only by throwing.
[[noreturn]] void become_torch_program(const char* const* argv);

}  // namespace fib::cli
