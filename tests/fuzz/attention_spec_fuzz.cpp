// SPDX-License-Identifier: Apache-2.0
#include "fibottention/pattern.h"
#include "fuzz.h"

/// Whatever the text: a refusal, or a support set whose rows stay within the tokens; and what is parsed is written so
/// that it parses again.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fib::fuzz::refuse_or_succeed([&] {
    const fib::AttentionSpec spec = fib::AttentionSpec::parse(fib::fuzz::text_of(data, size));
    fib::fuzz::require(fib::AttentionSpec::parse(spec.to_string()).to_string() == spec.to_string());
    fib::PatternGeometry geometry;
    geometry.patches = 49;
    geometry.heads = 3;
    geometry.layer = 1;
    const fib::SupportSet support = fib::make_support(spec, geometry);
    const int64_t tokens = geometry.patches + geometry.cls;
    fib::fuzz::require(support.pairs() >= 0 && support.pairs() <= geometry.heads * tokens * tokens);
  });
  return 0;
}
