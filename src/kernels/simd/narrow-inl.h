// SPDX-License-Identifier: Apache-2.0
// One narrow head, forward and backward. Included once per target.
//
// Letters: C class tokens, N patch tokens, d and e channels. A transposed array holds channel c of patch token t at
// c · stride + t, and zeros for `margin` tokens before the first and behind the last.
#if defined(FIB_KERNELS_NARROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FIB_KERNELS_NARROW_INL_H_
#undef FIB_KERNELS_NARROW_INL_H_
#else
#define FIB_KERNELS_NARROW_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/narrow.h"
#include "kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fib::kernels {
namespace HWY_NAMESPACE {

using Floats = Tag<float>;
using FloatVec = Vec<float>;

#if HWY_TARGET != HWY_SCALAR
/// 128-bit blocks of a vector.
template <class D>
constexpr int64_t blocks_of(D d) {
  return static_cast<int64_t>(hn::MaxLanes(d)) / 4;
}

/// Four channels of rows 0, 4, 8, …, one row in each block.
template <class D>
HWY_INLINE hn::Vec<D> load_quads(D d, const float* row, int64_t stride) {
  if constexpr (blocks_of(D()) == 1) {
    return hn::LoadU(d, row);
  } else {
    const hn::Half<D> half;
    const auto low = load_quads(half, row, stride);
    return hn::Combine(d, load_quads(half, row + 4 * blocks_of(half) * stride, stride), low);
  }
}

template <class D>
HWY_INLINE void store_quads(D d, hn::Vec<D> v, float* row, int64_t stride) {
  if constexpr (blocks_of(D()) == 1) {
    hn::StoreU(v, d, row);
  } else {
    const hn::Half<D> half;
    store_quads(half, hn::LowerHalf(half, v), row, stride);
    store_quads(half, hn::UpperHalf(half, v), row + 4 * blocks_of(half) * stride, stride);
  }
}

struct Four {
  FloatVec a, b, c, d;
};

/// The squares of 4 x 4 in each 128-bit block, transposed.
HWY_INLINE Four transpose_blocks(const Four& x) {
  const Floats f;
  const hn::Repartition<double, Floats> pairs;
  const auto pair = [&](FloatVec v) FIB_INLINE_LAMBDA { return hn::BitCast(pairs, v); };
  const auto ab = hn::InterleaveLower(f, x.a, x.b), ab_high = hn::InterleaveUpper(f, x.a, x.b);
  const auto cd = hn::InterleaveLower(f, x.c, x.d), cd_high = hn::InterleaveUpper(f, x.c, x.d);
  return {hn::BitCast(f, hn::InterleaveLower(pairs, pair(ab), pair(cd))),
          hn::BitCast(f, hn::InterleaveUpper(pairs, pair(ab), pair(cd))),
          hn::BitCast(f, hn::InterleaveLower(pairs, pair(ab_high), pair(cd_high))),
          hn::BitCast(f, hn::InterleaveUpper(pairs, pair(ab_high), pair(cd_high)))};
}
#endif

/// Transposed arrays of a head, or of its pairs: rows of tokens.
struct Channels {
  float* first;  ///< channel 0 of patch token 0
  int64_t stride;
  float* at(int64_t channel, int64_t token) const { return first + channel * stride + token; }
};

/// into = the rows of patch tokens; tokens that fill up the last vector are zero.
inline void rows_to_channels(Rows<const float> from, int64_t tokens, int64_t channels, Channels into) {
  const int64_t n = lanes<float>();
  int64_t t = 0;
#if HWY_TARGET != HWY_SCALAR
  const Floats d;
  for (; t + n <= tokens; t += n) {
    for (int64_t c = 0; c < channels; c += 4) {
      const float* row = from.row(t) + c;
      const Four x{load_quads(d, row, from.stride), load_quads(d, row + from.stride, from.stride),
                   load_quads(d, row + 2 * from.stride, from.stride),
                   load_quads(d, row + 3 * from.stride, from.stride)};
      const Four y = transpose_blocks(x);
      hn::StoreU(y.a, d, into.at(c, t));
      hn::StoreU(y.b, d, into.at(c + 1, t));
      hn::StoreU(y.c, d, into.at(c + 2, t));
      hn::StoreU(y.d, d, into.at(c + 3, t));
    }
  }
#endif
  for (int64_t end = (tokens + n - 1) / n * n; t < end; ++t) {
    for (int64_t c = 0; c < channels; ++c) *into.at(c, t) = t < tokens ? from.row(t)[c] : 0.0f;
  }
}

inline void channels_to_rows(Channels from, int64_t tokens, int64_t channels, Rows<float> into) {
  int64_t t = 0;
#if HWY_TARGET != HWY_SCALAR
  const Floats d;
  const int64_t n = lanes<float>();
  for (; t + n <= tokens; t += n) {
    for (int64_t c = 0; c < channels; c += 4) {
      const Four y = transpose_blocks({hn::LoadU(d, from.at(c, t)), hn::LoadU(d, from.at(c + 1, t)),
                                       hn::LoadU(d, from.at(c + 2, t)), hn::LoadU(d, from.at(c + 3, t))});
      float* row = into.row(t) + c;
      store_quads(d, y.a, row, into.stride);
      store_quads(d, y.b, row + into.stride, into.stride);
      store_quads(d, y.c, row + 2 * into.stride, into.stride);
      store_quads(d, y.d, row + 3 * into.stride, into.stride);
    }
  }
#endif
  for (; t < tokens; ++t) {
    for (int64_t c = 0; c < channels; ++c) into.row(t)[c] = *from.at(c, t);
  }
}

/// out [kCount, …] = factor · Σ_c a's channel c · partner's channel c, lane by lane.
template <int kCount>
HWY_INLINE void dot_partners(NarrowPartner a, const NarrowPartner* p, int64_t channels, FloatVec factor, float* out,
                             int64_t out_step) {
  const Floats d;
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  for (int64_t c = 0; c < channels; ++c) {
    const auto x = hn::LoadU(d, a.row + c * a.step);
    s0 = hn::MulAdd(x, hn::LoadU(d, p[0].row + c * p[0].step), s0);
    if constexpr (kCount > 1) s1 = hn::MulAdd(x, hn::LoadU(d, p[1].row + c * p[1].step), s1);
    if constexpr (kCount > 2) s2 = hn::MulAdd(x, hn::LoadU(d, p[2].row + c * p[2].step), s2);
    if constexpr (kCount > 3) s3 = hn::MulAdd(x, hn::LoadU(d, p[3].row + c * p[3].step), s3);
  }
  hn::StoreU(hn::Mul(s0, factor), d, out);
  if constexpr (kCount > 1) hn::StoreU(hn::Mul(s1, factor), d, out + out_step);
  if constexpr (kCount > 2) hn::StoreU(hn::Mul(s2, factor), d, out + 2 * out_step);
  if constexpr (kCount > 3) hn::StoreU(hn::Mul(s3, factor), d, out + 3 * out_step);
}

inline void dot_all(NarrowPartner a, const NarrowPartner* p, int64_t count, int64_t channels, float scale, float* out,
                    int64_t out_step) {
  const auto factor = hn::Set(Floats(), scale);
  int64_t s = 0;
  for (; s + 4 <= count; s += 4) dot_partners<4>(a, p + s, channels, factor, out + s * out_step, out_step);
  for (; s < count; ++s) dot_partners<1>(a, p + s, channels, factor, out + s * out_step, out_step);
}

#define FIB_EACH_SUM(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)

/// into channel c = factor · Σ_s weights [s] · partner's channel c, lane by lane, a group of channels at a time.
inline void sum_partners(const NarrowPartner* p, const float* const* weights, int64_t count, int64_t channels,
                         FloatVec factor, float* into, int64_t into_step) {
  const Floats d;
  for (int64_t g = 0; g < channels; g += kNarrowGroup) {
#define FIB_ZERO(k) auto sum##k = hn::Zero(d);
    FIB_EACH_SUM(FIB_ZERO)
#undef FIB_ZERO
    for (int64_t s = 0; s < count; ++s) {
      const auto w = hn::LoadU(d, weights[s]);
      const int64_t step = p[s].step;
      const float* row = p[s].row + g * step;
#define FIB_ADD(k) sum##k = hn::MulAdd(w, hn::LoadU(d, row + k * step), sum##k);
      FIB_EACH_SUM(FIB_ADD)
#undef FIB_ADD
    }
#define FIB_STORE(k) hn::StoreU(hn::Mul(sum##k, factor), d, into + (g + k) * into_step);
    FIB_EACH_SUM(FIB_STORE)
#undef FIB_STORE
  }
}
#undef FIB_EACH_SUM

/// into [c] = factor · Σ_t weights [t] · x [c, t] over patch tokens, whose padding weighs nothing or is zero.
inline void sum_tokens(const float* weights, Channels x, int64_t tokens, int64_t channels, float factor, float* into) {
  const Floats d;
  for (int64_t c = 0; c < channels; ++c) {
    auto even = hn::Zero(d), odd = hn::Zero(d);
    const int64_t n = lanes<float>();
    int64_t t = 0;
    for (; t + n < tokens; t += 2 * n) {
      even = hn::MulAdd(hn::LoadU(d, weights + t), hn::LoadU(d, x.at(c, t)), even);
      odd = hn::MulAdd(hn::LoadU(d, weights + t + n), hn::LoadU(d, x.at(c, t + n)), odd);
    }
    if (t < tokens) even = hn::MulAdd(hn::LoadU(d, weights + t), hn::LoadU(d, x.at(c, t)), even);
    into[c] = factor * hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
  }
}

inline float dot(const float* a, const float* b, int64_t channels) {
  float sum = 0;
  for (int64_t c = 0; c < channels; ++c) sum += a[c] * b[c];
  return sum;
}

/// Where arrays of a head begin, in rows of the workspace. What forward does not use stays empty.
struct NarrowRows {
  int64_t q, k, v, out, dq, dk, dv, weights, slopes, all;
  NarrowRows(const AttentionShape& s, int64_t strips, int64_t cls)
      : q(0),
        k(q + s.dim),
        v(k + s.dim),
        out(v + s.value_dim),
        dq(out + s.value_dim),
        dk(dq + s.dim),
        dv(dk + s.dim),
        weights(dv + s.value_dim),
        slopes(weights + strips + cls),
        all(slopes + strips + cls) {}
};

class NarrowPass {
 public:
  NarrowPass(const Call<float>& call, const NarrowLayout& layout, NarrowHead at, NarrowWorkspace& ws)
      : call_(call),
        ws_(ws),
        at_(at),
        pattern_(call.support->head(at.h)),
        cls_(call.support->cls()),
        patches_(call.shape.key_tokens - cls_),
        strips_(layout.strips),
        rows_(call.shape, layout.strips, cls_) {
    const int64_t n = lanes<float>(), margin = (layout.reach + n - 1) / n * n;
    int64_t stride = 2 * margin + (patches_ + n - 1) / n * n;
    if (stride / n % 2 == 0) stride += n;  // or rows of channels would meet in few sets of the cache
    open(stride, margin);
  }

