// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "attention/registry.h"
#include "fibottention/mechanisms.h"
#include "kernels/c_guard.h"

namespace {

using fib::kernels::guarded;

nlohmann::ordered_json entry_of(const fib::attention::MechanismInfo& m) {
  nlohmann::ordered_json options = nlohmann::ordered_json::array();
  // As a support, full has no options.
  if (m.support_set) {
    for (const fib::PatternOption& o : m.options)
      options.push_back({{"key", o.key}, {"default", o.default_text}, {"help", o.help}});
  }
  return {{"name", m.name}, {"summary", m.summary}, {"options", std::move(options)}};
}

}  // namespace

const char* fib_mechanisms(void) {
  thread_local std::string text;
  const fib_status status = guarded([] {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const auto& m : fib::attention::mechanisms()) {
      if (m.support_set || m.dense) list.push_back(entry_of(m));
    }
    text = list.dump();
  });
  return status == FIB_OK ? text.c_str() : nullptr;
}

fib_status fib_mechanism_check(const char* text, const char** spec, fib_masking* masking) {
  thread_local std::string pattern;
  return guarded([&] {
    if (text == nullptr || spec == nullptr || masking == nullptr)
      throw std::invalid_argument("text, spec and masking must not be null");
    const fib::AttentionSpec given = fib::AttentionSpec::parse(text);
    fib::attention::require_pattern(given);
    const bool takes_masking = fib::attention::find_mechanism(given.name).support_set;
    const bool zero = takes_masking && fib::attention::masking_of(given) == fib::Masking::zero;
    pattern = fib::attention::pattern_spec(given).to_string();
    *spec = pattern.c_str();
    *masking = zero ? FIB_MASKING_ZERO : FIB_MASKING_EXCLUDE;
  });
}
