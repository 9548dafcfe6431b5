// SPDX-License-Identifier: Apache-2.0
#include "report/page/page.h"

#include <fmt/format.h>

#include <array>

#include "report/drawing.h"
#include "report/page/sections.h"
#include "report/run_comparison.h"
#include "report/text.h"

namespace fib::report {
namespace {

struct Part {
  const char* id;
  const char* title;
  std::string (*make)(const Page&);
};

constexpr std::array<Part, 15> kParts = {{{"results", "Results", headline_section},
                                          {"summary", "Summary", summary_section},
                                          {"summary", "Summary", policies_section},
                                          {"summary", "Summary", sequences_section},
                                          {"seeds", "Over seeds", seeds_section},
                                          {"curves", "Learning curves", curves_section},
                                          {"episodes", "Episodes", episodes_section},
                                          {"made", "What they make", made_section},
                                          {"cost", "Cost and accuracy", cost_section},
                                          {"patterns", "Patterns", patterns_section},
                                          {"diversity", "Head diversity", diversity_section},
                                          {"maps", "Attention maps", maps_section},
                                          {"confusion", "Confusion", confusion_section},
                                          {"mistakes", "Worst mistakes", mistakes_section},
                                          {"commands", "Commands", commands_section}}};

}  // namespace

std::string section(const std::string& id, const std::string& title, const std::string& lead, const std::string& body) {
  return fmt::format(
      "<section id=\"{0}\" aria-labelledby=\"{0}-title\"><h2 id=\"{0}-title\">{1}</h2>\n<p class=\"lead\">{2}</p>\n{3}"
      "</section>\n",
      id, title, lead, body);
}

std::string image_tag(const Pixels& pixels, int shown_side, const std::string& alt) {
  return fmt::format("<img src=\"{}\" width=\"{}\" height=\"{}\" alt=\"{}\">",
                     png_uri(encode_png(pixels.rgb, pixels.width, pixels.height)),
                     shown_side * static_cast<int>(pixels.width / pixels.height), shown_side, escaped_markup(alt));
}

bool about_policies(const Page& page) { return page.runs.front().episodes.has_value(); }
bool about_sequences(const Page& page) { return page.runs.front().sequence.has_value(); }

Fields<PageRun> run_fields(const Fields<PageRun>& figures) {
  using Row = PageRun;
  const auto word = [](const char* title, std::string RunRecord::*value) {
    return shown_field<Row>(
        title, [value](const Row& r) { return r.record.*value; }, Table::Align::left);
  };
  const Fields<Row> which = {word("run", &RunRecord::name), word("attention", &RunRecord::attention)};
  const Fields<Row> training = {
      shown_field<Row>("pairs", [](const Row& r) { return fixed(100 * r.record.pair_share, 1) + " %"; }),
      shown_field<Row>("parameters", [](const Row& r) { return grouped(r.parameters); }),
      shown_field<Row>("step, ms", [](const Row& r) { return known_number(r.record.step_ms, 0, ""); }),
      shown_field<Row>("epochs", [](const Row& r) { return fixed(r.record.epochs, 0); }),
      shown_field<Row>("training, s", [](const Row& r) { return fixed(r.record.train_seconds, 0); }),
      shown_field<Row>("seed", [](const Row& r) { return std::to_string(r.record.seed); })};
  return joined_fields(joined_fields(which, figures), training);
}

std::string run_color(const Page& page, size_t run) {
  std::vector<RunRecord> records;
  records.reserve(page.runs.size());
  for (const PageRun& r : page.runs) records.push_back(r.record);
  return themed_color(series_color(mechanism_colors(records)[run]));
}

std::string run_name(const Page& page, size_t run) {
  return fmt::format("<span class=\"run\"><i style=\"background:{}\"></i>{}</span>", run_color(page, run),
                     escaped_markup(page.runs[run].record.name));
}

std::string class_label(const Page& page, int64_t index) {
  const auto i = static_cast<size_t>(index);
  return i < page.class_names.size() ? page.class_names[i] : fmt::format("class {}", index);
}

std::string page_html(const Page& page) {
  std::string links, body;
  for (const Part& part : kParts) {
    const std::string text = part.make(page);
    if (text.empty()) continue;
    links += fmt::format("<a href=\"#{}\">{}</a> ", part.id, part.title);
    body += text;
  }
  const std::string title = escaped_markup(page.title);
  const bool points = body.find("class=\"looks\"") != std::string::npos;
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<title>{0}</title>\n<style>{1}</style>\n</head>\n<body>\n<a "
      "class=\"skip\" href=\"#content\">To the content</a>\n<header><h1>{0}</h1>\n<nav aria-label=\"Parts of the "
      "page\">{2}</nav></header>\n<main id=\"content\">\n{3}</main>\n<footer>{4}{5}</footer>\n{6}</body>\n</html>\n",
      title, style_sheet(), links, body, facts(page), escaped_markup(page.version),
      points ? "<script>" + key_script() + "</script>\n" : "");
}

}  // namespace fib::report
