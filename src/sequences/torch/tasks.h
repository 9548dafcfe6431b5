// SPDX-License-Identifier: Apache-2.0
// What a decoder can learn: the tasks of this room.
#pragma once

#include <vector>

#include "training/torch/task.h"

namespace fib::sequences {

/// Each in the file of its task. "text": `model` is a row of decoders(), `data` is text:FILE.
training::TaskRow text_task();
/// "series": `model` is a row of decoders(), `data` is series:FILE.csv.
training::TaskRow series_task();

inline std::vector<training::TaskRow> sequence_tasks() { return {text_task(), series_task()}; }

}  // namespace fib::sequences
