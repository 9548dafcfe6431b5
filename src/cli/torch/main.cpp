// SPDX-License-Identifier: Apache-2.0
// fib-torch: the commands that need torch. People call `fib`, which becomes this program.
#include <torch/torch.h>

#include <exception>

#include "cli/app.h"
#include "cli/commands/command_table.h"
#include "cli/torch/train_session.h"

namespace {

using namespace fib::cli;

/// Each command's run() is in a file of cli/torch.
struct RunsHere {
  template <class Arguments>
  static void run(const Arguments& arguments, const Globals& globals) {
    fib::cli::run(arguments, globals);
  }
};

/// Debian's LibTorch starts with one intra-op thread, whatever the machine has.
void set_threads(const Globals& globals) { use_torch_threads(globals.threads); }

/// Without the C++ stack that torch appends; what its allocator says, in short.
std::string explain(const std::exception& error) {
  const auto* from_torch = dynamic_cast<const c10::Error*>(&error);
  if (from_torch == nullptr) return explain_failure(error);
  const std::string text = from_torch->what_without_backtrace();
  if (text.find("DefaultCPUAllocator") == std::string::npos) return text;
  const std::string before = "tried to allocate ";
  const size_t amount = text.find(before), end = text.find(" bytes", amount);
  if (amount == std::string::npos || end == std::string::npos) return "out of memory";
  return "out of memory: could not get " + text.substr(amount + before.size(), end - amount - before.size()) + " bytes";
}

}  // namespace

int main(int argc, char** argv) {
  // A thread of LibTorch's store throws where nothing catches it when rank 0 is gone.
  std::set_terminate(end_in_one_line);
  return run_app(argc, argv, {command_table<RunsHere>(), set_threads, explain});
}
