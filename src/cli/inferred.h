// SPDX-License-Identifier: Apache-2.0
// What `fib infer` says, whoever computed it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/checked.h"
#include "cli/output.h"

namespace fib::cli {

struct Inferred {
  std::string model, attention;
  std::vector<int64_t> input, logits;  ///< shapes
  const char* type;
};

/// `Arguments` are those of the command.
template <class Arguments>
void tell_inferred(const Arguments& a, const Inferred& result, bool quiet) {
  const nlohmann::ordered_json written = {{"file", a.output}, {"shape", result.logits}, {"dtype", result.type}};
  if (a.json)
    print_json({{"model", result.model},
                {"attention", result.attention},
                {"input", {{"file", a.input}, {"shape", result.input}}},
                {"written", nlohmann::ordered_json::array({written})}});
  else if (a.output != "-")
    say_written(a.output, quiet, shape_text(result.logits) + " " + result.type);
}

}  // namespace fib::cli
