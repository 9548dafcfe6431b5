// SPDX-License-Identifier: Apache-2.0
// fib plot: curves that a file keeps, as a picture.
#include "cli/command.h"
#include "cli/output.h"
#include "report/drawing.h"
#include "report/plot_file.h"

namespace fib::cli {
namespace {

struct PlotArguments {
  std::string file, output;
};

void declare(CLI::App& command, PlotArguments& a) {
  command.add_option("FILE", a.file, "a JSON file with curves, as docs/results keeps them")->required();
  command.add_option("-o,--out", a.output, "the picture to write, .svg or .png")->type_name("FILE")->required();
  command.footer("Example: fib plot docs/results/time-over-tokens.json -o time.svg");
}

void run(const PlotArguments& a, const Globals& globals) {
  report::check_drawing_output(a.output);
  write_plot(draw(report::read_plot_file(a.file)), a.output, globals.quiet);
}

}  // namespace

Command plot_command() {
  return make_command<PlotArguments>({"plot", "curves that a file keeps, as a picture", Topic::measures}, declare, run);
}

}  // namespace fib::cli
