// SPDX-License-Identifier: Apache-2.0
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "cli/app.h"
#include "cli/commands/trained.h"
#include "cli/progress.h"
#include "cli/standard_streams.h"
#include "cli/torch/open_models.h"
#include "kernels/machine.h"
#include "report/run_comparison.h"
#include "report/text.h"
#include "report/torch/run_facts.h"
#include "report/torch/sequences/sequence_page.h"

namespace fib::cli {
namespace {

void add_title(report::Page& page, const ReportArguments& a) {
  page.title = a.title;
  page.version = "Made by " + version_text() + ".";
  page.made_on = machine_name();
  page.made_at = fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(std::time(nullptr)));
  page.made_by = fmt::format("fib report {} -o {}", fmt::join(a.directories, " "), a.out);
}

/// Of runs that are not judged image by image.
report::Page make_page_of(const ReportArguments& a, bool quiet, const char* what,
                          report::PageRun (*of)(const std::string& directory)) {
  report::Page page;
  add_title(page, a);
  ProgressBar progress("runs", static_cast<int64_t>(a.directories.size()), quiet);
  for (const std::string& directory : a.directories) {
    progress.show(static_cast<int64_t>(page.runs.size()), fmt::format("{} of {}", what, directory));
    page.runs.push_back(of(directory));
  }
  return page;
}

report::Page make_page(const ReportArguments& a, bool quiet) {
  ModelArguments models;
  models.runs = a.directories;
  models.checkpoint = a.checkpoint;
  models.batch = 64;
  const auto opened = open_models(models, quiet);
  const report::ReportEffort effort{
      .images = a.images, .diversity_images = std::min<int64_t>(a.images, 500), .samples = a.samples, .mistakes = 8};
  ProgressBar progress("runs", static_cast<int64_t>(opened.size()), quiet);
  report::Page page;
  add_title(page, a);
  page.class_names = opened.front().dataset->info().class_names;
  page.diversity_images = std::min(effort.diversity_images, static_cast<int64_t>(opened.front().dataset->size()));
  page.samples = report::report_samples(opened.front(), effort);
  for (size_t i = 0; i < opened.size(); ++i)
    page.runs.push_back(report::report_run(a.directories[i], opened[i], effort, [&](const std::string& what) {
      progress.show(static_cast<int64_t>(i), what);
    }));
  page.paper_diversity = report::paper_boxes(page.runs);
  return page;
}

void tell(const ReportArguments& a, const report::Page& page, size_t bytes, bool quiet) {
  if (!a.json)
    return say_written(a.out, quiet,
                       fmt::format("({}, opens in any browser)", report::bytes(static_cast<int64_t>(bytes))));
  auto runs = nlohmann::ordered_json::array();
  for (const report::PageRun& run : page.runs) runs.push_back(report::run_json(run.record));
  const nlohmann::ordered_json written = {{"file", a.out}, {"bytes", bytes}};
  print_json({{"title", page.title}, {"runs", runs}, {"written", nlohmann::ordered_json::array({written})}});
}

}  // namespace

void run(const ReportArguments& a, const Globals& globals) {
  StandardStreams streams(a.json ? "--json" : "");
  const std::string out = streams.output("--out", a.out, ".html");
  check_writable(out);
  const std::string& first = a.directories.front();
  const report::Page page =
      report::is_policy_run(first)     ? make_page_of(a, globals.quiet, "episodes", report::policy_run)
      : report::is_sequence_run(first) ? make_page_of(a, globals.quiet, "sequences", report::sequence_run)
                                       : make_page(a, globals.quiet);
  const std::string html = report::page_html(page);
  write_file_atomically(out, html);
  tell(a, page, html.size(), globals.quiet || streams.output_used());
  streams.finish();
}
}  // namespace fib::cli
