// SPDX-License-Identifier: Apache-2.0
// HTTP as the service sees it: a request with its bodies in memory, a response. The server itself is a library of its
// own (http/server.cpp), since what it is built on brings OpenSSL with it, which other commands need not load.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/cancel.h"

namespace fib::serving {

struct Body {
  std::string name;  ///< of the file, or of the form's field
  std::string bytes;
};

struct Request {
  std::string method, path;
  std::map<std::string, std::string> query = {};
  std::vector<Body> bodies = {};  ///< the parts of a form, or the one body
};

struct Response {
  int status = 200;
  std::string type = "application/json", text = {};
};

struct HttpOptions {
  std::string host = "127.0.0.1";
  int port = 0;               ///< 0: any that is free
  size_t most_bytes = 0;      ///< of a request's body
  size_t connections = 64;    ///< served side by side; more are refused with 503
  int64_t read_seconds = 10;  ///< to wait for the next bytes of a request, and to keep an idle connection
};

using Answer = std::function<Response(const Request&)>;

/// Answers until it is cancelled; requests under way are answered first. `bound` is told the port. Throws
/// std::runtime_error where the address cannot be used, or this build has no server.
void serve_http(const HttpOptions& options, const Answer& answer, const CancelToken& cancel,
                const std::function<void(int port)>& bound);

}  // namespace fib::serving