  void forward() {
    const AttentionShape& s = call_.shape;
    transpose(call_.inputs.q, rows_.q, s.dim);
    transpose(call_.inputs.k, rows_.k, s.dim);
    transpose(call_.inputs.v, rows_.v, s.value_dim);
    const NarrowPartner k = spread(call_.inputs.k, s.dim, 0), v = spread(call_.inputs.v, s.value_dim, 1);
    for (int64_t t = 0; t < patches_; t += lanes<float>()) forward_block(t, k, v);
    const Rows<float> out = head_rows(call_.out);
    channels_to_rows(array(rows_.out), patches_, s.value_dim, {out.row(cls_), out.stride});
    for (int64_t c = 0; c < cls_; ++c) forward_class(c, out.row(c));
  }

  void backward() {
    const AttentionShape& s = call_.shape;
    transpose(call_.inputs.q, rows_.q, s.dim);
    transpose(call_.inputs.k, rows_.k, s.dim);
    transpose(call_.inputs.v, rows_.v, s.value_dim);
    transpose(call_.grad_out, rows_.out, s.value_dim);
    const NarrowPartner k = spread(call_.inputs.k, s.dim, 0), v = spread(call_.inputs.v, s.value_dim, 1),
                        q = spread(call_.inputs.q, s.dim, 2), g = spread(call_.grad_out, s.value_dim, 3);
    const Rows<float> dq = head_rows(call_.gradients.dq), dk = head_rows(call_.gradients.dk),
                      dv = head_rows(call_.gradients.dv);
    for (int64_t t = 0; t < patches_; t += lanes<float>()) query_block(t, k, v);
    channels_to_rows(array(rows_.dq), patches_, s.dim, {dq.row(cls_), dq.stride});
    for (int64_t c = 0; c < cls_; ++c) class_keys(c, dk.row(c), dv.row(c));
    for (int64_t c = 0; c < cls_; ++c) class_query(c, dq.row(c), dk, dv);
    for (int64_t t = 0; t < patches_; t += lanes<float>()) key_block(t, q, g);
    channels_to_rows(array(rows_.dk), patches_, s.dim, {dk.row(cls_), dk.stride});
    channels_to_rows(array(rows_.dv), patches_, s.value_dim, {dv.row(cls_), dv.stride});
  }

