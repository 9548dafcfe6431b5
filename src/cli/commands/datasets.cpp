// SPDX-License-Identifier: Apache-2.0
#include "data/registry/datasets.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "cli/command.h"
#include "cli/output.h"
#include "report/table.h"

namespace fib::cli {
namespace {

using report::Table;

using nlohmann::ordered_json;

struct DatasetsArguments {
  bool json = false;
  std::vector<std::string> verify;
};

/// Where a row is looked for by default, and where it was found; neither for kinds that need a path.
struct Finding {
  std::vector<std::filesystem::path> places;
  std::optional<std::filesystem::path> found;
};

Finding look_for(const DatasetRow& row) {
  if (row.folder.empty()) return {};
  const DataSource source = parse_data_source(row.name);
  return {source.places, find_dataset(source)};
}

ordered_json row_json(const DatasetRow& row) {
  const Finding finding = look_for(row);
  auto looked = ordered_json::array();
  for (const auto& place : finding.places) looked.push_back(place.string());
  const auto per_channel = [&](const auto& v) { return std::vector<float>(v.begin(), v.begin() + row.channels); };
  return {{"name", row.name},
          {"what", row.what},
          {"classes", row.classes == 0 ? ordered_json() : ordered_json(row.classes)},
          {"image_size", row.image_size == 0 ? ordered_json() : ordered_json(row.image_size)},
          {"channels", row.channels},
          {"mean", per_channel(row.mean)},
          {"std", per_channel(row.std)},
          {"looked_in", looked},
          {"found", finding.found ? ordered_json(finding.found->string()) : ordered_json()},
          {"how_to_get", row.how_to_get}};
}

ordered_json datasets_json() {
  auto list = ordered_json::array();
  for (const DatasetRow& row : dataset_rows()) list.push_back(row_json(row));
  return list;
}

std::string state_of(const DatasetRow& row, const Finding& finding) {
  if (row.folder.empty()) return fmt::format("written {}:PATH", row.name);
  return finding.found ? finding.found->string() : "missing";
}

/// Whole, but with nothing in it that a terminal obeys.
std::string shown(const std::filesystem::path& path) {
  constexpr size_t kLongestPath = 4096;
  return printable(path.string(), kLongestPath);
}

/// For each that is missing: where it was looked for, and what to do.
std::string advice() {
  Table table({{"missing"}, {"looked for in"}, {"to get it"}});
  bool any = false;
  for (const DatasetRow& row : dataset_rows()) {
    const Finding finding = look_for(row);
    if (row.folder.empty() || finding.found) continue;
    table.add_row({std::string(row.name), finding.places[0].string(), std::string(row.how_to_get)});
    for (size_t i = 1; i < finding.places.size(); ++i) table.add_row({"", finding.places[i].string(), ""});
    any = true;
  }
  return any ? "\n" + table.to_string() : "";
}

std::string datasets_text() {
  Table table({{"dataset"}, {"what it is"}, {"where"}});
  for (const DatasetRow& row : dataset_rows())
    table.add_row({std::string(row.name), std::string(row.what), state_of(row, look_for(row))});
  return table.to_string() + advice() +
         fmt::format(
             "\nDefault places are below {}; FIB_DATA names another folder.\n"
             "Elsewhere: --data NAME:PATH, e.g. cifar10:/data/cifar-10-batches-bin.\n",
             shown(data_root()));
}

/// Throws at the first file that is missing or differs.
void verify(const std::string& name, const Globals& globals) {
  const DataSource source = parse_data_source(name);
  const auto folder = locate_dataset(source);
  if (source.row->files.empty() || source.row->files[0].md5.empty())
    throw std::invalid_argument(fmt::format("no checksums are published for {}", source.row->name));
  verify_dataset(*source.row, folder);
  if (!globals.quiet)
    fmt::print("{}: the {} files in {} are the published ones\n", source.row->name, source.row->files.size(),
               shown(folder));
}

void run(const DatasetsArguments& a, const Globals& globals) {
  for (const std::string& name : a.verify) verify(name, globals);
  if (!a.verify.empty()) return;
  if (a.json) {
    print_json(datasets_json());
  } else if (!globals.quiet) {
    fmt::print("{}", datasets_text());
  }
}

void declare(CLI::App& command, DatasetsArguments& a) {
  command.add_flag("--json", a.json, "print JSON");
  command.add_option("--verify", a.verify, "compare NAME or NAME:PATH with the published checksums")->type_name("DATA");
  command.footer("Example: fib datasets --verify fashion-mnist");
}

}  // namespace

Command datasets_command() {
  return make_command<DatasetsArguments>(
      {"datasets", "the datasets, where they are, and how to get what is missing", Topic::models}, declare, run);
}

}  // namespace fib::cli
