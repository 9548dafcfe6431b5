// SPDX-License-Identifier: Apache-2.0
// Writes the first files of the fuzzer of .fib files: small compiled models. Usage: make_fuzz_corpus DIR
#include <cstdio>
#include <filesystem>

#include "engine/engine.h"
#include "engine/graphs.h"
#include "engine/lower.h"

namespace {

using namespace fib;

void compile(const engine::Graph& graph, engine::Precision precision, const std::filesystem::path& file) {
  engine::TensorStore tensors;
  engine::FibContent content;
  content.precision = precision, content.most_samples = 3;
  content.programs.push_back(engine::lower(graph, precision, tensors));
  content.card = {{"model", "test"}};
  engine::write_fib(file, content, tensors.views());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: make_fuzz_corpus DIR\n", stderr), 2;
  const std::filesystem::path folder = argv[1];
  compile(test::transformer("fibottention", {.dim = 4, .hidden = 8}), engine::Precision::int8,
          folder / "transformer.fib");
  compile(test::decoder(1), engine::Precision::f32, folder / "decoder.fib");
  compile(test::of_clips(), engine::Precision::bf16, folder / "clips.fib");
  compile(test::sampler(), engine::Precision::f32, folder / "policy.fib");
}
