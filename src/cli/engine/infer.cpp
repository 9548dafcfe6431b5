// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/infer.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/npy.h"
#include "cli/engine/engine_model.h"

namespace fib::cli {
namespace {

std::vector<float> as_floats(const NpyArray& array) {
  if (array.type() == NpyType::float64) {
    const auto values = array.values<double>();
    return {values.begin(), values.end()};
  }
  const auto values = array.values<float>();
  return {values.begin(), values.end()};
}

const engine::Program& program_for(const engine::Engine& engine, const std::vector<int64_t>& shape,
                                   const std::string& file) {
  if (shape.size() != 4 || std::ranges::find(shape, 0) != shape.end())
    throw std::runtime_error(fmt::format("{} must hold images [B,C,H,W], got [{}]", file, fmt::join(shape, ",")));
  const engine::Program& program = engine.program(shape[2], shape[3]);
  if (shape[1] != program.channels)
    throw std::runtime_error(fmt::format("the input has {} channels, the model takes {}", shape[1], program.channels));
  return program;
}

}  // namespace

void infer_with_engine(const InferArguments& a, const Globals& globals) {
  if (a.dtype != "f32")
    throw std::invalid_argument("--dtype f64 goes with --weights; a compiled model computes in f32");
  use_threads(globals);
  engine::Engine engine{a.engine};
  const NpyArray input(a.input);
  const engine::Program& program = program_for(engine, input.shape(), a.input);
  AtomicFile output(a.output);  // says now, not after the work, that it cannot be written
  const std::vector<float> images = as_floats(input);
  const int64_t count = input.shape()[0], per_image = static_cast<int64_t>(images.size()) / count;
  std::vector<float> logits(static_cast<size_t>(count * program.classes));
  for (int64_t i = 0; i < count; i += a.subject.batch) {
    const int64_t now = std::min(a.subject.batch, count - i);
    engine.run(program,
               std::span(images).subspan(static_cast<size_t>(i * per_image), static_cast<size_t>(now * per_image)),
               std::span(logits).subspan(static_cast<size_t>(i * program.classes),
                                         static_cast<size_t>(now * program.classes)));
  }
  const std::vector<int64_t> shape{count, program.classes};
  write_npy<float>(output, shape, logits);
  output.commit();
}

}  // namespace fib::cli
