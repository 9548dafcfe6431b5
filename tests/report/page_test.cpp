// SPDX-License-Identifier: Apache-2.0
// The page's parts, asserted on its text.
#include "report/page/page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "files.h"
#include "report/attention_drawing.h"
#include "report/drawing.h"
#include "report/plot.h"

namespace fib::report {
namespace {

using test::mentions;

SquareImage image(uint8_t level) { return {4, std::vector<uint8_t>(48, level)}; }

PageRun run_named(const std::string& name, const std::string& attention) {
  PageRun run;
  run.record.name = name;
  run.record.model = "vit_nano";
  run.record.attention = attention;
  run.record.data = "fashion-mnist";
  run.record.train_samples = 800;
  run.record.epochs = 2;
  run.record.train_seconds = 16;
  run.record.test_score = 0.75;
  run.record.samples_per_second = 100;
  run.record.step_ms = 20;
  run.record.attention_ms = 4;
  run.record.train_loss = {{1, 2.0}, {2, 1.5}};
  run.record.validation = {{1, 0.5}, {2, 0.7}};
  run.top5 = 0.99;
  run.directory = "runs/" + name;
  run.config = "[model]\nattention = \"" + attention + "\"\n";
  run.diversity = Box{name, 30, 40, 45, 50, 60};
  run.confusion = {{8, 2}, {1, 9}};
  run.mistakes = {{"image 3", image(90), 0, 1, 0.97}};
  run.maps = {{{0.1, 0.2, 0.3, 0.4}, {0.4, 0.3, 0.2, 0.1}, 1, 0.6}};
  return run;
}

Page small_page() {
  Page page;
  page.title = "Two <runs> & more";
  page.made_by = "fib report runs/full runs/fib -o report.html";
  page.version = "fib 0";
  page.class_names = {"boot", "coat"};
  page.diversity_images = 100;
  page.paper_diversity = {{"full", 27, 37, 43, 48, 61, true}};
  page.samples = {{"image 0", image(50), 0}};
  page.runs = {run_named("full", "full"), run_named("fib", "fibottention")};
  page.runs[1].support = make_support(AttentionSpec::parse("fibottention"), {.patches = 16, .heads = 2});
  return page;
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(Page, has_all_its_parts) {
  const std::string html = page_html(small_page());
  for (const char* id :
       {"results", "summary", "curves", "cost", "patterns", "diversity", "maps", "confusion", "mistakes", "commands"}) {
    EXPECT_TRUE(mentions(html, std::string("<section id=\"") + id + "\"")) << id;
    EXPECT_TRUE(mentions(html, std::string("<a href=\"#") + id + "\"")) << id;
  }
  EXPECT_EQ(count(html, "<figure class=\"plot\""), 5U) << "three curves, cost, diversity";
  EXPECT_TRUE(mentions(html, "paper: full"));
  EXPECT_TRUE(mentions(html, "fib train --recipe runs/full/config.toml"));
  EXPECT_TRUE(mentions(html, "attention = &quot;fibottention&quot;"));
}

TEST(Page, needs_nothing_from_elsewhere) {
  const std::string html = page_html(small_page());
  EXPECT_EQ(html.find("<script src"), std::string::npos);
  EXPECT_EQ(html.find("<link"), std::string::npos);
  for (const char* attribute : {"src=\"", "href=\""}) {
    for (size_t at = html.find(attribute); at != std::string::npos; at = html.find(attribute, at + 1)) {
      const std::string target = html.substr(at + std::string(attribute).size(), 5);
      EXPECT_TRUE(target.starts_with("#") || target == "data:") << target;
    }
  }
  EXPECT_LT(html.size(), 3U << 20);
}

TEST(Page, tells_what_pictures_show) {
  const std::string html = page_html(small_page());
  for (size_t at = html.find("<img"); at != std::string::npos; at = html.find("<img", at + 1))
    EXPECT_TRUE(mentions(html.substr(at, html.find('>', at) - at), "alt=\"")) << at;
  for (size_t at = html.find("<svg"); at != std::string::npos; at = html.find("<svg", at + 1)) {
    const std::string tag = html.substr(at, html.find('>', at) - at);
    EXPECT_TRUE(mentions(tag, "aria-label=\"") || mentions(tag, "aria-hidden")) << tag;
  }
  EXPECT_TRUE(mentions(html, "<html lang=\"en\">"));
  EXPECT_TRUE(mentions(html, "name=\"viewport\""));
  EXPECT_TRUE(mentions(html, "prefers-color-scheme: dark"));
  EXPECT_TRUE(mentions(html, "@media print"));
}

TEST(Page, gives_every_element_a_name_of_its_own) {
  const std::string html = page_html(small_page());
  std::set<std::string> names;
  for (const char* quote : {"\"", "'"}) {
    const std::string attribute = std::string(" id=") + quote;
    for (size_t at = html.find(attribute); at != std::string::npos; at = html.find(attribute, at + 1)) {
      const size_t begin = at + attribute.size();
      EXPECT_TRUE(names.insert(html.substr(begin, html.find(quote, begin) - begin)).second) << html.substr(begin, 30);
    }
  }
  EXPECT_GT(names.size(), 15U);
}

TEST(Page, escapes_what_people_name) {
  const std::string html = page_html(small_page());
  EXPECT_TRUE(mentions(html, "Two &lt;runs&gt; &amp; more"));
  EXPECT_EQ(html.find("<runs>"), std::string::npos);
}

// ---- In a browser ---------------------------------------------------------------------------------------------------

/// A page in which everything that somebody may have named is called so.
Page page_of_names(const std::string& name) {
  Page page = small_page();
  page.title = page.made_by = page.version = page.made_on = page.made_at = name;
  page.class_names = {name, name};
  page.samples[0].item = name;
  page.paper_diversity[0].name = name;
  for (PageRun& run : page.runs) {
    RunRecord& record = run.record;
    record.name = record.model = record.data = record.machine = record.finished = record.samples = name;
    run.config = run.directory = run.mistakes[0].item = run.diversity->name = name;
  }
  return page;
}

/// The page as Chromium has understood it; "" where there is none.
std::string understood(const std::string& html, const test::TemporaryDirectory& folder) {
  test::write_file(folder / "page.html", html);
  const std::string command =
      "chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
      " --disable-component-update --disable-sync --user-data-dir=" +
      (folder / "profile").string() + " --dump-dom file://" + (folder / "page.html").string() + " >" +
      (folder / "dom").string() + " 2>/dev/null";
  return std::system(command.c_str()) == 0 ? test::read_file(folder / "dom") : "";
}

/// Elements with the names of their attributes, one after the other: "<p class><i style>". In what Chromium writes, '<'
/// begins an element everywhere but in scripts and styles, and attributes are in double quotes.
std::string skeleton(const std::string& dom) {
  std::string elements;
  for (size_t at = dom.find('<'); at != std::string::npos; at = dom.find('<', at)) {
    const size_t name_end = dom.find_first_of(" />\n", at + 1);
    const std::string name = dom.substr(at, name_end - at);
    elements += name;
    bool quoted = false;
    size_t word = at = name_end;
    for (; quoted || dom[at] != '>'; ++at) {
      if (dom[at] == '"') quoted = !quoted;
      if (quoted) continue;
      if (dom[at] == ' ') word = at;
      if (dom[at] == '=') elements += dom.substr(word, at - word);
    }
    elements += '>';
    if (name == "<script" || name == "<style") at = dom.find("</" + name.substr(1), at);
  }
  return elements;
}

TEST(Page, holds_no_element_that_a_name_has_brought) {
  if (std::system("command -v chromium >/dev/null") != 0) GTEST_SKIP() << "there is no chromium";
  const test::TemporaryDirectory folder;
  const std::string plain = skeleton(understood(page_html(page_of_names("name")), folder));
  ASSERT_GT(plain.size(), 2000U);
  std::string all;
  for (const char* hostile :
       {"<script>document.body.innerHTML='<h6>'</script>", "\"><img src=x onerror=document.write(1)>",
        "' onmouseover='x' y='", "</title></style></script></svg></code></td><h6>", "<!--", "]]><b>", "&lt;h6&gt;",
        "\" autofocus onfocus=\"document.write(1)", "<svg onload=document.write(1)>", "{{x}}${x}",
        "javascript:document.write(1)", "\xff\xfe<h6>", "a\n\t<h6 \0x"}) {
    EXPECT_EQ(skeleton(understood(page_html(page_of_names(hostile)), folder)), plain) << hostile;
    if (HasFailure()) return;
  }
}

TEST(Page, leaves_out_what_a_run_does_not_have) {
  Page page = small_page();
  for (PageRun& run : page.runs) {
    run.maps.clear();
    run.diversity.reset();
    run.mistakes.clear();
    run.support.reset();
    run.record.validation.clear();
  }
  const std::string html = page_html(page);
  for (const char* id : {"maps", "diversity", "mistakes", "patterns"})
    EXPECT_EQ(html.find(std::string("id=\"") + id + "\""), std::string::npos) << id;
  EXPECT_EQ(count(html, "<figure class=\"plot\""), 2U) << "loss and cost";
}

TEST(Page, begins_with_three_numbers_and_how_sure_they_are) {
  Page page = small_page();
  page.runs[1].record.test_score = 0.85;
  page.runs[1].record.samples_per_second = 340;
  page.runs[1].record.pair_share = 0.03;
  for (PageRun& run : page.runs) run.record.test_samples = 1000;
  const std::string html = page_html(page);
  for (const char* number : {"85.0 %", "3.4 ×", "3.0 %"})
    EXPECT_TRUE(mentions(html, std::string("<p class=\"big\">") + number)) << number;
  // Two shares of 1000 images: 1.96 √(0.85 · 0.15 / 1000 + 0.75 · 0.25 / 1000) = 3.5 points.
  EXPECT_TRUE(mentions(html, "10.0 points more than full, give or take 3.5: more than chance."));
  page.runs[1].record.test_score = 0.76;
  EXPECT_TRUE(mentions(page_html(page), "these images cannot tell them apart"));
}

TEST(Page, gives_a_mechanism_one_color_everywhere) {
  Page page = small_page();
  page.runs.push_back(run_named("again", "full"));
  const std::string html = page_html(page);
  EXPECT_TRUE(mentions(html, "<i style=\"background:var(--series-0)\"></i>again"));
  EXPECT_TRUE(mentions(html, "<i style=\"background:var(--series-1)\"></i>fib"));
  EXPECT_EQ(html.find("<circle cx", html.find("var(--series-2)\"><circle")), std::string::npos);
}

TEST(Page, says_how_many_images_and_where_and_how_it_was_made) {
  Page page = small_page();
  page.made_on = "a processor";
  page.made_at = "2026-11-17 03:41 UTC";
  page.runs[0].record.seed = 7;
  const std::string html = page_html(page);
  EXPECT_TRUE(mentions(html, "20 test images, 17 of them right"));
  EXPECT_TRUE(mentions(html, "1 of the 3 wrong answers among 20 test images"));
  EXPECT_TRUE(mentions(html, "made 2026-11-17 03:41 UTC on a processor by <code>fib report"));
  EXPECT_TRUE(mentions(html, "full, seed 7, 2 epochs in 16 s"));
}

TEST(Page, knows_the_keys_of_a_patch) {
  const std::string html = page_html(small_page());
  EXPECT_TRUE(mentions(html, "data-support=\"{&quot;grid&quot;:4,"));
  EXPECT_TRUE(mentions(html, "<script>"));
  Page page = small_page();
  page.runs[1].support = make_support(AttentionSpec::parse("fibottention"), {.patches = 15, .heads = 2});
  EXPECT_EQ(page_html(page).find("<script"), std::string::npos) << "no square, no image of patches";
}

TEST(Page, shows_maps_that_stand_side_by_side_on_one_scale) {
  const SquareImage gray = image(128);
  const HeatRange range = joint_range(range_of({0, 0, 0, 0.2}), range_of({0, 0, 0, 0.4}));
  EXPECT_EQ(range.most, 0.4);
  EXPECT_EQ(heat_over(gray, {0, 0, 0, 0.4}, range).rgb, heat_over(gray, {0, 0, 0, 0.4}, std::nullopt, {}).rgb);
  EXPECT_NE(heat_over(gray, {0, 0, 0, 0.2}, range).rgb, heat_over(gray, {0, 0, 0, 0.2}, std::nullopt, {}).rgb);
}

TEST(Page, lists_the_largest_confusions_of_many_classes) {
  Page page = small_page();
  for (PageRun& run : page.runs) {
    run.confusion.assign(100, std::vector<int64_t>(100));
    run.confusion[7][9] = 30;
    run.confusion[3][4] = 50;
  }
  const std::string html = page_html(page);
  const size_t first = html.find("class 3 taken for class 4: 50"), second = html.find("class 7 taken for class 9: 30");
  EXPECT_NE(first, std::string::npos);
  EXPECT_LT(first, second);
  EXPECT_EQ(html.find("class=\"confusion\""), std::string::npos);
}

TEST(InlineSvg, takes_the_pages_colors) {
  const LinePlot plot{"", {{"loss", "epoch", "nats", {{"a", {{1, 2}, {2, 1}}}, {"b", {{1, 3}, {2, 2}}}}}}};
  const std::string svg = to_inline_svg(draw(plot), "a \"plot\"");
  EXPECT_TRUE(svg.starts_with("<svg viewBox=\"0 0 "));
  EXPECT_TRUE(mentions(svg, "role=\"img\" aria-label=\"a &quot;plot&quot;\""));
  for (const char* color : {"currentColor", "var(--series-0)", "var(--series-1)", "var(--grid)", "var(--muted)"})
    EXPECT_TRUE(mentions(svg, color)) << color;
  EXPECT_FALSE(mentions(svg, "#")) << "no color of its own";
}

TEST(Markup, encodes_bytes_in_base64) {
  EXPECT_EQ(png_uri(""), "data:image/png;base64,");
  EXPECT_EQ(png_uri("M"), "data:image/png;base64,TQ==");
  EXPECT_EQ(png_uri("Ma"), "data:image/png;base64,TWE=");
  EXPECT_EQ(png_uri("Man\xff"), "data:image/png;base64,TWFu/w==");
}

TEST(Heat, is_brightest_where_the_weight_is_largest) {
  const auto luma = [](Color c) { return 0.299 * c.red + 0.587 * c.green + 0.114 * c.blue; };
  for (int i = 1; i <= 20; ++i) EXPECT_GT(luma(heat_color(i / 20.0)), luma(heat_color((i - 1) / 20.0)));
  const Pixels heat = heat_over(image(128), {0, 0, 0.2, 0}, std::nullopt, {});
  const auto at = [&](size_t x, size_t y) { return heat.rgb[3 * (4 * y + x)]; };
  EXPECT_GT(at(0, 3), 200) << "lower left";
  EXPECT_EQ(at(3, 3), at(0, 0));
  EXPECT_LT(at(0, 0), 100) << "dimmed";
  const Pixels even = heat_over(image(128), {0.25, 0.25, 0.25, 0.25}, std::nullopt, {});
  EXPECT_LT(even.rgb[0], 100) << "attention without a preference lights nothing";
  const Pixels marked = heat_over(image(128), {1, 1, 1, 1}, 3, {});
  EXPECT_EQ(marked.rgb[3 * 15], 86);
  EXPECT_NE(marked.rgb[0], 86);
}

TEST(AttentionDrawing, draws_a_panel_for_every_head_and_their_mean) {
  const std::vector<std::vector<double>> heads = {{1, 0, 0, 0}, {0, 0, 0, 1}};
  EXPECT_EQ(mean_of_heads(heads), (std::vector<double>{0.5, 0, 0, 0.5}));
  const Drawing drawing = draw_attention(
      {{"title", "subtitle", image(9), {1, 1, 1, 1}, {{"class token", {heads, heads, heads}, std::nullopt}}}});
  const auto panels = std::count_if(drawing.items.begin(), drawing.items.end(),
                                    [](const auto& item) { return std::holds_alternative<Pixels>(item); });
  EXPECT_EQ(panels, 2 + 3 * 3);
  EXPECT_EQ(count(to_svg(drawing), "<image "), 11U);
  EXPECT_TRUE(to_png(drawing).starts_with("\x89PNG"));
}

}  // namespace
}  // namespace fib::report
