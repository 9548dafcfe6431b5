// SPDX-License-Identifier: Apache-2.0
#include "base/md5.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace fib {
namespace {

static_assert(std::endian::native == std::endian::little, "words are loaded as they lie in memory");

using State = std::array<uint32_t, 4>;
constexpr size_t kBlock = 64;

/// T[i] = floor(2³² · |sin(i + 1)|), RFC 1321 section 3.4.
std::array<uint32_t, 64> sine_table() {
  std::array<uint32_t, 64> table{};
  for (size_t i = 0; i < 64; ++i) table[i] = static_cast<uint32_t>(std::floor(std::abs(std::sin(i + 1.0)) * 0x1.0p32));
  return table;
}

constexpr int kRotations[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

uint32_t round_function(size_t round, uint32_t x, uint32_t y, uint32_t z) {
  if (round == 0) return (x & y) | (~x & z);
  if (round == 1) return (x & z) | (y & ~z);
  if (round == 2) return x ^ y ^ z;
  return y ^ (x | ~z);
}

size_t word_index(size_t round, size_t i) {
  if (round == 0) return i;
  if (round == 1) return (5 * i + 1) % 16;
  if (round == 2) return (3 * i + 5) % 16;
  return (7 * i) % 16;
}

void absorb(State& state, const std::byte* block) {
  static const std::array<uint32_t, 64> sines = sine_table();
  uint32_t words[16];
  std::memcpy(words, block, kBlock);
  auto [a, b, c, d] = state;
  for (size_t i = 0; i < 64; ++i) {
    const size_t round = i / 16;
    const uint32_t sum = a + round_function(round, b, c, d) + words[word_index(round, i)] + sines[i];
    a = d;
    d = c;
    c = b;
    b += std::rotl(sum, kRotations[round][i % 4]);
  }
  state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d};
}

/// The rest of the message, a one bit, zeros, and the length in bits: one block or two.
void absorb_tail(State& state, std::span<const std::byte> rest, uint64_t message_bytes) {
  std::array<std::byte, 2 * kBlock> tail{};
  if (!rest.empty()) std::memcpy(tail.data(), rest.data(), rest.size());
  tail[rest.size()] = std::byte{0x80};
  const size_t size = rest.size() < kBlock - 8 ? kBlock : 2 * kBlock;
  const uint64_t bits = message_bytes * 8;
  std::memcpy(tail.data() + size - 8, &bits, 8);
  for (size_t at = 0; at < size; at += kBlock) absorb(state, tail.data() + at);
}

std::string hex(const State& state) {
  std::array<uint8_t, 16> digest;
  std::memcpy(digest.data(), state.data(), digest.size());
  std::string text;
  for (uint8_t byte : digest) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

}  // namespace

std::string md5_hex(std::span<const std::byte> bytes) {
  State state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  const size_t whole = bytes.size() / kBlock * kBlock;
  for (size_t at = 0; at < whole; at += kBlock) absorb(state, bytes.data() + at);
  absorb_tail(state, bytes.subspan(whole), bytes.size());
  return hex(state);
}

}  // namespace fib
