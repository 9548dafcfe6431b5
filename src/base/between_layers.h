// SPDX-License-Identifier: Apache-2.0
// A question that a long computation is asked between its parts: whoever began it can end it there by throwing.
#pragma once

#include <functional>
#include <utility>

namespace fib {

/// While it lives, BetweenLayers::ask() calls `ask` in this thread. The innermost is asked.
class BetweenLayers {
 public:
  explicit BetweenLayers(std::function<void()> ask) : ask_(std::move(ask)), outer_(innermost()) { innermost() = this; }
  ~BetweenLayers() { innermost() = outer_; }
  BetweenLayers(const BetweenLayers&) = delete;
  BetweenLayers& operator=(const BetweenLayers&) = delete;

  static void ask() {
    if (innermost() != nullptr) innermost()->ask_();
  }

 private:
  static BetweenLayers*& innermost() {
    thread_local BetweenLayers* innermost = nullptr;
    return innermost;
  }

  std::function<void()> ask_;
  BetweenLayers* outer_;
};

}  // namespace fib
