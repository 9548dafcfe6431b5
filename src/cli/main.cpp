// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

int main(int argc, char** argv) {
  using namespace fib::cli;
  return run_app(argc, argv,
                 {{"pattern", "which query meets which key: table, JSON or picture", add_pattern},
                  {"attentions", "the attention mechanisms and their options", add_attentions}});
}
