// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "files.h"
#include "report/drawing.h"
#include "report/plot.h"
#include "report/plot_file.h"
#include "report/run_comparison.h"
#include "report/text.h"

namespace fib::report {
namespace {

using test::mentions;

template <class Plot>
std::string svg_of(const Plot& plot) {
  return to_svg(draw(plot));
}

Box box(const std::string& name, bool reference) {
  Box b{name, 10, 20, 30, 40, 50};
  b.reference = reference;
  return b;
}

std::vector<std::string> tick_texts(const Axis& axis) {
  std::vector<std::string> texts;
  for (const Tick& tick : axis.ticks()) texts.push_back(tick.text);
  return texts;
}

using Texts = std::vector<std::string>;

TEST(Axis, chooses_round_numbers) {
  EXPECT_EQ(tick_texts(Axis({0, 9.7}, {.from_zero = true})), (Texts{"0", "2", "4", "6", "8", "10"}));
  EXPECT_EQ(tick_texts(Axis({0.31, 0.52}, {})), (Texts{"0.35", "0.40", "0.45", "0.50"}));
  EXPECT_EQ(tick_texts(Axis({0, 43000}, {.from_zero = true})), (Texts{"0", "10,000", "20,000", "30,000", "40,000"}));
  EXPECT_EQ(tick_texts(Axis({-1, 1}, {})), (Texts{"-1.0", "-0.5", "0.0", "0.5", "1.0"}));
}

TEST(Axis, writes_epochs_as_whole_numbers) {
  EXPECT_EQ(tick_texts(Axis({1, 2, 3}, {.whole = true})), (Texts{"1", "2", "3"}));
  EXPECT_EQ(tick_texts(Axis({1}, {.whole = true})), (Texts{"1"}));
  EXPECT_EQ(tick_texts(Axis({1, 100}, {.whole = true})), (Texts{"0", "20", "40", "60", "80", "100"}));
}

TEST(Axis, spaces_powers_of_ten_evenly) {
  const Axis axis({1, 10000}, {.log = true});
  EXPECT_EQ(tick_texts(axis), (Texts{"1", "10", "100", "1,000", "10,000"}));
  EXPECT_NEAR(axis.place(100) - axis.place(10), axis.place(10) - axis.place(1), 1e-12);
  EXPECT_TRUE(std::isnan(axis.place(-1)) || std::isinf(axis.place(0)));
}

TEST(Axis, keeps_the_ticks_it_is_given_where_they_are_few) {
  EXPECT_EQ(tick_texts(Axis({224, 512}, {.ticks = {512, 224, 512}})), (Texts{"224", "512"}));
  const std::vector<double> many = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  EXPECT_LT(Axis(many, {.ticks = many}).ticks().size(), 8U);
}

TEST(Axis, holds_its_values_whatever_they_are) {
  const double nan = std::nan("");
  for (const std::vector<double>& values : std::vector<std::vector<double>>{
           {}, {nan}, {5}, {0}, {1e300, -1e300}, {1e-300}, {3, 3 + 1e-15}, {INFINITY, 1}, {-7, -7}}) {
    for (const AxisOptions& options :
         {AxisOptions{}, AxisOptions{.from_zero = true}, AxisOptions{.whole = true}, AxisOptions{.log = true}}) {
      const Axis axis(values, options);
      EXPECT_LT(axis.ticks().size(), 40U);
      for (double v : values) {
        if (!std::isfinite(v) || (options.log && v <= 0)) continue;
        EXPECT_GE(axis.place(v), -1e-9) << v;
        EXPECT_LE(axis.place(v), 1 + 1e-9) << v;
      }
    }
  }
}

TEST(BoxPlot, names_its_boxes_and_tells_references_by_color) {
  const std::string svg = svg_of(BoxPlot{"diversity", "percent", {box("it's_full", false), box("paper", true)}});
  EXPECT_TRUE(mentions(svg, "it&#39;s_full"));
  EXPECT_TRUE(mentions(svg, "#d55e00"));
  EXPECT_TRUE(mentions(svg, "#666666"));
  EXPECT_FALSE(mentions(svg_of(BoxPlot{"diversity", "percent", {box("one", false)}}), "#666666"));
}

TEST(BarPlot, has_a_place_for_every_category_and_leaves_gaps) {
  BarPlot plot{"accuracy", "percent", {"gaussian_noise", "fog"}, {{"full", {50, std::nan("")}}, {"fib", {60, 70}}}};
  for (bool dots : {false, true}) {
    plot.dots = dots;
    const std::string svg = svg_of(plot);
    for (const char* word : {"gaussian_noise", "fog", "full", "fib"}) EXPECT_TRUE(mentions(svg, word)) << word << dots;
    EXPECT_FALSE(mentions(svg, "nan"));
  }
}

TEST(LinePlot, shows_the_range_of_its_values_where_zero_says_nothing) {
  LinePlot plot{"accuracy", {{"here", "w", "percent", {{"ours", {{1, 85}, {2, 87}}}}}}};
  EXPECT_FALSE(mentions(svg_of(plot), ">0</text>"));
  plot.panels[0].y.from_zero = true;
  EXPECT_TRUE(mentions(svg_of(plot), ">0</text>"));
}

TEST(LinePlot, gives_a_name_one_color_in_all_panels) {
  const Series a{"a", {{1, 1}, {2, 2}}}, b{"b", {{1, 2}, {2, 3}}};
  const std::string svg = svg_of(LinePlot{"", {{"one", "", "", {a, b}}, {"two", "", "", {b}}}});
  const std::string line = "stroke=\"#d55e00\" stroke-width=\"2\"";
  const size_t first = svg.find(line);
  ASSERT_NE(first, std::string::npos);
  EXPECT_NE(svg.find(line, first + 1), std::string::npos);
}

TEST(LinePlot, keeps_its_legend_off_the_data) {
  LinePlot plot{"t", {{"panel", "x", "y", {}}}};
  for (int i = 0; i < 12; ++i)
    plot.panels[0].series.push_back({"a rather long name of a series " + std::to_string(i), {{0, 1.0 * i}, {1, 2}}});
  const Drawing drawing = draw(plot);
  double lowest_legend = 0, highest_data = drawing.height;
  for (const auto& item : drawing.items) {
    if (const auto* text = std::get_if<Text>(&item); text != nullptr && text->line.starts_with("a rather"))
      lowest_legend = std::max(lowest_legend, text->at.y);
    if (const auto* dots = std::get_if<Dots>(&item))
      for (const Point& p : dots->centers) highest_data = std::min(highest_data, p.y);
  }
  EXPECT_LT(lowest_legend, highest_data);
}

TEST(Plots, keep_long_names_inside) {
  const std::string name(200, 'x'), escaped(200, '\x1b');
  for (const std::string& n : {name, escaped}) {
    for (const Drawing& drawing :
         {draw(LinePlot{n, {{"panel", "x", "y", {{n, {{0, 1}, {1, 2}}}}}}}),
          draw(BarPlot{n, "y", {n, "b"}, {{n, {1, 2}}, {n, {1, 2}}}}), draw(BoxPlot{n, "y", {box(n, false)}})}) {
      for (const auto& item : drawing.items) {
        const auto* text = std::get_if<Text>(&item);
        if (text == nullptr || text->align != Align::start) continue;
        EXPECT_LE(text->at.x + text_width(display_width(text->line), text->size), drawing.width) << text->line;
      }
      EXPECT_LT(drawing.width, 1300);
    }
  }
}

TEST(RunCurves, leave_out_what_no_run_has) {
  RunRecord run;
  run.name = "only loss";
  run.train_loss = {{1, 2.0}, {2, 1.0}};
  EXPECT_EQ(run_curve_panels({run}).size(), 1U);
  run.validation = {{1, 0.5}, {2, 0.6}};
  run.epochs = 2;
  run.train_seconds = 20;
  EXPECT_EQ(run_curve_panels({run}).size(), 3U);
}

/// Labels that once ran commands, broke formats or markup, and random bytes.
std::vector<std::string> hostile_labels() {
  std::vector<std::string> labels = {"a'\nsystem \"touch pwn\"\n#",
                                     "%s %n %",
                                     "</text><script>alert(1)</script>",
                                     "\x1b[2J",
                                     std::string("a\0b", 3),
                                     "]]>",
                                     "&amp;",
                                     "{}",
                                     "$(touch pwn)",
                                     std::string(100'000, 'x'),
                                     "\xff\xfe",
                                     "\xef\xbf\xbf",
                                     ""};
  CounterRng random(3);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (uint64_t i = random.below(80); i > 0; --i) text += static_cast<char>(random.below(256));
    labels.push_back(text);
  }
  return labels;
}

/// No character that XML 1.0 forbids, and as many tags opened as our own writing opens.
void expect_sound(const std::string& svg, const std::string& harmless) {
  for (char c : svg) ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n');
  ASSERT_EQ(std::count(svg.begin(), svg.end(), '<'), std::count(harmless.begin(), harmless.end(), '<'));
  ASSERT_EQ(std::count(svg.begin(), svg.end(), '"'), std::count(harmless.begin(), harmless.end(), '"'));
  ASSERT_FALSE(mentions(svg, "\xef\xbf\xbf"));
}

TEST(Plots, show_any_label_as_text) {
  const auto line = [](const std::string& l) { return LinePlot{l, {{l, l, l, {{l, {{1, 1, l}, {2, 2, l}}}}}}}; };
  const auto bars = [](const std::string& l) { return BarPlot{l, l, {l, "b"}, {{l, {1, 2}}}}; };
  const auto boxes = [](const std::string& l) { return BoxPlot{l, l, {box(l, false)}}; };
  for (const std::string& label : hostile_labels()) {
    if (label.empty()) continue;
    expect_sound(svg_of(line(label)), svg_of(line("x")));
    expect_sound(svg_of(bars(label)), svg_of(bars("x")));
    expect_sound(svg_of(boxes(label)), svg_of(boxes("x")));
  }
  for (const char* label : {"", "a\nb", "\xff"}) EXPECT_TRUE(to_png(draw(line(label))).starts_with("\x89PNG"));
}

TEST(PlotFile, is_drawn_or_says_what_it_lacks) {
  const test::TemporaryDirectory directory;
  const std::string file = directory / "curves.json";
  test::write_file(file, R"({"machine": "here", "title": "Time", "x": {"label": "tokens", "log": true},
                             "y": {"label": "ms"}, "series": [{"name": "ours", "points": [[10, 1], [100, 2]]}]})");
  const LinePlot plot = read_plot_file(file);
  ASSERT_EQ(plot.panels.size(), 1U);
  EXPECT_TRUE(plot.panels[0].x.log);
  EXPECT_FALSE(plot.panels[0].y.log);
  EXPECT_EQ(plot.panels[0].series[0].points[1].y, 2);
  EXPECT_TRUE(test::mentions(to_svg(draw(plot)), "tokens"));
  for (const char* bad : {"", "[]", "{\"title\": 3}", "{\"title\": \"t\", \"x\": {\"label\": \"x\"}}"}) {
    test::write_file(file, bad);
    EXPECT_TRUE(test::mentions(test::error_of([&] { read_plot_file(file); }), "holds no curves")) << bad;
  }
}

}  // namespace
}  // namespace fib::report
