// SPDX-License-Identifier: Apache-2.0
// How far long work has come: a bar on a terminal, a line now and then elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "cli/output.h"

namespace fib::cli {

/// Work that is counted.
class ProgressBar {
 public:
  /// `unit` is what is counted, in the plural: "images". Work that was done before, as in a resumed run, has no rate.
  ProgressBar(std::string unit, int64_t total, bool quiet, int64_t done_before = 0);

  /// `note` stands behind the time left.
  void show(int64_t done, const std::string& note = "");
  /// Work beside what is counted, such as evaluations: the seconds it has taken, and those that are still to come. They
  /// do not change the rate; the time left includes them.
  void other_work(double taken, double to_come);
  /// A line that stays, above the bar; nothing when quiet.
  void say(const std::string& line);

 private:
  std::string text(int64_t done) const;
  std::string bar_before(const std::string& words, int64_t done) const;

  std::string unit_;
  int64_t total_, done_before_, last_done_;
  bool quiet_;
  StatusLine line_;
  std::chrono::steady_clock::time_point begin_;
  double shown_ = 0;   ///< seconds after begin_
  double worked_ = 0;  ///< seconds that what is done has taken, without other work
  double other_taken_ = 0, other_to_come_ = 0;
};

/// "1:02:03", "2:03", without fractions.
std::string clock_text(double seconds);

/// ", 37.9/s, 2:02 left"; slow work has seconds each instead of a rate, work not begun neither. `other` seconds come on
/// top of what is left.
std::string speed_text(int64_t done, int64_t left, double seconds, double other = 0);

/// Cells filled by eighths: "████▌               ".
std::string bar_text(double share, int64_t cells = 20);

}  // namespace fib::cli