 private:
  void open(int64_t stride, int64_t margin) {
    float* data = ws_.arrays.ensure(static_cast<size_t>(rows_.all * stride));
    data_ = {data + margin, stride};
    ws_.block.ensure(static_cast<size_t>(2 * (strips_ + 1) * lanes<float>()));
    const int64_t channels = HWY_MAX(call_.shape.dim, call_.shape.value_dim);
    ws_.class_rows.ensure(static_cast<size_t>(4 * cls_ * channels * lanes<float>()));
    set_room(static_cast<size_t>(strips_ + cls_));
    list_shifts();
    if (ws_.stride == stride && ws_.margin == margin && ws_.rows == rows_.all) return;
    std::fill(data, data + rows_.all * stride, 0.0f);
    ws_.stride = stride, ws_.margin = margin, ws_.rows = rows_.all;
  }

  Channels array(int64_t row) const { return {data_.at(row, 0), data_.stride}; }

  template <class T>
  Rows<T> head_rows(const TokenView<T>& view) const {
    return {view.row(at_.b, at_.h, 0), view.token_stride};
  }

  void transpose(const TokenView<const float>& view, int64_t row, int64_t channels) {
    const Rows<const float> from = head_rows(view);
    rows_to_channels({from.row(cls_), from.stride}, patches_, channels, array(row));
  }

