// SPDX-License-Identifier: Apache-2.0
// The commands that need torch, listed once: `fib` shows them and becomes fib-torch, which carries them out.
#pragma once

#include "cli/app.h"

namespace fib::cli {

struct CommandTitle {
  const char* name;
  const char* summary;
};

namespace titles {
inline constexpr CommandTitle bench{"bench", "verify, then time: attention beside dense and memcpy"};
}  // namespace titles

/// The row of `fib`: no options of its own.
inline Command in_torch_program(const CommandTitle& title) { return {title.name, title.summary, nullptr}; }

}  // namespace fib::cli
