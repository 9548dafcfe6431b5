// SPDX-License-Identifier: Apache-2.0
// What a server counts, as Prometheus reads it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace fib::serving {

class Metrics {
 public:
  /// A request to a model that is answered, or refused.
  void answered(const std::string& model, int status, double seconds);
  /// Images that a model has classified, and the time that it took for them alone.
  void classified(const std::string& model, int64_t images, double seconds);

  /// In the text format, version 0.0.4. `waiting` is how many images are waiting or under way.
  std::string text(int64_t waiting) const;

 private:
  /// Upper ends in seconds; requests that take longer are in none.
  static constexpr std::array<double, 10> kEnds = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5};

  struct Duration {
    std::array<int64_t, kEnds.size()> up_to{};
    int64_t count = 0;
    double sum = 0;
  };
  struct Work {
    int64_t images = 0;
    double seconds = 0;
  };

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, int64_t> requests_;
  std::map<std::string, Duration> durations_;
  std::map<std::string, Work> work_;
};

}  // namespace fib::serving
