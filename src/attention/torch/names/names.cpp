// SPDX-License-Identifier: Apache-2.0
// The registry of mechanisms for Python: what there is, and what a text of it means to the operators.
#include <torch/library.h>

#include "attention/pattern_spec.h"
#include "attention/registry.h"
#include "ops/tensors.h"

namespace fib::attention {
namespace {

/// Name, summary, then key, default and help of each option.
std::vector<std::string> row_of(const MechanismInfo& m) {
  std::vector<std::string> row{m.name, m.summary};
  row.reserve(2 + 3 * m.options.size());
  for (const PatternOption& o : m.options) row.insert(row.end(), {o.key, o.default_text, o.help});
  return row;
}

/// Those that a support stands for; as a support, full has no options.
std::vector<std::vector<std::string>> mechanism_rows() {
  std::vector<std::vector<std::string>> rows;
  rows.reserve(mechanisms().size());
  for (const MechanismInfo& m : mechanisms()) {
    if (m.support_set) rows.push_back(row_of(m));
    if (m.dense) rows.push_back({m.name, m.summary});
  }
  return rows;
}

/// The text as the operators take it, and its masking.
std::tuple<std::string, std::string> checked_text(const std::string& text) {
  std::tuple<std::string, std::string> result;
  ops::with_value_errors([&] {
    const AttentionSpec spec = AttentionSpec::parse(text);
    require_pattern(spec);
    const bool zero = find_mechanism(spec.name).support_set && masking_of(spec) == Masking::zero;
    result = {pattern_spec(spec).to_string(), zero ? "zero" : "exclude"};
  });
  return result;
}

}  // namespace
}  // namespace fib::attention

TORCH_LIBRARY_FRAGMENT(fibottention, m) {
  m.def("mechanisms() -> str[][]", &fib::attention::mechanism_rows);
  m.def("check_mechanism(str attention) -> (str attention, str masking)", &fib::attention::checked_text);
}
