// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "base/atomic_file.h"
#include "cli/progress.h"
#include "cli/torch/commands.h"
#include "cli/torch/report_facts.h"
#include "cli/torch/subject_options.h"
#include "report/words.h"

namespace fib::cli {
namespace {

struct ReportArguments {
  std::vector<std::string> directories;
  std::string out, title, checkpoint = "best";
  int64_t images = 2000, samples = 4;
};

report::Page make_page(const ReportArguments& a, bool quiet) {
  SubjectArguments subjects;
  subjects.runs = a.directories;
  subjects.checkpoint = a.checkpoint;
  subjects.batch = 64;
  const auto opened = open_subjects(subjects);
  const ReportEffort effort{
      .images = a.images, .diversity_images = std::min<int64_t>(a.images, 500), .samples = a.samples, .mistakes = 8};
  Progress progress("runs", static_cast<int64_t>(opened.size()), quiet);
  report::Page page;
  page.title = a.title;
  page.version = "Made by " + version_text() + ".";
  page.made_by = fmt::format("fib report {} -o {}", fmt::join(a.directories, " "), a.out);
  page.class_names = opened.front().dataset->info().class_names;
  page.diversity_images = std::min(effort.diversity_images, static_cast<int64_t>(opened.front().dataset->size()));
  page.samples = report_samples(opened.front(), effort);
  for (size_t i = 0; i < opened.size(); ++i)
    page.runs.push_back(report_run(a.directories[i], opened[i], effort,
                                   [&](const std::string& what) { progress.show(static_cast<int64_t>(i), what); }));
  page.paper_diversity = paper_boxes(page.runs);
  return page;
}

void run(const ReportArguments& a, bool quiet) {
  const std::string html = report::page_html(make_page(a, quiet));
  write_file_atomically(a.out, html);
  if (!quiet) fmt::print("{}: {}, opens in any browser\n", a.out, report::bytes(static_cast<int64_t>(html.size())));
}

}  // namespace

void add_report(CLI::App& command, const Globals& globals) {
  const auto a = std::make_shared<ReportArguments>();
  a->title = "Training runs";
  command.add_option("DIR", a->directories, "directories of finished runs; others are compared with the first")
      ->required()
      ->expected(1, 16);
  command.add_option("-o,--out", a->out, "the page to write")->required()->type_name("F.html");
  command.add_option("--title", a->title, "its heading")->capture_default_str();
  command.add_option("--checkpoint", a->checkpoint, "which weights of the runs: best, model or ema")
      ->check(CLI::IsMember({"best", "model", "ema"}))
      ->capture_default_str();
  add_integer(command, "--images", a->images, {1, 10'000'000}, "test images for confusion and mistakes")
      ->capture_default_str();
  add_integer(command, "--samples", a->samples, {1, 32}, "pictures with attention maps")->capture_default_str();
  command.footer("Example: fib report runs/full runs/fibottention -o report.html");
  command.callback([a, &globals] { run(*a, globals.quiet); });
}

}  // namespace fib::cli
