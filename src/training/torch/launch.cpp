// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "training/torch/process_group.h"

namespace fib::training {
namespace {

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

int integer(const char* name, int least, int most) {
  const std::string text = variable(name);
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most)
    throw std::invalid_argument(std::string("the environment variable ") + name + " is '" + text + "', accepted " +
                                std::to_string(least) + " to " + std::to_string(most));
  return value;
}

void require_all_or_none() {
  for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})
    if (variable(name).empty())
      throw std::invalid_argument(std::string("the environment variable ") + name +
                                  " is missing: to train with several processes set RANK, WORLD_SIZE, MASTER_ADDR and "
                                  "MASTER_PORT, or start them with torchrun --no_python");
}

}  // namespace

Launch Launch::from_environment() {
  Launch launch;
  if (variable("RANK").empty() && variable("WORLD_SIZE").empty()) return launch;
  require_all_or_none();
  launch.world = integer("WORLD_SIZE", 1, 1 << 16);
  launch.rank = integer("RANK", 0, launch.world - 1);
  launch.local_world = variable("LOCAL_WORLD_SIZE").empty() ? 1 : integer("LOCAL_WORLD_SIZE", 1, launch.world);
  launch.address = variable("MASTER_ADDR");
  launch.port = integer("MASTER_PORT", 1, 65535);
  launch.agent_store = variable("TORCHELASTIC_USE_AGENT_STORE") == "True";
  launch.attempt = variable("TORCHELASTIC_RESTART_COUNT");
  return launch;
}

}  // namespace fib::training
