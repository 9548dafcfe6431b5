// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "report/table.h"

namespace fib::cli {
namespace {

/// Messages may quote what somebody else wrote; longer than this, they are not read.
constexpr size_t kLongestLine = 4000;

/// The one that is on the terminal: another message must not be written behind it.
StatusLine* current_line = nullptr;

size_t terminal_columns() {
  winsize size{};
  constexpr size_t kUsual = 80;
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : kUsual;
}

}  // namespace

std::string cut_to(const std::string& text, size_t columns) {
  if (report::display_width(text) <= columns) return text;
  return columns == 0 ? "" : printable(text, columns - 1);
}

void say(const std::string& line) {
  if (current_line != nullptr) current_line->clear();
  fmt::print(stderr, "{}\n", printable(line, kLongestLine));
}

void say_written(const std::string& file, bool quiet, const std::string& details) {
  if (!quiet) fmt::print("wrote {}{}{}\n", printable(file, kLongestLine), details.empty() ? "" : " ", details);
}

void print_json(const nlohmann::ordered_json& json) {
  fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

StatusLine::StatusLine(bool quiet) : visible_(!quiet && isatty(STDERR_FILENO) != 0) { current_line = this; }

StatusLine::~StatusLine() {
  clear();
  if (current_line == this) current_line = nullptr;
}

/// The last column stays free: some terminals begin a new line there.
size_t StatusLine::room() { return terminal_columns() - 1; }

void StatusLine::show(const std::string& text) {
  if (!visible_) return;
  fmt::print(stderr, "\r\033[K{}", cut_to(printable(text, kLongestLine), room()));
  std::fflush(stderr);
  shown_ = true;
}

void StatusLine::clear() {
  if (shown_) fmt::print(stderr, "\r\033[K");
  shown_ = false;
}

void show_share(StatusLine& line, const std::string& what, double done) {
  line.show(fmt::format("{} {:.0f} %", what, 100 * done));
}

}  // namespace fib::cli
