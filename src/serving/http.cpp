// SPDX-License-Identifier: Apache-2.0
#include "serving/http.h"

#include "base/plugin.h"

namespace fib::serving {

void serve_http(const HttpOptions& options, const Answer& answer, const CancelToken& cancel,
                const std::function<void(int port)>& bound) {
  const Plugin plugin{"libfib_http.so", "fib serve needs it", "libcpp-httplib-dev"};
  using Serve = void (*)(const HttpOptions*, const Answer*, const CancelToken*, const std::function<void(int)>*);
  const auto serve = reinterpret_cast<Serve>(plugin_function(plugin, "fib_serve_http"));
  serve(&options, &answer, &cancel, &bound);
}

}  // namespace fib::serving
