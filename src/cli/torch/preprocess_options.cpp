// SPDX-License-Identifier: Apache-2.0
#include "cli/torch/preprocess_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace fib::cli {
namespace {

using Channels = std::array<float, 3>;

/// Of ImageNet: what DeiT was trained with. The ViT weights of timm take a half for everything, which is the default.
constexpr Channels kImageNetMean{0.485f, 0.456f, 0.406f}, kImageNetStd{0.229f, 0.224f, 0.225f};

/// Pictures this small have no margin to cut away.
constexpr int64_t kSmallPicture = 64;

Preprocess defaults_of(const models::Row& row, int64_t crop) {
  Preprocess p;
  p.crop = crop;
  // timm's: the crop is 0.9 of the shorter side, rounded down: 248 for 224.
  p.resize_shorter = crop <= kSmallPicture ? crop : crop * 10 / 9;
  if (row.name.starts_with("deit_")) {
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

CLI::Option* add_channels(CLI::App& app, const std::string& name, std::vector<float>& target, const std::string& help) {
  // The word after the numbers may be a picture's name.
  return app.add_option(name, target, help)->delimiter(',')->allow_extra_args(false)->type_name("R,G,B");
}

void check_channels(const char* name, const std::vector<float>& given) {
  if (given.empty() || given.size() == 1 || given.size() == 3) return;
  throw std::invalid_argument(fmt::format("{} takes one number or three, R,G,B; got {}", name, given.size()));
}

}  // namespace

void add_preprocess_options(CLI::App& app, PreprocessArguments& a) {
  add_integer(app, "--resize", a.resize, kResolutions, "shorter side before the crop; the crop divided by 0.9");
  add_integer(app, "--crop", a.crop, kResolutions, "side of the square cut from the centre; the model's resolution");
  add_channels(app, "--mean", a.mean, "subtracted from values in [0, 1]; 0.5, for DeiT ImageNet's");
  add_channels(app, "--std", a.std, "what they are divided by then; 0.5, for DeiT ImageNet's");
}

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
