// SPDX-License-Identifier: Apache-2.0
#include "cli/torch/preprocess_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace fib::cli {
namespace {

using Channels = std::array<float, 3>;

/// Of ImageNet: what all were trained with but the ViT weights of timm, which take a half for everything, the default.
constexpr Channels kImageNetMean{0.485f, 0.456f, 0.406f}, kImageNetStd{0.229f, 0.224f, 0.225f};

/// Pictures this small have no margin to cut away.
constexpr int64_t kSmallPicture = 64;

/// The shorter side that a crop of 0.9 is cut from, rounded down: 248 for 224; for some it is one of 0.875: 256.
int64_t shorter_side(const std::string& kind, int64_t crop) {
  if (crop <= kSmallPicture) return crop;
  const bool tighter = kind == "convit" || kind == "iformer" || kind == "cvt";
  return tighter ? crop * 8 / 7 : crop * 10 / 9;
}

Preprocess defaults_of(const models::Row& row, int64_t crop) {
  Preprocess p;
  p.crop = crop;
  p.resize_shorter = shorter_side(row.kind, crop);
  if (row.kind != "vit" || row.name.starts_with("deit_")) {
    p.mean = kImageNetMean;
    p.std = kImageNetStd;
  }
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

Preprocess preprocess_options(const PreprocessArguments& a, const models::Row& row) {
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
