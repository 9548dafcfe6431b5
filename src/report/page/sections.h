// SPDX-License-Identifier: Apache-2.0
// The parts of the page, from top to bottom; each is empty where there is nothing to show.
#pragma once

#include "report/fields.h"
#include "report/page/page.h"

namespace fib::report {

/// Three large numbers.
std::string headline_section(const Page& page);
std::string summary_section(const Page& page);
/// The summary of policies, which have other figures.
std::string policies_section(const Page& page);
/// The summary of decoders, and what they write and forecast.
std::string sequences_section(const Page& page);
std::string made_section(const Page& page);
/// Means and intervals, where several runs differ by their seed alone.
std::string seeds_section(const Page& page);
std::string episodes_section(const Page& page);
std::string curves_section(const Page& page);
std::string cost_section(const Page& page);
std::string patterns_section(const Page& page);
std::string diversity_section(const Page& page);
std::string maps_section(const Page& page);
std::string confusion_section(const Page& page);
std::string mistakes_section(const Page& page);
std::string commands_section(const Page& page);

/// A heading with a sentence, and what belongs to it.
std::string section(const std::string& id, const std::string& title, const std::string& lead, const std::string& body);
/// <img> of a small image, or of a strip as much wider, drawn with sharp pixels.
std::string image_tag(const Pixels& pixels, int shown_side, const std::string& alt);
/// A summary's columns: which run, its figures, and what training it took.
Fields<PageRun> run_fields(const Fields<PageRun>& figures);
/// A plot with its description.
std::string plot_figure(const Drawing& drawing, const std::string& description);
/// Whether the page is about policies that play.
bool about_policies(const Page& page);
/// Whether it is about decoders of texts and time series.
bool about_sequences(const Page& page);
/// The run's name behind a swatch of its mechanism's color, as HTML.
std::string run_name(const Page& page, size_t run);
/// "var(--series-1)": the color of the run's mechanism.
std::string run_color(const Page& page, size_t run);
/// Seeds, dates, machine and command, as a list of definitions.
std::string facts(const Page& page);
std::string class_label(const Page& page, int64_t index);

/// Shows the keys of a patch; for a page that has such an image.
std::string key_script();

/// The rules of appearance: light and dark, phones, paper.
std::string style_sheet();

}  // namespace fib::report
