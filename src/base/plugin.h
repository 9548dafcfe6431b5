// SPDX-License-Identifier: Apache-2.0
// Libraries of ours that are loaded when they are needed first: what they bring with them would slow down every start.
#pragma once

#include <string>

namespace fib {

struct Plugin {
  std::string library;
  std::string purpose;   ///< what needs it, in the plural
  std::string packages;  ///< what it is built with
};

/// What reads clips and writes videos.
inline Plugin video_plugin(const char* purpose) {
  return {"libfib_video.so", purpose, "libavcodec-dev, libavformat-dev and libswscale-dev"};
}

/// The address of a function in a library that lies beside the program or in ../libexec/fibottention. It stays loaded.
/// Throws std::runtime_error naming the library, what it is for and what it is built with.
void* plugin_function(const Plugin& plugin, const char* function);

}  // namespace fib