  /// The class tokens' rows with every channel in all lanes; `which` of four such arrays.
  NarrowPartner spread(const TokenView<const float>& view, int64_t channels, int64_t which) {
    const int64_t n = lanes<float>(), most = HWY_MAX(call_.shape.dim, call_.shape.value_dim);
    float* into = ws_.class_rows.data() + which * cls_ * most * n;
    for (int64_t c = 0; c < cls_; ++c) {
      const float* row = head_rows(view).row(c);
      for (int64_t i = 0; i < channels; ++i)
        hn::StoreU(hn::Set(Floats(), row[i]), Floats(), into + (c * channels + i) * n);
    }
    return {into, n};
  }
  static NarrowPartner class_partner(NarrowPartner all, int64_t c, int64_t channels) {
    return {all.row + c * channels * all.step, all.step};
  }

  void set_room(size_t strips) {
    if (ws_.strips.size() >= strips) return;
    ws_.strips.resize(strips), ws_.scored.resize(strips), ws_.summed.resize(strips);
    ws_.weights.resize(strips), ws_.other_weights.resize(strips);
  }

  void list_shifts() {
    ws_.shifts.clear();
    if (pattern_.diagonal) ws_.shifts.push_back(0);
    for (const int64_t o : pattern_.offsets) ws_.shifts.insert(ws_.shifts.end(), {-o, o});
  }

  /// The strips that queries [t, t + lanes) meet, with their rows in the keys' and the values' arrays.
  void collect(int64_t t, NarrowPartner class_k, NarrowPartner class_v) {
    const int64_t n = lanes<float>(), count = HWY_MIN(n, patches_ - t), patches = patches_;
    const Channels k = array(rows_.k), v = array(rows_.v);
    NarrowStrip* strips = ws_.strips.data();
    NarrowPartner *scored = ws_.scored.data(), *summed = ws_.summed.data();
    int64_t met = 0;
    for (; met < cls_; ++met) {
      strips[met] = {met, 0, n};
      scored[met] = class_partner(class_k, met, call_.shape.dim);
      summed[met] = class_partner(class_v, met, call_.shape.value_dim);
    }
    int64_t index = cls_;
    for (const int64_t shift : ws_.shifts) {
      const int64_t to = t + shift, first = HWY_MAX(int64_t{0}, -to), last = HWY_MIN(count, patches - to);
      strips[met] = {index++, first, last};
      scored[met] = {k.at(0, to), k.stride};
      summed[met] = {v.at(0, to), v.stride};
      met += first < last ? 1 : 0;
    }
    met_ = met;
  }

