// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "report/drawing.h"
#include "report/text.h"

namespace fib::cli {
namespace {

/// Messages may quote what somebody else wrote; longer than this, they are not read.
constexpr size_t kLongestLine = 4000;

/// The one that is on the terminal: another message must not be written behind it.
StatusLine* current_line = nullptr;

size_t terminal_columns(int descriptor) {
  winsize size{};
  constexpr size_t kUsual = 80;
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : kUsual;
}

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
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

void say_error(const std::string& line) {
  if (current_line != nullptr) current_line->clear();
  fmt::print(stderr, "{} {}\n", report::emphasized("fib:", report::Emphasis::error, shows_color(stderr)),
             printable(line, kLongestLine));
}

bool shows_color(std::FILE* stream) {
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  return isatty(fileno(stream)) != 0 && !dumb && !is_set("NO_COLOR");
}

size_t columns_of(std::FILE* stream) {
  constexpr size_t kElsewhere = 100;
  return isatty(fileno(stream)) != 0 ? terminal_columns(fileno(stream)) : kElsewhere;
}

void say_written(const std::string& file, bool quiet, const std::string& details) {
  if (!quiet) fmt::print("wrote {}{}{}\n", printable(file, kLongestLine), details.empty() ? "" : " ", details);
}

void write_plot(const report::Drawing& drawing, const std::string& file, bool quiet) {
  report::write_drawing(drawing, file);
  say_written(file, quiet);
}

void print_json(const nlohmann::ordered_json& json) {
  fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void show(const Globals& globals, bool as_json, const std::function<nlohmann::ordered_json()>& json,
          const std::function<std::string()>& text) {
  if (as_json) return print_json(json());
  if (!globals.quiet) fmt::print("{}", text());
}

StatusLine::StatusLine(bool quiet) : visible_(!quiet && isatty(STDERR_FILENO) != 0) { current_line = this; }

StatusLine::~StatusLine() {
  clear();
  if (current_line == this) current_line = nullptr;
}

/// The last column stays free: some terminals begin a new line there.
size_t StatusLine::room() { return terminal_columns(STDERR_FILENO) - 1; }

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
