// SPDX-License-Identifier: Apache-2.0
#include "report/gnuplot.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "base/atomic_file.h"

namespace fib::report {
namespace {

/// A folder that disappears with what is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = std::filesystem::temp_directory_path() / "fib-plot-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder at " + name);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

bool is_svg(const std::string& path) { return path.ends_with(".svg"); }

std::string terminal(const std::string& path, PlotSize size) {
  if (is_svg(path)) {
    return fmt::format("set terminal svg size {},{} font 'sans-serif,13' background '#ffffff'\n", size.width,
                       size.height);
  }
  return fmt::format("set terminal pngcairo size {},{} font 'sans,11' background '#ffffff'\n", size.width, size.height);
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// What gnuplot writes.
std::string gnuplot_output(const std::string& script, const std::string& set_terminal) {
  const TemporaryFolder folder;
  const std::string input = folder.file("plot.gp"), output = folder.file("plot"), complaint = folder.file("stderr");
  std::ofstream(input) << set_terminal << "set output '" << output << "'\n" << script << "\nunset output\n";
  const int status = std::system(fmt::format("gnuplot '{}' 2>'{}'", input, complaint).c_str());
  std::string picture = read_file(output);
  if (status != 0 || picture.empty()) throw std::runtime_error("gnuplot cannot draw the plot: " + read_file(complaint));
  return picture;
}

}  // namespace

const char* series_colour(size_t i) {
  static constexpr std::array<const char*, 8> kColours = {"#666666", "#D55E00", "#0072B2", "#009E73",
                                                          "#CC79A7", "#E69F00", "#56B4E9", "#000000"};
  return kColours[i % kColours.size()];
}

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (char c : text) result += c == '\'' ? std::string("''") : std::string(1, c);
  return result + "'";
}

void check_plot_name(const std::string& path) {
  if (is_svg(path) || path.ends_with(".png")) return;
  throw std::invalid_argument("a plot is written as .svg or .png, got '" + path + "'");
}

std::string gnuplot_svg(const std::string& script, PlotSize size) {
  return gnuplot_output(script,
                        fmt::format("set terminal svg size {},{} font 'sans-serif,13'\n", size.width, size.height));
}

void draw_with_gnuplot(const std::string& script, const std::string& path, PlotSize size) {
  check_plot_name(path);
  write_file_atomically(path, gnuplot_output(script, terminal(path, size)));
}

}  // namespace fib::report
