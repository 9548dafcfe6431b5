// SPDX-License-Identifier: Apache-2.0
#include "data/corruptions/corruption.h"

#include <algorithm>
#include <stdexcept>

#include "base/nearest.h"
#include "base/rng.h"
#include "data/corruptions/kinds.h"

namespace fib::corruptions {
namespace {

struct NamedKind {
  const char* name;
  Kind apply;
};

constexpr NamedKind kKinds[] = {
    {"gaussian_noise", gaussian_noise},
    {"shot_noise", shot_noise},
    {"impulse_noise", impulse_noise},
    {"speckle_noise", speckle_noise},
    {"gaussian_blur", gaussian_blur},
    {"glass_blur", glass_blur},
    {"defocus_blur", defocus_blur},
    {"motion_blur", motion_blur},
    {"zoom_blur", zoom_blur},
    {"snow", snow},
    {"frost", frost},
    {"fog", fog},
    {"spatter", spatter},
    {"brightness", brightness},
    {"contrast", contrast},
    {"saturate", saturate},
    {"elastic_transform", elastic_transform},
    {"pixelate", pixelate},
    {"jpeg_compression", jpeg_compression},
};

}  // namespace

const std::vector<std::string>& names() {
  static const std::vector<std::string> list = [] {
    std::vector<std::string> all;
    for (const NamedKind& kind : kKinds) all.emplace_back(kind.name);
    return all;
  }();
  return list;
}

size_t index_of(std::string_view name) {
  const auto found = std::find(names().begin(), names().end(), name);
  if (found == names().end()) throw std::invalid_argument(unknown_name("corruption", name, names()));
  return static_cast<size_t>(found - names().begin());
}

Image corrupted(const Image& image, const Corruption& corruption, size_t number, bool grey) {
  if (corruption.severity < 1 || corruption.severity > kSeverities)
    throw std::invalid_argument("severity " + std::to_string(corruption.severity) + ": accepted is 1 to 5");
  const size_t index = index_of(corruption.name);
  CounterRng rng(corruption.seed, {static_cast<uint64_t>(RandomUse::corruption), index,
                                   static_cast<uint64_t>(corruption.severity), number});
  return to_bytes(kKinds[index].apply(to_float(image), corruption.severity - 1, {rng, grey}));
}

CorruptedDataset::CorruptedDataset(DatasetPtr clean, Corruption corruption)
    : Dataset(clean->info(), clean->labels()), clean_(std::move(clean)), corruption_(std::move(corruption)) {
  index_of(corruption_.name);
}

Image CorruptedDataset::image(size_t index) const {
  return corrupted(clean_->image(index), corruption_, index, info().channels == 1);
}

}  // namespace fib::corruptions
