// SPDX-License-Identifier: Apache-2.0
// The deterministic fill behind all golden numbers: a SplitMix64 stream seeded by the tensor's name, in pure 64-bit
// integer arithmetic, so that every language gives the same bits.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

namespace fib::golden {

constexpr uint64_t fnv1a64(std::string_view name) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * UINT64_C(0x100000001b3);
  return hash;
}

/// Element k of the stream seeded by a hash, in [-1, 1).
constexpr double stream_element(uint64_t hash, uint64_t k) {
  uint64_t z = hash + (k + 1) * UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  z ^= z >> 31;
  return 2.0 * (static_cast<double>(z >> 11) * 0x1p-53) - 1.0;
}

inline std::vector<double> stream(std::string_view name, int64_t count) {
  const uint64_t hash = fnv1a64(name);
  std::vector<double> values(static_cast<size_t>(count));
  for (size_t k = 0; k < values.size(); ++k) values[k] = stream_element(hash, k);
  return values;
}

struct Affine {
  double shift, scale;
};

/// How the stream becomes the values of a tensor; the first rule that matches wins.
inline Affine rule_of(std::string_view name, const std::vector<int64_t>& shape, int64_t count) {
  if (name.ends_with("running_var")) return {1.0, 0.25};
  if (name.ends_with("running_mean")) return {0.0, 0.1};
  if (name.ends_with("pos_proj.weight")) return {0.0, 0.05};
  const bool weight = name.ends_with(".weight");
  if (weight && shape.size() >= 2) {
    const double fan_in = static_cast<double>(count) / static_cast<double>(shape[0]);
    return {0.0, std::sqrt(3.0 / fan_in) * (shape.size() == 4 ? 0.5 : 1.0)};
  }
  if (weight) return {1.0, 0.1};
  if (name.ends_with(".bias")) return {0.0, 0.1};
  return {0.0, name.ends_with("gating_param") ? 1.0 : 0.25};
}

/// The values of a parameter by the rules of its name and shape.
inline std::vector<double> parameter_values(std::string_view name, const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (int64_t n : shape) count *= n;
  const Affine rule = rule_of(name, shape, count);
  std::vector<double> values = stream(name, count);
  for (double& value : values) value = rule.shift + rule.scale * value;
  return values;
}

}  // namespace fib::golden
