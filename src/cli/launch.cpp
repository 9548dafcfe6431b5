// SPDX-License-Identifier: Apache-2.0
// Commands that need torch live in a second program, fib-torch, so that the others start at once: loading torch costs
// half a second. `fib` becomes that program, with an environment that must stand before OpenMP is loaded.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>

#include "base/processor.h"
#include "cli/command.h"

namespace fib::cli {
namespace {

constexpr const char* kProgram = "fib-torch";

/// What the user has set stays. Threads that wait asleep instead of spinning made a ViT-B 1.6 times faster on two
/// cores: torch, its BLAS and our kernels take turns.
void set_environment() {
  constexpr int keep = 0, replace = 1;
  setenv("OMP_WAIT_POLICY", "passive", keep);
  if (const auto core = openblas_core()) setenv("OPENBLAS_CORETYPE", core->c_str(), keep);
  // A training step takes and returns the same large tensors each time. Kept, and on huge pages, they need not be
  // mapped and zeroed again: a third of the time of a step with full attention.
  setenv("GLIBC_TUNABLES",
         "glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=4294967296:glibc.malloc.trim_threshold=4294967296", keep);
  // torchrun allows each process one thread; the cores are divided among the processes instead.
  if (const char* processes = std::getenv("LOCAL_WORLD_SIZE")) {
    const unsigned long share =
        std::thread::hardware_concurrency() / std::max(1UL, std::strtoul(processes, nullptr, 10));
    setenv("OMP_NUM_THREADS", std::to_string(std::max(1UL, share)).c_str(), replace);
  }
}

/// Beside this program, or in ../libexec/fibottention where it is installed.
std::filesystem::path find_torch_program() {
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  for (const auto& candidate : {here / kProgram, here / "../libexec/fibottention" / kProgram}) {
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  throw std::runtime_error(
      "this command needs fib-torch, which is neither beside fib nor in ../libexec/fibottention; "
      "build with FIB_WITH_TORCH=ON");
}

}  // namespace

void become_torch_program(const char* const* argv) {
  const std::filesystem::path program = find_torch_program();
  set_environment();
  execv(program.c_str(), const_cast<char* const*>(argv));
  throw std::runtime_error("cannot run " + program.string() + ": " + std::strerror(errno));
}

}  // namespace fib::cli