  static hn::Mask<Floats> inside(const NarrowStrip& s) {
    const Floats d;
    const auto before = hn::FirstN(d, static_cast<size_t>(s.first)), until = hn::FirstN(d, static_cast<size_t>(s.last));
    return hn::AndNot(before, until);
  }
  static bool whole(const NarrowStrip& s) { return s.first == 0 && s.last == lanes<float>(); }

  /// Scores of the block's strips, -inf in lanes without a partner, and the largest of each lane.
  FloatVec score(int64_t t, float* scores) {
    const Floats d;
    const int64_t n = lanes<float>();
    const Channels q = array(rows_.q);
    dot_all({q.at(0, t), q.stride}, ws_.scored.data(), met_, call_.shape.dim, call_.scale, scores, n);
    const auto lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
    auto top = lowest;
    for (int64_t i = 0; i < met_; ++i) {
      const NarrowStrip& s = ws_.strips[static_cast<size_t>(i)];
      auto x = hn::LoadU(d, scores);
      if (!whole(s)) {
        x = hn::IfThenElse(inside(s), x, lowest);
        hn::StoreU(x, d, scores);
      }
      top = hn::Max(top, x);
      scores += n;
    }
    return top;
  }

  static FloatVec zero_if_lowest(FloatVec x) {
    const auto lowest = hn::Set(Floats(), -std::numeric_limits<float>::infinity());
    return hn::IfThenZeroElse(hn::Eq(x, lowest), x);
  }
  static FloatVec inverse(FloatVec sum) {
    const Floats d;
    return hn::IfThenZeroElse(hn::Eq(sum, hn::Zero(d)), hn::Div(hn::Set(d, 1.0f), sum));
  }

  void forward_block(int64_t t, NarrowPartner class_k, NarrowPartner class_v) {
    const Floats d;
    const int64_t n = lanes<float>();
    float* scores = ws_.block.data();
    collect(t, class_k, class_v);
    const auto top = zero_if_lowest(score(t, scores));
    auto sum = hn::Zero(d);
    const float** weights = ws_.weights.data();
    for (int64_t s = 0; s < met_; ++s) {
      float* at = scores + s * n;
      const auto e = exponential<float>(hn::Sub(hn::LoadU(d, at), top));
      hn::StoreU(e, d, at);
      sum = hn::Add(sum, e);
      weights[s] = at;
    }
    const Channels out = array(rows_.out);
    sum_partners(ws_.summed.data(), ws_.weights.data(), met_, call_.shape.value_dim, inverse(sum), out.at(0, t),
                 out.stride);
    if (call_.lse == nullptr) return;
    float* lse = lse_of_head(call_.lse) + cls_ + t;
    const auto value = log_sum<float>(top, sum);
    t + n <= patches_ ? hn::StoreU(value, d, lse) : store_first(value, lse, patches_ - t);
  }

  template <class T>
  T* lse_of_head(T* lse) const {
    return lse + call_.head_index(at_.b, at_.h) * call_.shape.query_tokens;
  }

  /// Scores of class token c with all patch tokens, -inf behind the last.
  void score_class(int64_t c, float* scores) {
    const Floats d;
    const int64_t n = lanes<float>();
    const Channels k = array(rows_.k);
    const NarrowPartner q = class_partner(spread(call_.inputs.q, call_.shape.dim, 2), c, call_.shape.dim);
    for (int64_t t = 0; t < patches_; t += n)
      dot_partners<1>({k.at(0, t), k.stride}, &q, call_.shape.dim, hn::Set(d, call_.scale), scores + t, 0);
    for (int64_t t = patches_; t % n != 0; ++t) scores[t] = -std::numeric_limits<float>::infinity();
  }
  float class_score(int64_t c, int64_t key) const {
    return call_.scale * dot(head_rows(call_.inputs.q).row(c), head_rows(call_.inputs.k).row(key), call_.shape.dim);
  }

  /// values := e^(value - top), and their sum.
  float exponentiate_row(float* values, float top) const {
    const Floats d;
    auto sum = hn::Zero(d);
    for (int64_t t = 0; t < patches_; t += lanes<float>()) {
      const auto e = exponential<float>(hn::Sub(hn::LoadU(d, values + t), hn::Set(d, top)));
      hn::StoreU(e, d, values + t);
      sum = hn::Add(sum, e);
    }
    return hn::GetLane(hn::SumOfLanes(d, sum));
  }

