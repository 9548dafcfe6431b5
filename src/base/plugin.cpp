// SPDX-License-Identifier: Apache-2.0
#include "base/plugin.h"

#include <dlfcn.h>

#include <filesystem>
#include <stdexcept>

namespace fib {
namespace {

std::filesystem::path find_plugin(const Plugin& plugin) {
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  for (const auto& candidate : {here / plugin.library, here / "../libexec/fibottention" / plugin.library}) {
    if (std::filesystem::exists(candidate)) return candidate;
  }
  throw std::runtime_error(plugin.purpose + " need " + plugin.library +
                           ", which is neither beside the program nor in ../libexec/fibottention; build with " +
                           plugin.packages);
}

}  // namespace

void* plugin_function(const Plugin& plugin, const char* function) {
  void* const loaded = dlopen(find_plugin(plugin).c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const found = loaded == nullptr ? nullptr : dlsym(loaded, function);
  if (found == nullptr) throw std::runtime_error("cannot load " + plugin.library + ": " + dlerror());
  return found;
}

}  // namespace fib
