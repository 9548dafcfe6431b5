// SPDX-License-Identifier: Apache-2.0
#include "base/plugin.h"

#include <dlfcn.h>

#include <filesystem>
#include <stdexcept>

namespace fib {
namespace {

std::filesystem::path find_plugin(const std::string& library, const std::string& purpose) {
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  for (const auto& candidate : {here / library, here / "../libexec/fibottention" / library}) {
    if (std::filesystem::exists(candidate)) return candidate;
  }
  throw std::runtime_error(purpose + " need " + library +
                           ", which is neither beside the program nor in ../libexec/fibottention; build with "
                           "libavcodec-dev, libavformat-dev and libswscale-dev");
}

}  // namespace

void* plugin_function(const std::string& library, const char* function, const std::string& purpose) {
  void* const loaded = dlopen(find_plugin(library, purpose).c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const found = loaded == nullptr ? nullptr : dlsym(loaded, function);
  if (found == nullptr) throw std::runtime_error("cannot load " + library + ": " + dlerror());
  return found;
}

}  // namespace fib