  void forward_class(int64_t c, float* out) {
    const Floats d;
    float* scores = array(rows_.weights + strips_ + c).first;
    score_class(c, scores);
    auto lane_tops = hn::Set(d, -std::numeric_limits<float>::infinity());
    for (int64_t t = 0; t < patches_; t += lanes<float>()) lane_tops = hn::Max(lane_tops, hn::LoadU(d, scores + t));
    float top = hn::GetLane(hn::MaxOfLanes(d, lane_tops));
    for (int64_t key = 0; key < cls_; ++key) top = HWY_MAX(top, class_score(c, key));
    if (top == -std::numeric_limits<float>::infinity()) top = 0;
    float sum = exponentiate_row(scores, top);
    sum_tokens(scores, array(rows_.v), patches_, call_.shape.value_dim, 1.0f, out);
    for (int64_t key = 0; key < cls_; ++key) {
      const float weight = std::exp(class_score(c, key) - top), *value = head_rows(call_.inputs.v).row(key);
      sum += weight;
      for (int64_t i = 0; i < call_.shape.value_dim; ++i) out[i] += weight * value[i];
    }
    for (int64_t i = 0; i < call_.shape.value_dim; ++i) out[i] = sum == 0 ? 0.0f : out[i] / sum;
    if (call_.lse == nullptr) return;
    lse_of_head(call_.lse)[c] = sum == 0 ? -std::numeric_limits<float>::infinity() : top + std::log(sum);
  }

  /// Probabilities and slopes (the scores' gradients) of the queries' pairs, and the queries' gradients.
  void query_block(int64_t t, NarrowPartner class_k, NarrowPartner class_v) {
    const Floats d;
    const int64_t n = lanes<float>();
    float *scores = ws_.block.data(), *products = scores + strips_ * n;
    collect(t, class_k, class_v);
    score(t, scores);
    const Channels g = array(rows_.out), weights = array(rows_.weights), slopes = array(rows_.slopes);
    dot_all({g.at(0, t), g.stride}, ws_.summed.data(), met_, call_.shape.value_dim, 1.0f, products, n);
    const float* lse = lse_of_head(call_.saved_lse) + cls_ + t;
    const auto total = zero_if_lowest(t + n <= patches_ ? hn::LoadU(d, lse) : load_first(lse, patches_ - t));
    auto delta = hn::Zero(d);
    const NarrowStrip* strips = ws_.strips.data();
    for (int64_t s = 0; s < met_; ++s) {
      const int64_t at = s * n;
      const auto p = exponential<float>(hn::Sub(hn::LoadU(d, scores + at), total));
      hn::StoreU(p, d, weights.at(strips[s].index, t));
      delta = hn::MulAdd(p, hn::LoadU(d, products + at), delta);
      ws_.weights[static_cast<size_t>(s)] = slopes.at(strips[s].index, t);
    }
    for (int64_t s = 0; s < met_; ++s) {
      const NarrowStrip& strip = strips[s];
      const auto p = hn::LoadU(d, weights.at(strip.index, t));
      auto slope = hn::Mul(p, hn::Sub(hn::LoadU(d, products + s * n), delta));
      if (!whole(strip)) slope = hn::IfThenElseZero(inside(strip), slope);
      hn::StoreU(slope, d, slopes.at(strip.index, t));
    }
    const Channels dq = array(rows_.dq);
    sum_partners(ws_.scored.data(), ws_.weights.data(), met_, call_.shape.dim, hn::Set(d, call_.scale), dq.at(0, t),
                 dq.stride);
  }

  /// What the patch tokens' queries leave for class token c as a key.
  void class_keys(int64_t c, float* dk, float* dv) {
    sum_tokens(array(rows_.slopes + c).first, array(rows_.q), patches_, call_.shape.dim, call_.scale, dk);
    sum_tokens(array(rows_.weights + c).first, array(rows_.out), patches_, call_.shape.value_dim, 1.0f, dv);
  }

