// SPDX-License-Identifier: Apache-2.0
#include "robots/normalizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace fib::robots {
namespace {
constexpr double kLeastRange = 1e-4;
}

Normalizer Normalizer::of(std::span<const double> values, size_t dimensions) {
  Normalizer normalizer;
  for (size_t d = 0; d < dimensions; ++d) {
    double least = values[d], most = values[d];
    for (size_t i = d; i < values.size(); i += dimensions) {
      least = std::min(least, values[i]);
      most = std::max(most, values[i]);
    }
    const bool moves = most - least >= kLeastRange;
    normalizer.scale_.push_back(moves ? 2 / (most - least) : 1);
    normalizer.offset_.push_back((moves ? -1 : 0) - normalizer.scale_[d] * least);
  }
  return normalizer;
}

Normalizer Normalizer::from(std::vector<double> scale, std::vector<double> offset, size_t dimensions) {
  if (scale.size() != dimensions || offset.size() != dimensions || std::ranges::count(scale, 0.0) > 0) {
    throw std::invalid_argument(fmt::format("limits of {} scales and {} offsets; accepted: {} each, and no scale of 0",
                                            scale.size(), offset.size(), dimensions));
  }
  Normalizer normalizer;
  normalizer.scale_ = std::move(scale);
  normalizer.offset_ = std::move(offset);
  return normalizer;
}

void Normalizer::normalize(std::span<double> values) const {
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = scale_[i % scale_.size()] * values[i] + offset_[i % scale_.size()];
}

void Normalizer::restore(std::span<double> values) const {
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = (values[i] - offset_[i % scale_.size()]) / scale_[i % scale_.size()];
}

}  // namespace fib::robots
