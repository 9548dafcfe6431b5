// SPDX-License-Identifier: Apache-2.0
// What `fib bench attention` can be told; cli/torch/bench_attention.cpp does it.
#pragma once

#include <string>

#include "bench/options.h"
#include "cli/command.h"
#include "cli/options.h"

namespace fib::cli {

struct BenchAttentionArguments {
  AttentionArguments attention;
  bench::AttentionBenchOptions options;
  bool json = false;
  std::string plot;
};

inline void declare(CLI::App& command, BenchAttentionArguments& a) {
  bench::AttentionBenchOptions& o = a.options;
  add_integers(command, "--tokens", o.tokens, {1, kMaxTokens / 2}, "patch tokens N; class tokens come on top")
      ->default_str("196,784,4096");
  add_integer(command, "--heads", o.heads, {1, 1024}, "heads")->capture_default_str();
  add_integer(command, "--dim", o.dim, {1, 512}, "channels per head")->capture_default_str();
  add_integer(command, "--batch", o.batch, {1, 65536}, "samples")->capture_default_str();
  add_integer(command, "--cls", o.cls, {0, 16}, "class tokens")->capture_default_str();
  add_attention_options(command, a.attention);
  command.add_flag("--backward", o.backward, "also time forward and backward together");
  add_number(command, "--seconds", o.timing.seconds, {0.01, 3600}, "time to spend per size, about")
      ->capture_default_str();
  command.add_flag("--json", a.json, "for machines");
  command.add_option("--plot", a.plot, "time and memory against N, as .svg or .png")->type_name("FILE");
  command.footer(
      "Each contestant is verified against a float64 oracle on sampled rows (max error: relative to max |v|), then all "
      "are "
      "timed in turn.\nGFLOP/s count 4 d per pair forward, 14 d with backward; GB/s count q, k, v and out once.\n"
      "Example: fib bench attention --tokens 196,784,4096 --backward --plot bench.svg");
}

inline Command bench_attention_command() {
  return torch_command<BenchAttentionArguments>(
      {"bench attention", "this kernel beside dense attention and memcpy", Topic::measures}, declare);
}

}  // namespace fib::cli
