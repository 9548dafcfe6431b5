// SPDX-License-Identifier: Apache-2.0
// As much of an HTTP client as tests need: bytes over a socket of this host.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "free_port.h"

namespace fib::test {

class Connection {
 public:
  explicit Connection(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_in address = loopback(port);
    connected_ = ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  ~Connection() { ::close(socket_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool connected() const { return connected_; }
  void send(const std::string& bytes) {
    for (size_t sent = 0; sent < bytes.size();) {
      const ssize_t now = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (now <= 0) return;
      sent += static_cast<size_t>(now);
    }
  }
  /// The whole response: to the end of what its Content-Length says; empty where the connection ended before.
  std::string receive() {
    std::string text;
    char buffer[4096];
    while (!is_whole(text)) {
      const ssize_t now = ::recv(socket_, buffer, sizeof buffer, 0);
      if (now <= 0) return "";
      text.append(buffer, static_cast<size_t>(now));
    }
    return text;
  }

 private:
  static bool is_whole(const std::string& text) {
    const size_t end = text.find("\r\n\r\n"), length = text.find("Content-Length: ");
    return end != std::string::npos && length != std::string::npos &&
           text.size() >= end + 4 + std::stoul(text.substr(length + 16));
  }

  int socket_;
  bool connected_ = false;
};

struct Reply {
  int status = 0;  ///< 0: none came
  std::string head, body;
};

inline Reply reply_of(const std::string& text) {
  const size_t end = text.find("\r\n\r\n");
  if (end == std::string::npos) return {};
  return {std::stoi(text.substr(9, 3)), text.substr(0, end), text.substr(end + 4)};
}

inline std::string request_text(const std::string& method, const std::string& path, const std::string& body = "",
                                const std::string& type = "application/octet-stream") {
  return method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: " + type +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

inline Reply ask(int port, const std::string& request) {
  Connection connection(port);
  connection.send(request);
  return reply_of(connection.receive());
}

}  // namespace fib::test
