// SPDX-License-Identifier: Apache-2.0
// The server, on cpp-httplib.
#include <httplib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "base/system.h"
#include "serving/http.h"

namespace fib::serving {
namespace {

/// Whether the connection that this thread serves came when all others were busy.
thread_local bool refusing = false;

constexpr size_t kRefusers = 4;

/// So many connections at once; a few more threads refuse those that come on top.
class BoundedQueue final : public httplib::TaskQueue {
 public:
  explicit BoundedQueue(size_t connections) : connections_(connections) {
    try {
      for (size_t i = 0; i < connections; ++i)
        threads_.push_back(start_thread("for a connection", [this] { work(waiting_, false); }));
      for (size_t i = 0; i < kRefusers; ++i)
        threads_.push_back(start_thread("for refusals", [this] { work(refused_, true); }));
    } catch (...) {
      shutdown();
      throw;
    }
  }

  void enqueue(std::function<void()> connection) override {
    {
      const std::lock_guard lock(mutex_);
      const bool busy = busy_ + waiting_.size() >= connections_;
      (busy ? refused_ : waiting_).push_back(std::move(connection));
    }
    changed_.notify_all();
  }

  void shutdown() override {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void work(std::deque<std::function<void()>>& queue, bool refuses) {
    refusing = refuses;
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return ending_ || !queue.empty(); });
      if (queue.empty()) return;
      const std::function<void()> connection = std::move(queue.front());
      queue.pop_front();
      if (!refuses) ++busy_;
      lock.unlock();
      connection();
      lock.lock();
      if (!refuses) --busy_;
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_, refused_;
  size_t connections_, busy_ = 0;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

/// The bodies of a request as they arrive, up to a number of bytes: the library bounds neither chunked bodies nor what
/// compressed ones become.
class BodyReader {
 public:
  explicit BodyReader(size_t most) : left_(most) {}

  /// 200, or the status of a request whose body cannot be taken.
  int read(const httplib::Request& request, const httplib::ContentReader& reader) {
    const auto take = [this](const char* data, size_t size) {
      exceeded_ = size > left_;
      if (exceeded_ || bodies_.empty()) return false;
      left_ -= size;
      bodies_.back().bytes.append(data, size);
      return true;
    };
    if (!request.is_multipart_form_data()) bodies_.push_back({"image", ""});
    const bool whole = request.is_multipart_form_data()
                           ? reader([this](const httplib::MultipartFormData& part) { return begin(part); }, take)
                           : reader(take);
    if (!whole) return exceeded_ ? 413 : 400;
    if (bodies_.size() == 1 && bodies_[0].bytes.empty()) bodies_.clear();
    return 200;
  }
  std::vector<Body>& bodies() { return bodies_; }

 private:
  /// An empty part takes room too.
  bool begin(const httplib::MultipartFormData& part) {
    constexpr size_t kPart = 256;
    exceeded_ = left_ < kPart;
    if (exceeded_) return false;
    left_ -= kPart;
    bodies_.push_back({part.filename.empty() ? part.name : part.filename, ""});
    return true;
  }

  size_t left_;
  bool exceeded_ = false;
  std::vector<Body> bodies_;
};

Request request_of(const httplib::Request& given) {
  Request request{given.method, given.path};
  for (const auto& [key, value] : given.params) request.query[key] = value;
  return request;
}

void respond(const Response& from, httplib::Response& to) {
  to.status = from.status;
  to.set_content(from.text, from.type);
  if (from.status == 503) to.set_header("Retry-After", "1");
  // Who is refused shall not keep the thread that others are refused by, and what is left of a body is no request.
  if (refusing || from.status == 413) to.set_header("Connection", "close");
}

Response refusal(int status, const char* reason) {
  return {status, "application/json", std::string("{\"error\":\"") + reason + "\"}\n"};
}

void answer_all(httplib::Server& server, const HttpOptions& options, const Answer& answer) {
  const auto answered = [&answer](const Request& request) {
    return refusing ? refusal(503, "too many connections") : answer(request);
  };
  server.Get(".*", [answered](const httplib::Request& request, httplib::Response& response) {
    respond(answered(request_of(request)), response);
  });
  server.Post(".*", [answered, most = options.most_bytes](const httplib::Request& given, httplib::Response& response,
                                                          const httplib::ContentReader& reader) {
    BodyReader body(most);
    const int status = body.read(given, reader);
    if (status == 413 || response.status == 413) return respond(refusal(413, "the body is too long"), response);
    if (status != 200) return respond(refusal(status, "the body is not what its headers say"), response);
    Request request = request_of(given);
    request.bodies = std::move(body.bodies());
    respond(answered(request), response);
  });
  server.set_default_headers({{"X-Content-Type-Options", "nosniff"}});
  // What the library refuses by itself has no text yet.
  server.set_error_handler([](const httplib::Request&, httplib::Response& response) {
    if (response.body.empty()) respond(refusal(response.status, "the request cannot be answered"), response);
  });
}

void limit(httplib::Server& server, const HttpOptions& options) {
  server.set_payload_max_length(options.most_bytes);
  server.set_read_timeout(options.read_seconds);
  server.set_write_timeout(options.read_seconds);
  server.set_keep_alive_timeout(std::min<int64_t>(options.read_seconds, 5));
  server.set_keep_alive_max_count(1000);
  server.set_tcp_nodelay(true);
  // Not the library's SO_REUSEPORT, by which two servers would share a port without a word.
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server.new_task_queue = [&options] { return new BoundedQueue(options.connections); };
}

int bind(httplib::Server& server, const HttpOptions& options) {
  const int port = options.port == 0 ? server.bind_to_any_port(options.host) : options.port;
  const bool done = options.port == 0 ? port > 0 : server.bind_to_port(options.host, port);
  if (done) return port;
  throw std::runtime_error("cannot serve on " + options.host + ":" + std::to_string(options.port) +
                           ": the address is in use or not one of this machine");
}

void serve(const HttpOptions& options, const Answer& answer, const CancelToken& cancel,
           const std::function<void(int)>& bound) {
  httplib::Server server;
  limit(server, options);
  answer_all(server, options, answer);
  const int port = bind(server, options);
  std::atomic<bool> ended{false};
  std::thread watch = start_thread("that waits for a signal", [&] {
    using namespace std::chrono_literals;
    while (!ended && !cancel.requested()) std::this_thread::sleep_for(50ms);
    server.stop();
  });
  std::exception_ptr failure;
  try {
    bound(port);
    server.listen_after_bind();
  } catch (...) {
    failure = std::current_exception();
  }
  ended = true;
  watch.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace
}  // namespace fib::serving

extern "C" void fib_serve_http(const fib::serving::HttpOptions* options, const fib::serving::Answer* answer,
                               const fib::CancelToken* cancel, const std::function<void(int)>* bound) {
  fib::serving::serve(*options, *answer, *cancel, *bound);
}
