// SPDX-License-Identifier: Apache-2.0
// Libraries of ours that are loaded when they are needed first: what they bring with them would slow down every start.
#pragma once

#include <string>

namespace fib {

/// The address of a function in a library that lies beside the program or in ../libexec/fibottention. It stays loaded.
/// Throws std::runtime_error naming the library, what it is for and what it is built with.
void* plugin_function(const std::string& library, const char* function, const std::string& purpose);

}  // namespace fib
