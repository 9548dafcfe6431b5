// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and a polite kill as a wish that long work can grant at its next good moment.
#pragma once

namespace fib::cli {

/// While it lives SIGINT and SIGTERM only leave a note; one that comes half a second later ends the program as usual.
class StopSignals {
 public:
  /// `line`, a literal, says on stderr at once that a signal was heard and what becomes of the work; empty: nothing.
  explicit StopSignals(const char* line = "");
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// The signal that came; 0: none.
  static int received();
};

}  // namespace fib::cli
