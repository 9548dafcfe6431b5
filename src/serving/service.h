// SPDX-License-Identifier: Apache-2.0
// What is answered to whom: images by models, and what tells of both. Knows requests and responses, no sockets.
//
//   POST /classify          images, as one body or as a form with files, to the first model; ?top=5
//   POST /classify/NAME     to another
//   GET  /models /health /metrics /
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "serving/http.h"
#include "serving/metrics.h"
#include "serving/model_pool.h"

namespace fib::serving {

struct ServiceOptions {
  std::vector<ServedModelOptions> models;  ///< at least one; the first is asked where none is named
  int64_t threads = 1;                     ///< to compute with
  int64_t most_images = 16;                ///< of a request
  int64_t most_waiting = 64;               ///< images of all requests that wait or are under way; more get 503
  int64_t most_pixels = int64_t{1} << 26;  ///< of an image
  double seconds = 30;                     ///< that an image may wait before its request gets 503
  int64_t top = 5;
};

class Service {
 public:
  /// Throws where a model cannot be opened, or two have one name.
  explicit Service(const ServiceOptions& options);

  /// To be called by many threads at once.
  Response answer(const Request& request);

  const std::vector<std::unique_ptr<ServedModel>>& models() const { return models_; }
  int64_t images_waiting() const { return waiting_; }

 private:
  Response classify(const Request& request, const std::string& name);
  Response classified(ServedModel& model, const Request& request, int64_t top);
  /// The image as the model's input. Throws std::runtime_error where it is none.
  std::vector<float> prepared(const Body& body, const Pipeline& pipeline);
  Response models_response() const;

  ServiceOptions options_;
  Cores cores_;
  std::vector<std::unique_ptr<ServedModel>> models_;
  Metrics metrics_;
  std::atomic<int64_t> waiting_{0};
};

/// The page at "/": images are dropped there and classified.
const std::string& drop_page();

}  // namespace fib::serving
