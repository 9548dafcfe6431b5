// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "files.h"
#include "report/bar_plot.h"
#include "report/box_plot.h"
#include "report/line_plot.h"
#include "report/run_curves.h"

namespace fib::report {
namespace {

using test::mentions;

template <class Plot>
std::string svg_of(const Plot& plot) {
  const test::TemporaryDirectory folder;
  write_plot(plot, folder / "plot.svg");
  return test::read_file(folder / "plot.svg");
}

Box box(const std::string& name, bool reference) {
  Box b{name, 10, 20, 30, 40, 50};
  b.reference = reference;
  return b;
}

TEST(BoxPlot, names_its_boxes_and_tells_references_by_colour) {
  const std::string svg = svg_of(BoxPlot{"diversity", "percent", {box("it's_full", false), box("paper", true)}});
  EXPECT_TRUE(mentions(svg, "it's_full"));
  EXPECT_TRUE(mentions(svg, "rgb(213,  94,   0)"));
  EXPECT_TRUE(mentions(svg, "rgb(102, 102, 102)"));
  EXPECT_FALSE(mentions(svg_of(BoxPlot{"diversity", "percent", {box("one", false)}}), "rgb(102, 102, 102)"));
}

TEST(BarPlot, has_a_place_for_every_category_and_leaves_gaps) {
  BarPlot plot{"accuracy", "percent", {"gaussian_noise", "fog"}, {{"full", {50, std::nan("")}}, {"fib", {60, 70}}}};
  for (bool dots : {false, true}) {
    plot.dots = dots;
    const std::string svg = svg_of(plot);
    for (const char* word : {"gaussian_noise", "fog", "full", "fib"}) EXPECT_TRUE(mentions(svg, word)) << word << dots;
  }
}

TEST(LinePlot, shows_the_range_of_its_values_where_zero_says_nothing) {
  LinePlot plot{"accuracy", "w", {{"here", "percent", {{"ours", {{1, 85, ""}, {2, 87, ""}}}}}}, false};
  EXPECT_FALSE(mentions(svg_of(plot), "> 0</tspan>"));
  plot.from_zero = true;
  EXPECT_TRUE(mentions(svg_of(plot), "> 0</tspan>"));
}

TEST(RunCurves, leave_out_what_no_run_has) {
  RunRecord run;
  run.name = "only loss";
  run.train_loss = {{1, 2.0}, {2, 1.0}};
  EXPECT_EQ(run_curve_panels({run}).size(), 1U);
  run.validation = {{1, 0.5}, {2, 0.6}};
  run.images_per_second = 10;
  run.train_images = 100;
  EXPECT_EQ(run_curve_panels({run}).size(), 3U);
}

}  // namespace
}  // namespace fib::report
