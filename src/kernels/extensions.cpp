// SPDX-License-Identifier: Apache-2.0
#include "kernels/extensions.h"

#include <atomic>
#include <cstdlib>
#include <sstream>
#include <stdexcept>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace fib::kernels {
namespace {

struct Name {
  const char* name;
  uint32_t bits;
  uint32_t dependent;  ///< what needs it
};
#if defined(__aarch64__)
// Depths that do not fill two units are left to dot products, and of bfloat16 to float32.
constexpr Name kNames[] = {{"dotprod", kDotProduct, kI8mm}, {"i8mm", kI8mm, 0}, {"bf16", kBf16Matrix, 0}};
#else
// Depths that do not fill AMX's tiles are left to VNNI.
constexpr Name kNames[] = {
    {"amx", kAmxInt8 | kAmxBf16, 0}, {"vnni", kAvx512Vnni | kAvxVnni, kAmxInt8}, {"bf16", kAvx512Bf16, kAmxBf16}};
#endif

#if defined(__x86_64__)
struct Leaf {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Leaf cpuid(unsigned leaf, unsigned part) {
  Leaf found;
  if (__get_cpuid_count(leaf, part, &found.eax, &found.ebx, &found.ecx, &found.edx) == 0) return {};
  return found;
}

constexpr bool has(unsigned word, unsigned bit) { return (word >> bit & 1) != 0; }

/// Linux gives a process the registers of AMX, 8 KB a thread, when it asks for them.
bool grants_tiles() {
#if defined(SYS_arch_prctl)
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

uint32_t of_processor() {
  const Leaf seven = cpuid(7, 0), more = cpuid(7, 1);
  uint32_t bits = 0;
  if (has(seven.ecx, 11)) bits |= kAvx512Vnni;
  if (has(more.eax, 4)) bits |= kAvxVnni;
  if (has(more.eax, 5)) bits |= kAvx512Bf16;
  const bool tiles = has(seven.edx, 24);
  if (tiles && (has(seven.edx, 22) || has(seven.edx, 25)) && grants_tiles()) {
    if (has(seven.edx, 25)) bits |= kAmxInt8;
    if (has(seven.edx, 22)) bits |= kAmxBf16;
  }
  return bits;
}
#elif defined(__aarch64__)
uint32_t of_processor() {
  const unsigned long first = getauxval(AT_HWCAP), second = getauxval(AT_HWCAP2);
  uint32_t bits = 0;
  if ((first & HWCAP_ASIMDDP) != 0) bits |= kDotProduct;
  if ((second & HWCAP2_I8MM) != 0) bits |= kI8mm;
  if ((second & HWCAP2_BF16) != 0) bits |= kBf16Matrix;
  return bits;
}
#else
uint32_t of_processor() { return 0; }
#endif

uint32_t bits_named(const std::string& names, const std::string& origin) {
  uint32_t bits = 0;
  std::istringstream list(names);
  for (std::string name; std::getline(list, name, ',');) {
    uint32_t found = 0;
    std::string known;
    for (const Name& n : kNames) {
      if (name == n.name) found = n.bits | n.dependent;
      known += std::string(known.empty() ? "" : ", ") + n.name;
    }
    if (found == 0) throw std::invalid_argument(origin + " '" + name + "' is unknown, accepted are " + known);
    bits |= found;
  }
  return bits;
}

/// What the environment leaves out.
uint32_t left_out_by_default() {
  const char* names = std::getenv("FIB_WITHOUT");
  return names != nullptr ? bits_named(names, "FIB_WITHOUT") : 0;
}

constexpr uint32_t kUnset = ~0u;
std::atomic<uint32_t> left_out{kUnset};

}  // namespace

uint32_t extensions() {
  static const uint32_t found = of_processor(), by_default = left_out_by_default();
  const uint32_t without = left_out.load(std::memory_order_relaxed);
  return found & ~(without == kUnset ? by_default : without);
}

std::vector<std::string> extension_names(uint32_t bits) {
  std::vector<std::string> names;
  for (const Name& n : kNames) {
    if ((bits & n.bits) != 0) names.emplace_back(n.name);
  }
  return names;
}

bool bfloat16_pairs_are_fast() {
#if defined(__x86_64__)
  constexpr unsigned kAuth = 0x68747541;  // "Auth", the first letters of AMD's name
  static const bool amd = cpuid(0, 0).ebx == kAuth;
  return amd;
#else
  return false;
#endif
}

void without_extensions(const std::string& names) {
  left_out = names.empty() ? kUnset : bits_named(names, "extension");
}

}  // namespace fib::kernels
