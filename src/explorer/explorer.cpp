// SPDX-License-Identifier: Apache-2.0
#include "explorer/explorer.h"

#include <array>
#include <exception>
#include <memory>
#include <stdexcept>

#include "explorer/view.h"

namespace {

using fib::explorer::Json;
using fib::explorer::View;

std::array<std::unique_ptr<View>, 2> views;
std::string answer;
std::vector<fib::explorer::Pixel> pixels_of_mask;

const View& view_of(int side) {
  const auto& view = views.at(static_cast<size_t>(side));
  if (!view) throw std::logic_error("this side shows nothing yet");
  return *view;
}

/// No exception leaves this file: the page gets one line.
template <class Make>
const char* answered(Make make) {
  try {
    answer = make().dump();
  } catch (const std::bad_alloc&) {
    answer = Json{{"error", "this takes more memory than a page has; fib pattern takes more"}}.dump();
  } catch (const std::exception& e) {
    answer = Json{{"error", e.what()}}.dump();
  }
  return answer.c_str();
}

}  // namespace

const char* fib_explorer_mechanisms() { return answered(fib::explorer::mechanisms_json); }

const char* fib_explorer_open(int side, const char* request) {
  return answered([&] {
    // The old one goes first: both may not fit.
    views.at(static_cast<size_t>(side)).reset();
    auto view = std::make_unique<View>(fib::explorer::parse_request(request));
    Json description = view->describe();
    views[static_cast<size_t>(side)] = std::move(view);
    return description;
  });
}

const char* fib_explorer_cost(const char* request) {
  return answered([&] { return fib::explorer::cost_json(fib::explorer::parse_request(request)); });
}

const char* fib_explorer_keys(int side, int query) {
  return answered([&] { return view_of(side).keys(query); });
}

const char* fib_explorer_overlap(int side) {
  return answered([&] { return view_of(side).head_overlap(); });
}

const char* fib_explorer_svg(int side) {
  return answered([&] { return Json(view_of(side).svg()); });
}

const unsigned char* fib_explorer_mask(int side, int head, int pixels) {
  try {
    pixels_of_mask = view_of(side).mask(head, pixels);
    return reinterpret_cast<const unsigned char*>(pixels_of_mask.data());
  } catch (const std::exception&) {
    return nullptr;
  }
}
