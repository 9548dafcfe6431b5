// SPDX-License-Identifier: Apache-2.0
#include "cli/app.h"
#include "cli/commands/command_table.h"

int main(int argc, char** argv) {
  using namespace fib::cli;
  return run_app(argc, argv, {.commands = command_table<BecomesTorchProgram>()});
}
