// SPDX-License-Identifier: Apache-2.0
// What `fib eval` says, whoever computed it: `Subject` tells what was evaluated, `Accuracy` what came out.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cli/output.h"
#include "report/table.h"
#include "report/words.h"

namespace fib::cli {

/// How images become the input of a model, and who told it.
template <class Subject>
nlohmann::ordered_json input_json(const Subject& c) {
  return {{"resolution", c.view.input_size}, {"channels", c.view.channels}, {"mean", c.view.mean}, {"std", c.view.std},
          {"crop_ratio", c.view.crop_ratio}, {"as_told_by", c.view_source}};
}

template <class Subject, class Accuracy>
nlohmann::ordered_json evaluation_json(const Subject& c, const Accuracy& e) {
  return {{"model", c.model},      {"attention", c.attention},
          {"data", c.data},        {"images", e.images},
          {"top1", e.top1},        {"top5", e.top5},
          {"loss", e.loss},        {"images_per_second", e.images_per_second()},
          {"input", input_json(c)}};
}

template <class Subject, class Accuracy>
std::string evaluation_text(const Subject& c, const Accuracy& e) {
  report::Table table({{}, {}});
  table.add_row({"model", c.model + ", " + c.attention + " attention"});
  table.add_row({"data", fmt::format("{}, {} images", c.data, report::grouped(e.images))});
  table.add_row({"input", c.input_text()});
  table.add_row({"top-1", fmt::format("{:.2f} %", 100 * e.top1)});
  table.add_row({"top-5", fmt::format("{:.2f} %", 100 * e.top5)});
  table.add_row({"loss", fmt::format("{:.4f}", e.loss)});
  table.add_row({"speed", fmt::format("{:.1f} images/s", e.images_per_second())});
  return table.to_string();
}

template <class Subject, class Accuracy>
void show_evaluation(const Subject& c, const Accuracy& e, bool json, bool quiet) {
  if (json) {
    print_json(evaluation_json(c, e));
  } else if (!quiet) {
    fmt::print("{}", evaluation_text(c, e));
  }
}

}  // namespace fib::cli
