// SPDX-License-Identifier: Apache-2.0
#include "fuzz.h"
#include "training/recipe/options.h"

/// Whatever the text: a refusal, or a recipe that is the same after it was written and read again.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fib::fuzz::refuse_or_succeed([&] {
    fib::training::Recipe recipe, again;
    fib::training::read_toml(recipe, fib::fuzz::text_of(data, size), "fuzz.toml");
    const std::string written = fib::training::write_toml(recipe);
    fib::training::read_toml(again, written, "again.toml");
    fib::fuzz::require(fib::training::write_toml(again) == written);
  });
  return 0;
}
