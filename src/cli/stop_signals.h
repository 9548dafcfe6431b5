// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and SIGTERM as a cancellation that long work sees between its parts.
#pragma once

#include "base/cancel.h"

namespace fib::cli {

/// While it lives the first SIGINT or SIGTERM requests a cancellation; one that comes half a second later ends the
/// program as usual.
class StopSignals {
 public:
  /// `line`, a literal, says on stderr at once that a signal was heard and what becomes of the work; empty: nothing.
  explicit StopSignals(CancelSource& source, const char* line = "");
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
};

}  // namespace fib::cli
