// SPDX-License-Identifier: Apache-2.0
// fib serve: compiled models behind HTTP.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/commands/trained.h"
#include "cli/output.h"
#include "cli/stop_signals.h"
#include "data/labels.h"
#include "serving/service.h"

namespace fib::cli {
namespace {

struct ServeArguments {
  std::vector<std::string> engines;  ///< FILE or NAME=FILE
  serving::HttpOptions http;
  serving::ServiceOptions service;
  EngineLimitArguments limits;
  std::string labels;
  int64_t port = 8080, connections = 64, read_seconds = 10;
  int64_t engines_each = 0;  ///< 0: one for each thread, two at most
  double most_megabytes = 32, seconds = 30;
};

/// What keeps one client from taking all there is.
void add_bounds(CLI::App& command, ServeArguments& a) {
  add_number(command, "--max-body", a.most_megabytes, {0.001, 4096}, "largest body of a request, in 10⁶ bytes")
      ->capture_default_str();
  add_integer(command, "--max-images", a.service.most_images, {1, 100'000}, "most images in one request")
      ->capture_default_str();
  add_integer(command, "--queue", a.service.most_waiting, {1, 1'000'000},
              "most images of all requests that are waiting or under way; a request that brings more gets status 503")
      ->capture_default_str();
  add_integer(command, "--connections", a.connections, {1, 4096},
              "most connections that are served side by side; others get status 503")
      ->capture_default_str();
  add_number(command, "--timeout", a.seconds, {0.01, 86400},
             "seconds that an image waits for the model at most before its request gets status 503")
      ->capture_default_str();
  add_integer(command, "--read-timeout", a.read_seconds, {1, 3600},
              "seconds without a byte after which a connection is closed")
      ->capture_default_str();
}

void declare(CLI::App& command, ServeArguments& a) {
  command
      .add_option(
          "--engine", a.engines,
          "a compiled model, FILE or NAME=FILE; repeat it for several. The name is that of the file unless given")
      ->type_name("FILE")
      ->required()
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_option("--host", a.http.host, "address to serve on; 127.0.0.1 is reached from this machine alone")
      ->type_name("ADDRESS")
      ->capture_default_str();
  add_integer(command, "--port", a.port, {0, 65535}, "port to serve on; 0 takes one that is free")
      ->capture_default_str();
  command
      .add_option("--labels", a.labels,
                  "names of the first model's classes, a file as fib classify takes it; by "
                  "default those of the model's file")
      ->type_name("FILE");
  add_integer(command, "--top", a.service.top, {1, 1'000'000}, "classes in an answer, unless ?top= says otherwise")
      ->capture_default_str();
  add_integer(command, "--engines", a.engines_each, {0, 256},
              "engines of each model that compute side by side, each with memory of its own; 0 is one for each thread, "
              "at most two")
      ->capture_default_str();
  add_bounds(command, a);
  add_engine_limits(command, a.limits);
  command.footer(
      "POST /classify takes an image as its body, or a form with files, and answers as fib classify --json;\n"
      "/classify/NAME asks another model. GET / is a page with a drop area, /models, /health and /metrics tell of the "
      "server.\n"
      "There is no encryption and no password: put a reverse proxy before it where others can reach it.\n"
      "Ctrl-C and SIGTERM let it answer what it has begun, and end it.\n"
      "Example: fib serve --engine vit.fib\n"
      "Example: fib serve --engine vit.fib --engine fast=vit-int8.fib --port 9000\n"
      "Example: curl --data-binary @photo.jpg 'http://127.0.0.1:8080/classify?top=3'\n"
      "Example: curl -F a=@one.jpg -F b=@two.png http://127.0.0.1:8080/classify/fast");
}

/// "fast=vit.fib" is the model fast; a name of a file alone is its own.
serving::ServedModelOptions model_of(const std::string& engine, const ServeArguments& a, int64_t engines) {
  serving::ServedModelOptions model{.engines = engines, .limits = a.limits.limits()};
  const size_t equals = engine.find('=');
  const bool named = equals != std::string::npos && equals > 0 && !std::filesystem::exists(engine);
  model.file = named ? engine.substr(equals + 1) : engine;
  model.name = named ? engine.substr(0, equals) : std::filesystem::path(engine).stem().string();
  if (model.name.find('/') != std::string::npos)
    throw std::invalid_argument(fmt::format("--engine {}: a name has no slash", engine));
  return model;
}

serving::ServiceOptions service_of(const ServeArguments& a, const Globals& globals) {
  serving::ServiceOptions service = a.service;
  service.threads = globals.threads;
  service.seconds = a.seconds;
  const int64_t engines = a.engines_each > 0 ? a.engines_each : std::min<int64_t>(2, globals.threads);
  for (const std::string& engine : a.engines) service.models.push_back(model_of(engine, a, engines));
  if (!a.labels.empty()) service.models.front().class_names = read_labels(a.labels);
  return service;
}

void run(const ServeArguments& a, const Globals& globals) {
  use_threads(globals);
  serving::Service service(service_of(a, globals));
  serving::HttpOptions http = a.http;
  http.port = static_cast<int>(a.port);
  http.most_bytes = static_cast<size_t>(a.most_megabytes * 1e6);
  http.connections = static_cast<size_t>(a.connections);
  http.read_seconds = a.read_seconds;
  CancelSource cancel;
  const StopSignals signals(cancel, "stopping: what has begun is answered\n");
  const auto bound = [&](int port) {
    for (const auto& model : service.models())
      if (!globals.quiet)
        say(fmt::format("{}: {} with {}, {} classes", model->name(), model->info().model, model->info().attention,
                        model->info().classes));
    say(fmt::format("serving on http://{}:{}/", http.host, port));
  };
  serving::serve_http(
      http, [&](const serving::Request& request) { return service.answer(request); }, cancel.token(), bound);
}

}  // namespace

Command serve_command() {
  return make_command<ServeArguments>(
      {"serve", "compiled models answer over HTTP: images in, classes out", Topic::trained}, declare, run);
}

}  // namespace fib::cli
