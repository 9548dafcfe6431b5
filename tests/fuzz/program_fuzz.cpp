// SPDX-License-Identifier: Apache-2.0
#include "../engine/program_grammar.h"
#include "fuzz.h"

namespace {

class ChosenBytes : public fib::test::Choices {
 public:
  explicit ChosenBytes(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  uint64_t below(uint64_t count) override { return next_ < bytes_.size() ? bytes_[next_++] % count : 0; }

 private:
  std::span<const uint8_t> bytes_;
  size_t next_ = 0;
};

}  // namespace

/// Programs from a grammar: a refusal, or steps that stay inside their buffers.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ChosenBytes choices({data, size});
  const fib::engine::Program program = fib::test::hostile_program(choices);
  fib::fuzz::refuse_or_succeed([&] {
    fib::engine::check_program(program);
    fib::fuzz::require(fib::test::out_of_bounds(program).empty());
  });
  return 0;
}
