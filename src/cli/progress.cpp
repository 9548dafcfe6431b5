// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/text.h"

namespace fib::cli {
namespace {

/// Often enough to look alive; a log wants fewer lines.
constexpr double kBarSeconds = 0.1, kLineSeconds = 10.0;
constexpr int64_t kMostCells = 20, kFewestCells = 4;

}  // namespace

std::string clock_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::llround(std::max(0.0, seconds)));
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string bar_text(double share, int64_t cells) {
  constexpr std::array<const char*, 8> parts = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<int64_t>(std::clamp(share, 0.0, 1.0) * 8 * static_cast<double>(cells));
  std::string text;
  for (int64_t i = 0; i < eighths / 8; ++i) text += "█";
  const int64_t part = eighths % 8;
  text += parts[static_cast<size_t>(part)];
  return text + std::string(static_cast<size_t>(cells - eighths / 8 - (part > 0 ? 1 : 0)), ' ');
}

std::string speed_text(int64_t done, int64_t left, double seconds, double other) {
  if (done <= 0) return "";
  const double each = seconds / static_cast<double>(done);
  const std::string speed = each > 1 ? fmt::format("{:.1f} s each", each) : fmt::format("{:.1f}/s", 1 / each);
  return fmt::format(", {}, {} left", speed, clock_text(each * static_cast<double>(left) + other));
}

ProgressBar::ProgressBar(std::string unit, int64_t total, bool quiet, int64_t done_before)
    : unit_(std::move(unit)),
      total_(total),
      done_before_(done_before),
      last_done_(done_before),
      quiet_(quiet),
      line_(quiet),
      begin_(std::chrono::steady_clock::now()) {}

void ProgressBar::say(const std::string& line) {
  if (!quiet_) cli::say(line);
}

void ProgressBar::show(int64_t done, const std::string& note) {
  if (quiet_) return;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  if (done > last_done_) last_done_ = done, worked_ = seconds - other_taken_;
  if (seconds - shown_ < (line_.visible() ? kBarSeconds : kLineSeconds)) return;
  shown_ = seconds;
  const std::string words = text(done) + (note.empty() ? "" : ", " + note);
  if (line_.visible()) {
    line_.show(bar_before(words, done) + words);
  } else {
    cli::say(words);
  }
}

void ProgressBar::other_work(double taken, double to_come) {
  other_taken_ = taken;
  other_to_come_ = to_come;
}

std::string ProgressBar::text(int64_t done) const {
  return fmt::format("{} of {} {}{}", done, total_, unit_,
                     speed_text(done - done_before_, total_ - done, worked_, other_to_come_));
}

/// Numbers tell more than a bar, which has what room they leave.
std::string ProgressBar::bar_before(const std::string& words, int64_t done) const {
  const auto room = static_cast<int64_t>(StatusLine::room()),
             taken = static_cast<int64_t>(report::display_width(words));
  const int64_t cells = std::min(kMostCells, room - taken - 1);
  if (cells < kFewestCells) return "";
  return bar_text(static_cast<double>(done) / static_cast<double>(std::max<int64_t>(1, total_)), cells) + " ";
}

}  // namespace fib::cli
