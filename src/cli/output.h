// SPDX-License-Identifier: Apache-2.0
// What a person or a machine reads: lines that cannot act on a terminal, and one line of status that other lines do not
// run into.
#pragma once

#include <cstdio>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/command.h"

namespace fib::report {
struct Drawing;
}

namespace fib::cli {

/// A line on stderr that stays. A status that stands there is removed first and comes back below.
void say(const std::string& line);

/// The same for what went wrong: "fib: line".
void say_error(const std::string& line);

/// "wrote FILE", on stdout unless quiet.
void say_written(const std::string& file, bool quiet, const std::string& details = "");

/// Writes a drawing and says so.
void write_plot(const report::Drawing& drawing, const std::string& file, bool quiet);

/// One line on stdout. Names need not be UTF-8; what is not is replaced.
void print_json(const nlohmann::ordered_json& json);

/// What a command found: JSON where that was asked for, else text unless quiet.
void show(const Globals& globals, bool as_json, const std::function<nlohmann::ordered_json()>& json,
          const std::function<std::string()>& text);

/// Whether it is a terminal that shows color, and NO_COLOR is unset.
bool shows_color(std::FILE* stream);
/// Of a terminal; a hundred elsewhere, where lines are read by other means.
size_t columns_of(std::FILE* stream);

/// One line on a terminal that is written over, cut to the terminal's width, and gone in the end.
class StatusLine {
 public:
  explicit StatusLine(bool quiet);
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  void show(const std::string& text);
  void clear();
  bool visible() const { return visible_; }
  /// How many characters it has room for now.
  static size_t room();

 private:
  bool visible_;
  bool shown_ = false;
};

/// "what 37 %", for work whose parts are not counted.
void show_share(StatusLine& line, const std::string& what, double done);

/// At most `columns` characters, the last of them "…" where something is missing.
std::string cut_to(const std::string& text, size_t columns);

}  // namespace fib::cli
