// SPDX-License-Identifier: Apache-2.0
#include "base/parallel.h"

#include <exception>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>

namespace fib {

void require_threads(int64_t count) {
  std::promise<void> all_started;
  const std::shared_future<void> released = all_started.get_future().share();
  std::vector<std::thread> threads;
  std::string refused;
  try {
    while (static_cast<int64_t>(threads.size()) + 1 < count) threads.emplace_back([released] { released.wait(); });
  } catch (const std::exception& error) {  // of the system, or for want of memory
    refused = error.what();
  }
  all_started.set_value();
  for (std::thread& thread : threads) thread.join();
  if (!refused.empty())
    throw std::runtime_error("cannot start " + std::to_string(count) + " threads: after " +
                             std::to_string(threads.size()) + " the system said '" + refused + "'");
}

}  // namespace fib
