// SPDX-License-Identifier: Apache-2.0
#include "serving/metrics.h"

#include <fmt/format.h>

namespace fib::serving {
namespace {

/// A label's value in the text format.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out;
}

std::string heading(const char* name, const char* type, const char* help) {
  return fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

}  // namespace

void Metrics::answered(const std::string& model, int status, double seconds) {
  const std::lock_guard lock(mutex_);
  ++requests_[{model, status}];
  Duration& duration = durations_[model];
  for (size_t i = 0; i < kEnds.size(); ++i) duration.up_to[i] += seconds <= kEnds[i];
  ++duration.count;
  duration.sum += seconds;
}

void Metrics::classified(const std::string& model, int64_t images, double seconds) {
  const std::lock_guard lock(mutex_);
  work_[model].images += images;
  work_[model].seconds += seconds;
}

std::string Metrics::text(int64_t waiting) const {
  const std::lock_guard lock(mutex_);
  std::string text = heading("fib_requests_total", "counter", "Requests to a model, by status.");
  for (const auto& [key, count] : requests_)
    text += fmt::format("fib_requests_total{{model=\"{}\",code=\"{}\"}} {}\n", escaped(key.first), key.second, count);
  text += heading("fib_request_duration_seconds", "histogram", "From a request's arrival to its answer.");
  for (const auto& [model, duration] : durations_) {
    const std::string name = escaped(model);
    for (size_t i = 0; i < kEnds.size(); ++i)
      text += fmt::format("fib_request_duration_seconds_bucket{{model=\"{}\",le=\"{}\"}} {}\n", name, kEnds[i],
                          duration.up_to[i]);
    text += fmt::format("fib_request_duration_seconds_bucket{{model=\"{}\",le=\"+Inf\"}} {}\n", name, duration.count);
    text += fmt::format("fib_request_duration_seconds_sum{{model=\"{}\"}} {:.6f}\n", name, duration.sum);
    text += fmt::format("fib_request_duration_seconds_count{{model=\"{}\"}} {}\n", name, duration.count);
  }
  text += heading("fib_images_total", "counter", "Images that a model has classified.");
  for (const auto& [model, work] : work_)
    text += fmt::format("fib_images_total{{model=\"{}\"}} {}\n", escaped(model), work.images);
  text += heading("fib_model_seconds_total", "counter", "Time that a model has computed.");
  for (const auto& [model, work] : work_)
    text += fmt::format("fib_model_seconds_total{{model=\"{}\"}} {:.6f}\n", escaped(model), work.seconds);
  text += heading("fib_images_waiting", "gauge", "Images that are waiting or under way.");
  return text + fmt::format("fib_images_waiting {}\n", waiting);
}

}  // namespace fib::serving
