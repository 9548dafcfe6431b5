// SPDX-License-Identifier: Apache-2.0
#include "cli/stop_signals.h"

#include <csignal>

namespace fib::cli {
namespace {

volatile std::sig_atomic_t noted = 0;

extern "C" void note_signal(int signal) {
  noted = signal;
  std::signal(signal, SIG_DFL);
}

}  // namespace

StopSignals::StopSignals() {
  noted = 0;
  std::signal(SIGINT, note_signal);
  std::signal(SIGTERM, note_signal);
}

StopSignals::~StopSignals() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

int StopSignals::received() { return noted; }

}  // namespace fib::cli
