// SPDX-License-Identifier: Apache-2.0
#include "cli/torch/preprocess_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace fib::cli {
namespace {

using Channels = std::array<float, 3>;

Preprocess defaults_of(const models::ModelRow& row, int64_t crop) {
  Preprocess p;
  p.crop = crop;
  // Rounded down, after an error of representation is undone: 224 / 0.875 is 256.
  p.resize_shorter = static_cast<int64_t>(std::floor(static_cast<double>(crop) / row.crop_ratio + 1e-9));
  p.mean = row.normalization.mean;
  p.std = row.normalization.std;
  return p;
}

void override_channels(Channels& target, const std::vector<float>& given) {
  if (given.empty()) return;
  target.fill(given.front());
  if (given.size() == 3) std::copy(given.begin(), given.end(), target.begin());
}

void check_channels(const char* name, const std::vector<float>& given) {
  if (given.empty() || given.size() == 1 || given.size() == 3) return;
  throw std::invalid_argument(fmt::format("{} takes one number or three, R,G,B; got {}", name, given.size()));
}

}  // namespace

Preprocess preprocess_options(const PreprocessArguments& a, const models::ModelRow& row) {
  check_channels("--mean", a.mean);
  check_channels("--std", a.std);
  Preprocess p = defaults_of(row, a.crop > 0 ? a.crop : row.resolution);
  if (a.resize > 0) p.resize_shorter = a.resize;
  if (p.resize_shorter < p.crop) {
    throw std::invalid_argument(
        fmt::format("--resize must be at least the crop of {}, got {}", p.crop, p.resize_shorter));
  }
  override_channels(p.mean, a.mean);
  override_channels(p.std, a.std);
  return p;
}

}  // namespace fib::cli
