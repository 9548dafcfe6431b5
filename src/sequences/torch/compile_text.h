// SPDX-License-Identifier: Apache-2.0
// A trained decoder of texts as a compiled model: what `fib generate --engine` runs.
#pragma once

#include "engine/fib_file.h"
#include "engine/lower.h"
#include "sequences/torch/trained_text.h"

namespace fib::sequences {

/// The forward of the next `tokens` of a sequence, with a cache. Its constants share memory with the model's
/// parameters.
engine::Graph decoder_graph(TextDecoder& model, int64_t tokens);

/// Steps for one token, and for many at once, with which a prompt is read.
engine::FibContent compiled_text(const TrainedText& text, engine::Precision precision, engine::TensorStore& tensors);

}  // namespace fib::sequences
