// SPDX-License-Identifier: Apache-2.0
// Rows of activations as products of low precision read them. Included once per target.
#if defined(FIB_ENGINE_CONVERT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FIB_ENGINE_CONVERT_INL_H_
#undef FIB_ENGINE_CONVERT_INL_H_
#else
#define FIB_ENGINE_CONVERT_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/product.h"
#include "engine/simd/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fib::engine {
namespace HWY_NAMESPACE {

struct RowRange {
  float least, most;
  bool finite;
};

/// Of the values and zero.
inline RowRange range_of(const float* HWY_RESTRICT x, int64_t count) {
  const FloatTag d;
  const auto zero = hn::Zero(d);
  auto least = zero, most = zero, nothing = zero;
  for_vectors(count, [&](int64_t i, int64_t n) HWY_ATTR {
    const auto v = load_columns(x + i, n);
    least = hn::Min(v, least), most = hn::Max(v, most);
    nothing = hn::MulAdd(v, zero, nothing);  // infinities and what is no number leave a NaN
  });
  return {hn::GetLane(hn::MinOfLanes(d, least)), hn::GetLane(hn::MaxOfLanes(d, most)),
          hn::GetLane(hn::SumOfLanes(d, nothing)) == 0.0f};
}

/// What is not finite makes its whole row no number, as a sum over it would be.
template <class Value>
inline void write_nothing(int64_t count, Value* into, float& scale, int32_t& zero) {
  std::fill_n(into, count, Value{0});
  scale = std::numeric_limits<float>::quiet_NaN(), zero = 0;
}

/// Sixteen bits around zero.
struct WordWriter {
  using Value = int16_t;
  static void write(const float* HWY_RESTRICT x, int64_t count, Value* HWY_RESTRICT into, float& scale, int32_t& zero) {
    const auto limit = static_cast<float>(word_limit(count));
    const RowRange range = range_of(x, count);
    if (!range.finite) return write_nothing(count, into, scale, zero);
    const float most = std::max(range.most, -range.least);
    scale = most / limit, zero = 0;
    const float factor = most > 0 ? limit / most : 0.0f;
    int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
    const FloatTag d;
    const auto n = static_cast<int64_t>(hn::Lanes(d));
    const hn::Rebind<Value, FloatTag> narrow;
    for (; i + n <= count; i += n) {
      hn::StoreU(hn::DemoteTo(narrow, hn::NearestInt(hn::Mul(hn::LoadU(d, x + i), hn::Set(d, factor)))), narrow,
                 into + i);
    }
#endif
    for (; i < count; ++i) into[i] = static_cast<Value>(std::nearbyint(x[i] * factor));
  }
};

/// Eight bits from the least value of the row, or zero, to the largest. ARM's products are of signed bytes.
struct ByteWriter {
#if HWY_ARCH_ARM
  using Value = int8_t;
  static constexpr int32_t kLeast = -128, kMost = 127;
#else
  using Value = uint8_t;
  static constexpr int32_t kLeast = 0, kMost = 255;
#endif
  static void write(const float* HWY_RESTRICT x, int64_t count, Value* HWY_RESTRICT into, float& scale, int32_t& zero) {
    const RowRange range = range_of(x, count);
    const float width = range.most - range.least;
    if (!range.finite || !(width <= std::numeric_limits<float>::max())) return write_nothing(count, into, scale, zero);
    scale = width / 255.0f;
    const float factor = width > 0 ? 255.0f / width : 0.0f;
    zero = kLeast + std::clamp(static_cast<int32_t>(std::nearbyint(-range.least * factor)), 0, 255);
    const auto add = static_cast<float>(zero);
    int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
    const FloatTag d;
    const auto n = static_cast<int64_t>(hn::Lanes(d));
    const hn::RebindToSigned<FloatTag> di;
    const hn::Rebind<Value, FloatTag> narrow;
    for (; i + n <= count; i += n) {
      const auto rounded = hn::NearestInt(hn::Mul(hn::LoadU(d, x + i), hn::Set(d, factor)));
      hn::StoreU(hn::DemoteTo(narrow, hn::Add(rounded, hn::Set(di, zero))), narrow, into + i);
    }
#endif
    for (; i < count; ++i) {
      into[i] = static_cast<Value>(
          std::clamp(std::nearbyint(x[i] * factor) + add, static_cast<float>(kLeast), static_cast<float>(kMost)));
    }
  }
};

/// The nearest bfloat16, of two the even one; what is no number stays none.
struct Bfloat16Writer {
  using Value = Bfloat16;
  static void write(const float* HWY_RESTRICT x, int64_t count, Value* HWY_RESTRICT into, float&, int32_t&) {
    int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
    const FloatTag d;
    const hn::RebindToUnsigned<FloatTag> du;
    const hn::Rebind<Value, FloatTag> narrow;
    const auto n = static_cast<int64_t>(hn::Lanes(d));
    for (; i + n <= count; i += n) {
      const auto value = hn::LoadU(d, x + i);
      const auto bits = hn::BitCast(du, value);
      const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));
      const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7fffu)));
      const auto kept =
          hn::IfThenElse(hn::RebindMask(du, hn::Eq(value, value)), rounded, hn::Or(bits, hn::Set(du, 0x400000u)));
      hn::StoreU(hn::TruncateTo(narrow, hn::ShiftRight<16>(kept)), narrow, into + i);
    }
#endif
    for (; i < count; ++i) into[i] = to_bfloat16(x[i]);
  }
};

template <class Writer>
inline void convert(const RowSource& s, const ConvertedRows& into, int64_t begin, int64_t end) {
  thread_local std::vector<float> normed;
  if (s.norm_weight != nullptr) normed.resize(static_cast<size_t>(s.depth));
  const int64_t stride = row_stride(s.depth), filled = (s.depth + 3) / 4 * 4;
  for (int64_t row = begin; row < end; ++row) {
    const float* x = s.x + row * s.x_stride;
    if (s.norm_weight != nullptr) {
      layer_norm_rows({x, 0, 1, s.depth, s.norm_weight, s.norm_bias, s.epsilon, normed.data(), 0}, 0, 1);
      x = normed.data();
    }
    auto* const values = static_cast<typename Writer::Value*>(into.values) + row * stride;
    Writer::write(x, s.depth, values, into.scale[row], into.zero[row]);
    std::fill(values + s.depth, values + filled, typename Writer::Value{0});
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::engine
HWY_AFTER_NAMESPACE();
#endif
