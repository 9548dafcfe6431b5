// SPDX-License-Identifier: Apache-2.0
// Hostile programs from a grammar: well-formed steps whose sizes come from a list of numbers on the edges of types.
// Changing bytes at random does not find these: sizes must agree with each other before the checker multiplies them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/program.h"

namespace fib::test {

/// Where the decisions come from: a generator with a seed, or a fuzzer's bytes.
class Choices {
 public:
  virtual ~Choices() = default;
  /// From 0 to count - 1.
  virtual uint64_t below(uint64_t count) = 0;
};

/// The same numbers on every machine.
class SeededChoices : public Choices {
 public:
  explicit SeededChoices(uint64_t seed) : state_(seed) {}
  uint64_t below(uint64_t count) override;

 private:
  uint64_t state_;
};

/// A program of one to three steps. It need not be acceptable.
engine::Program hostile_program(Choices& choices);

/// The oracle of the checker's products: what a step reads or writes beyond its buffers, computed in 128 bits; empty
/// where it stays inside.
std::string out_of_bounds(const engine::Program& program);

}  // namespace fib::test
