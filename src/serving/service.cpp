// SPDX-License-Identifier: Apache-2.0
#include "serving/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <stdexcept>

#include "base/measure.h"
#include "base/text.h"
#include "data/labels.h"
#include "report/model_report.h"

namespace fib::serving {
namespace {

using nlohmann::ordered_json;

std::string text_of(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

Response failure(int status, const std::string& reason) {
  return {status, "application/json", text_of({{"error", reason}})};
}

/// Places that are held while it lives, if so many were left.
class Places {
 public:
  Places(std::atomic<int64_t>& held, int64_t count, int64_t most) : held_(held), count_(count) {
    granted_ = held_.fetch_add(count) + count <= most;
    if (!granted_) held_ -= count;
  }
  ~Places() {
    if (granted_) held_ -= count_;
  }
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  bool granted() const { return granted_; }

 private:
  std::atomic<int64_t>& held_;
  int64_t count_;
  bool granted_ = false;
};

std::vector<std::unique_ptr<ServedModel>> open_models(const ServiceOptions& options, Cores& cores) {
  std::vector<std::unique_ptr<ServedModel>> models;
  for (const ServedModelOptions& model : options.models) {
    const auto same = [&](const auto& other) { return other->name() == model.name; };
    if (std::ranges::any_of(models, same))
      throw std::invalid_argument(
          fmt::format("two models are called {}: name them, --engine NAME=FILE", in_quotes(model.name)));
    models.push_back(std::make_unique<ServedModel>(model, cores));
  }
  return models;
}

}  // namespace

Service::Service(const ServiceOptions& options)
    : options_(options), cores_(options.threads), models_(open_models(options, cores_)) {}

Response Service::answer(const Request& request) try {
  const std::string classify_path = "/classify";
  if (request.path == classify_path || request.path.starts_with(classify_path + "/")) {
    if (request.method != "POST") return failure(405, "images are sent with POST");
    const std::string name = request.path.substr(std::min(request.path.size(), classify_path.size() + 1));
    const Stopwatch watch;
    Response response = classify(request, name);
    // A name that no model has is not counted: anybody could fill the table of counters.
    if (response.status != 404)
      metrics_.answered(name.empty() ? models_.front()->name() : name, response.status, watch.seconds());
    return response;
  }
  if (request.method != "GET") return failure(404, "POST goes to /classify or /classify/MODEL");
  if (request.path == "/health") return {200, "application/json", text_of({{"status", "ok"}})};
  if (request.path == "/metrics") return {200, "text/plain; version=0.0.4; charset=utf-8", metrics_.text(waiting_)};
  if (request.path == "/models") return models_response();
  if (request.path == "/") return {200, "text/html; charset=utf-8", drop_page()};
  return failure(404, "there are POST /classify and /classify/MODEL, GET /, /models, /health and /metrics");
} catch (const std::exception& error) {
  return failure(500, error.what());
}

Response Service::models_response() const {
  auto list = ordered_json::array();
  for (const auto& model : models_) {
    const prediction::ModelInfo& info = model->info();
    list.push_back({{"name", model->name()},
                    {"model", info.model},
                    {"attention", info.attention},
                    {"precision", info.precision},
                    {"classes", info.classes},
                    {"input", report::input_json(info)}});
  }
  return {200, "application/json", text_of(list)};
}

Response Service::classify(const Request& request, const std::string& name) {
  const auto named = [&](const auto& model) { return model->name() == name; };
  const auto model = name.empty() ? models_.begin() : std::ranges::find_if(models_, named);
  if (model == models_.end()) return failure(404, "no model is called " + in_quotes(name) + "; see /models");
  const auto asked = request.query.find("top");
  const auto top = asked == request.query.end() ? std::optional(options_.top) : parse_number<int64_t>(asked->second);
  if (!top || *top < 1) return failure(400, "top must be a whole number from 1, got " + in_quotes(asked->second));
  const auto images = static_cast<int64_t>(request.bodies.size());
  if (images == 0) return failure(400, "send images: one as the body, or several as the files of a form");
  if (images > options_.most_images)
    return failure(413, fmt::format("{} images, accepted are {} in a request", images, options_.most_images));
  const Places places(waiting_, images, options_.most_waiting);
  if (!places.granted()) return failure(503, fmt::format("{} images are waiting already", options_.most_waiting));
  return classified(**model, request, *top);
}

Response Service::classified(ServedModel& model, const Request& request, int64_t top) {
  const auto latest = ServedModel::Clock::now() + std::chrono::duration_cast<ServedModel::Clock::duration>(
                                                      std::chrono::duration<double>(options_.seconds));
  auto list = ordered_json::array();
  int64_t done = 0;
  double computed = 0;
  for (const Body& body : request.bodies) {
    try {
      const std::vector<float> input = prepared(body, model.pipeline());
      const auto logits = model.logits(input, latest, computed);
      if (!logits) return failure(503, fmt::format("no engine was free for {:g} seconds", options_.seconds));
      list.push_back(report::classified_json({body.name, best_classes(*logits, top, model.info().class_names)}));
      ++done;
    } catch (const std::runtime_error& error) {
      list.push_back({{"image", body.name}, {"error", error.what()}});
    }
  }
  metrics_.classified(model.name(), done, computed);
  return {done > 0 ? 200 : 400, "application/json", text_of(list)};
}

std::vector<float> Service::prepared(const Body& body, const Pipeline& pipeline) {
  const Cores::Share core(cores_, 1);
  std::vector<float> input(pipeline.values());
  const CounterRng unused(0);
  pipeline.apply(decode_image(std::as_bytes(std::span(body.bytes)), body.name, options_.most_pixels), unused,
                 input.data());
  return input;
}

}  // namespace fib::serving
