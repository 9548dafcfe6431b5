// SPDX-License-Identifier: Apache-2.0
// What a person sees of long work: on a terminal a bar with rate and time left, otherwise a line now and then.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace fib::cli {

class Progress {
 public:
  /// `unit` is what is counted, in the plural: "images". Work that was done before, as in a resumed run, has no rate.
  Progress(std::string unit, int64_t total, bool quiet, int64_t done_before = 0);
  /// Leaves no bar behind.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `note` stands behind the time left.
  void show(int64_t done, const std::string& note = "");
  /// A line that stays, above the bar.
  void say(const std::string& line);

 private:
  void clear_bar();
  std::string text(int64_t done, double seconds) const;

  std::string unit_;
  int64_t total_, done_before_, last_done_;
  bool quiet_, terminal_;
  std::chrono::steady_clock::time_point begin_;
  double shown_ = 0;     ///< seconds after begin_
  double advanced_ = 0;  ///< when more was done than before: other work meanwhile does not lower the rate shown
};

/// "1:02:03", "2:03", without fractions.
std::string clock_text(double seconds);

/// ", 37.9/s, 2:02 left"; slow work has seconds each instead of a rate, work not begun neither.
std::string speed_text(int64_t done, int64_t left, double seconds);

/// Twenty cells filled by eighths: "████▌               ".
std::string bar_text(double share);

}  // namespace fib::cli
