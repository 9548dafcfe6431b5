// SPDX-License-Identifier: Apache-2.0
// Each command's face to the table in main.cpp; the rest of it is its own file.
#pragma once

#include "cli/app.h"

namespace fib::cli {

void add_infer(CLI::App& command, const Globals& globals);
void add_classify(CLI::App& command, const Globals& globals);
void add_eval(CLI::App& command, const Globals& globals);
void add_train(CLI::App& command, const Globals& globals);
void add_prune(CLI::App& command, const Globals& globals);
void add_analyze(CLI::App& command, const Globals& globals);
void add_analyze_diversity(CLI::App& command, const Globals& globals);
void add_analyze_inductive_bias(CLI::App& command, const Globals& globals);
void add_analyze_attention_maps(CLI::App& command, const Globals& globals);
void add_analyze_corruption(CLI::App& command, const Globals& globals);
void add_report(CLI::App& command, const Globals& globals);
void add_bench(CLI::App& command, const Globals& globals);
void add_bench_attention(CLI::App& command, const Globals& globals);
void add_bench_model(CLI::App& command, const Globals& globals);
void add_bench_data(CLI::App& command, const Globals& globals);

}  // namespace fib::cli
