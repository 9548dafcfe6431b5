// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/infer.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/npy.h"
#include "cli/engine/engine_model.h"
#include "cli/inferred.h"
#include "cli/standard_streams.h"
#include "cli/threads.h"
#include "models/card.h"

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
  if ((shape.size() != 4 && shape.size() != 5) || std::ranges::find(shape, 0) != shape.end())
    throw std::runtime_error(
        fmt::format("{} must hold images [B,C,H,W] or clips [B,C,T,H,W], got [{}]", file, fmt::join(shape, ",")));
  const engine::Program& program = engine.program(shape[shape.size() - 2], shape.back());
  const std::vector<int64_t> sample(shape.begin() + 1, shape.end());
  if (sample != program.sample)
    throw std::runtime_error(fmt::format("the input holds samples of {}, the model takes {}", fmt::join(sample, " x "),
                                         fmt::join(program.sample, " x ")));
  return program;
}

}  // namespace

void infer_with_engine(const InferArguments& a, const Globals& globals) {
  if (a.dtype != "f32")
    throw std::invalid_argument("--dtype f64 goes with --weights; a compiled model computes in f32");
  use_threads(globals);
  StandardStreams streams(a.json ? "--json" : "");
  engine::Engine engine{a.engine};
  const NpyArray input(streams.input("--input", a.input));
  const engine::Program& program = program_for(engine, input.shape(), a.input);
  // Says now, not after the work, that it cannot be written.
  AtomicFile output(streams.output("--out", a.output, ".npy"));
  const std::vector<float> samples = as_floats(input);
  const int64_t count = input.shape()[0], per_sample = program.sample_elements();
  std::vector<float> logits(static_cast<size_t>(count * program.classes));
  for (int64_t i = 0; i < count; i += a.subject.batch) {
    const int64_t now = std::min(a.subject.batch, count - i);
    engine.run(program,
               std::span(samples).subspan(static_cast<size_t>(i * per_sample), static_cast<size_t>(now * per_sample)),
               std::span(logits).subspan(static_cast<size_t>(i * program.classes),
                                         static_cast<size_t>(now * program.classes)));
  }
  const std::vector<int64_t> shape{count, program.classes};
  write_npy<float>(output, shape, logits);
  output.commit();
  const models::ModelCard card = models::read_card(engine.content().card, a.engine);
  tell_inferred(a, {card.model, card.attention, input.shape(), shape, npy_type_name(NpyType::float32)}, globals.quiet);
  streams.finish();
}

}  // namespace fib::cli
