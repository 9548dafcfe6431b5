// SPDX-License-Identifier: Apache-2.0
#include "kernels/simd/targets_config.h"
//
#include <hwy/targets.h>

#include <atomic>
#include <cstdlib>
#include <stdexcept>

#include "fibottention/attention.h"
#include "kernels/tiles.h"

namespace fib {
namespace {

/// 0 where nothing was forced by set_simd_target.
std::atomic<int64_t> forced{0};

int64_t target_of_name(const std::string& name, const std::string& origin) {
  std::string known;
  for (int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (name == hwy::TargetName(target)) return target;
    known += std::string(known.empty() ? "" : ", ") + hwy::TargetName(target);
  }
  throw std::invalid_argument(origin + " '" + name + "' is unknown on this machine, which has " + known);
}

int64_t default_target() {
  const char* name = std::getenv("FIB_TARGET");
  if (name != nullptr && *name != '\0') return target_of_name(name, "FIB_TARGET");
  return hwy::SupportedAndGeneratedTargets().front();
}

}  // namespace

namespace kernels {

int64_t chosen_target() {
  const int64_t target = forced.load(std::memory_order_relaxed);
  if (target != 0) return target;
  static const int64_t by_default = default_target();
  return by_default;
}

}  // namespace kernels

std::string simd_target() { return kernels::tiles_of_target<float>(kernels::chosen_target()).target; }

std::vector<std::string> simd_targets() {
  std::vector<std::string> names;
  for (int64_t target : hwy::SupportedAndGeneratedTargets()) names.emplace_back(hwy::TargetName(target));
  return names;
}

void set_simd_target(const std::string& name) { forced = name.empty() ? 0 : target_of_name(name, "SIMD target"); }

}  // namespace fib
