// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine/lower.h"

namespace fib::engine {

std::string TensorStore::add(const std::string& name, TensorType type, std::vector<std::byte> bytes) {
  constexpr size_t kLine = 64;
  bytes.resize((bytes.size() + kLine - 1) / kLine * kLine);
  std::string unique = name;
  for (int copy = 2;; ++copy) {
    const Kept* known = find(unique);
    if (known == nullptr) break;
    if (known->type == type && known->bytes == bytes) return unique;
    unique = fmt::format("{}.{}", name, copy);
  }
  kept_.push_back({unique, type, std::move(bytes)});
  return unique;
}

std::string TensorStore::add(const std::string& name, std::span<const float> values) {
  std::vector<std::byte> bytes(values.size_bytes());
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return add(name, TensorType::f32, std::move(bytes));
}

const TensorStore::Kept* TensorStore::find(const std::string& name) const {
  const auto found = std::ranges::find(kept_, name, &Kept::name);
  return found == kept_.end() ? nullptr : &*found;
}

int64_t TensorStore::elements(const std::string& name) const {
  const Kept* kept = find(name);
  return static_cast<int64_t>(kept->bytes.size()) / tensor_type_size(kept->type);
}

std::vector<TensorView> TensorStore::views() const {
  std::vector<TensorView> views;
  views.reserve(kept_.size());
  for (const Kept& t : kept_) views.push_back({t.name, t.type, {elements(t.name)}, t.bytes});
  return views;
}

}  // namespace fib::engine