  /// Class token c as a query: its gradient, its probabilities and slopes for the keys, and its share of class tokens.
  void class_query(int64_t c, float* dq, Rows<float> dk, Rows<float> dv) {
    const Floats d;
    const int64_t n = lanes<float>(), dim = call_.shape.dim, value_dim = call_.shape.value_dim;
    const Rows<const float> q = head_rows(call_.inputs.q), k = head_rows(call_.inputs.k), v = head_rows(call_.inputs.v),
                            g = head_rows(call_.grad_out);
    float *weights = array(rows_.weights + strips_ + c).first, *slopes = array(rows_.slopes + strips_ + c).first;
    const float saved = lse_of_head(call_.saved_lse)[c],
                total = saved == -std::numeric_limits<float>::infinity() ? 0.0f : saved;
    score_class(c, weights);
    exponentiate_row(weights, total);
    const NarrowPartner gradient = class_partner(spread(call_.grad_out, value_dim, 3), c, value_dim);
    const Channels values = array(rows_.v);
    auto sum = hn::Zero(d);
    for (int64_t t = 0; t < patches_; t += n) {
      dot_partners<1>({values.at(0, t), values.stride}, &gradient, value_dim, hn::Set(d, 1.0f), slopes + t, 0);
      sum = hn::MulAdd(hn::LoadU(d, weights + t), hn::LoadU(d, slopes + t), sum);
    }
    float delta = hn::GetLane(hn::SumOfLanes(d, sum));
    for (int64_t key = 0; key < cls_; ++key)
      delta += std::exp(class_score(c, key) - total) * dot(g.row(c), v.row(key), value_dim);
    for (int64_t t = 0; t < patches_; t += n) {
      const auto slope = hn::Mul(hn::LoadU(d, weights + t), hn::Sub(hn::LoadU(d, slopes + t), hn::Set(d, delta)));
      hn::StoreU(slope, d, slopes + t);
    }
    sum_tokens(slopes, array(rows_.k), patches_, dim, call_.scale, dq);
    for (int64_t key = 0; key < cls_; ++key) {
      const float p = std::exp(class_score(c, key) - total),
                  slope = call_.scale * p * (dot(g.row(c), v.row(key), value_dim) - delta);
      for (int64_t i = 0; i < dim; ++i) dq[i] += slope * k.row(key)[i], dk.row(key)[i] += slope * q.row(c)[i];
      for (int64_t i = 0; i < value_dim; ++i) dv.row(key)[i] += p * g.row(c)[i];
    }
  }

  /// Gradients of keys and values [t, t + lanes): gathered over the queries that met them.
  void key_block(int64_t t, NarrowPartner class_q, NarrowPartner class_g) {
    const Channels q = array(rows_.q), g = array(rows_.out), weights = array(rows_.weights),
                   slopes = array(rows_.slopes);
    NarrowPartner *scored = ws_.scored.data(), *summed = ws_.summed.data();
    const float **slope = ws_.weights.data(), **weight = ws_.other_weights.data();
    int64_t count = 0;
    for (; count < cls_; ++count) {
      scored[count] = class_partner(class_q, count, call_.shape.dim);
      summed[count] = class_partner(class_g, count, call_.shape.value_dim);
      slope[count] = slopes.at(strips_ + count, t), weight[count] = weights.at(strips_ + count, t);
    }
    int64_t index = cls_;
    for (const int64_t shift : ws_.shifts) {
      const int64_t from = t - shift;
      scored[count] = {q.at(0, from), q.stride}, summed[count] = {g.at(0, from), g.stride};
      slope[count] = slopes.at(index, from), weight[count] = weights.at(index, from);
      count += from + lanes<float>() > 0 && from < patches_ ? 1 : 0;
      ++index;
    }
    const Floats d;
    const Channels dk = array(rows_.dk), dv = array(rows_.dv);
    sum_partners(ws_.scored.data(), ws_.weights.data(), count, call_.shape.dim, hn::Set(d, call_.scale), dk.at(0, t),
                 dk.stride);
    sum_partners(ws_.summed.data(), ws_.other_weights.data(), count, call_.shape.value_dim, hn::Set(d, 1.0f),
                 dv.at(0, t), dv.stride);
  }

  const Call<float>& call_;
  NarrowWorkspace& ws_;
  NarrowHead at_;
  const SupportSet::Head& pattern_;
  int64_t cls_, patches_, strips_, met_ = 0;
  NarrowRows rows_;
  Channels data_{};
};

inline void narrow_head_forward(const Call<float>& call, const NarrowLayout& layout, NarrowHead at,
                                NarrowWorkspace& ws) {
  NarrowPass(call, layout, at, ws).forward();
}
inline void narrow_head_backward(const Call<float>& call, const NarrowLayout& layout, NarrowHead at,
                                 NarrowWorkspace& ws) {
  NarrowPass(call, layout, at, ws).backward();
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::kernels
HWY_AFTER_NAMESPACE();
#endif
