// SPDX-License-Identifier: Apache-2.0
// One narrow head, forward. Included once per target.
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

#include "kernels/simd/channels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fib::kernels {
namespace HWY_NAMESPACE {

/// Where arrays of a head begin, in rows of the workspace. What forward does not use stays empty.
struct NarrowRows {
  int64_t q, k, v, out, dq, dk, dv, weights, dscores, rest, all;
  NarrowRows(const AttentionShape& s, int64_t strips, int64_t cls)
      : q(0),
        k(q + s.dim),
        v(k + s.dim),
        out(v + s.value_dim),
        dq(out + s.value_dim),
        dk(dq + s.dim),
        dv(dk + s.dim),
        weights(dv + s.value_dim),
        dscores(weights + strips + cls),
        rest(dscores + strips + cls),
        all(rest + 1) {}
};

/// What forward and backward share: the head's arrays, its strips, their scores.
class NarrowPass {
 public:
  NarrowPass(const SupportCall<float>& call, const NarrowLayout& layout, NarrowHead at, NarrowWorkspace& ws)
      : call_(call),
        ws_(ws),
        at_(at),
        pattern_(call.support->head(at.h)),
        cls_(call.support->cls()),
        patches_(call.shape.key_tokens - cls_),
        strips_(layout.strips),
        zero_(call.options.masking == Masking::zero),
        rows_(call.shape, layout.strips, cls_) {
    const int64_t n = lanes<float>(), margin = (layout.reach + n - 1) / n * n;
    int64_t stride = 2 * margin + (patches_ + n - 1) / n * n;
    if (stride / n % 2 == 0) stride += n;  // or rows of channels would meet in few sets of the cache
    open(stride, margin);
  }

 protected:
  void open(int64_t stride, int64_t margin) {
    float* data = ws_.arrays.ensure(static_cast<size_t>(rows_.all * stride));
    data_ = {data + margin, stride};
    ws_.block.ensure(static_cast<size_t>(2 * (strips_ + 1) * lanes<float>()));
    const int64_t channels = HWY_MAX(call_.shape.dim, call_.shape.value_dim);
    ws_.columns.ensure(static_cast<size_t>(2 * call_.shape.value_dim));
    ws_.class_rows.ensure(static_cast<size_t>(4 * cls_ * channels * lanes<float>()));
    set_room(static_cast<size_t>(strips_ + cls_));
    list_shifts();
    const NarrowWorkspace::Sizes sizes{rows_.all, stride, margin, lanes<float>()};
    if (ws_.sizes == sizes) return;
    std::fill(data, data + rows_.all * stride, 0.0f);
    ws_.sizes = sizes;
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

  void transpose_inputs() {
    const AttentionShape& s = call_.shape;
    transpose(call_.inputs.q, rows_.q, s.dim);
    transpose(call_.inputs.k, rows_.k, s.dim);
    transpose(call_.inputs.v, rows_.v, s.value_dim);
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
    auto row_max = lowest;
    for (int64_t i = 0; i < met_; ++i) {
      const NarrowStrip& s = ws_.strips[static_cast<size_t>(i)];
      auto x = hn::LoadU(d, scores);
      if (!whole(s)) {
        x = hn::IfThenElse(inside(s), x, lowest);
        hn::StoreU(x, d, scores);
      }
      row_max = hn::Max(row_max, x);
      scores += n;
    }
    return row_max;
  }

  /// Masking zero: how many keys each query of the block excludes.
  FloatVec excluded_keys() const {
    const Floats d;
    const auto one = hn::Set(d, 1.0f);
    auto keys = hn::Set(d, static_cast<float>(call_.shape.key_tokens));
    for (int64_t i = 0; i < met_; ++i) {
      const NarrowStrip& s = ws_.strips[static_cast<size_t>(i)];
      keys = hn::Sub(keys, whole(s) ? one : hn::IfThenElseZero(inside(s), one));
    }
    return keys;
  }

  /// e^(0 - level), what each of them weighs; 0 where there is none.
  static FloatVec rest_of(FloatVec excluded, FloatVec level) {
    const Floats d;
    return hn::IfThenElseZero(hn::Gt(excluded, hn::Zero(d)), exponential<float>(hn::Neg(level)));
  }

  /// What a pair of the strip weighs beyond an excluded one: the sum over all keys, added later, holds that already.
  static FloatVec beyond(const NarrowStrip& s, FloatVec weight, FloatVec rest) {
    const auto more = hn::Sub(weight, rest);
    return whole(s) ? more : hn::IfThenElseZero(inside(s), more);
  }

  /// Masking zero: the sum of v over all keys, class tokens included.
  void sum_values() {
    const Floats d;
    float* sums = ws_.columns.data();
    for (int64_t c = 0; c < call_.shape.value_dim; ++c) {
      auto sum = hn::Zero(d);
      for (int64_t t = 0; t < patches_; t += lanes<float>()) sum = hn::Add(sum, hn::LoadU(d, data_.at(rows_.v + c, t)));
      sums[c] = hn::GetLane(hn::SumOfLanes(d, sum));
      for (int64_t key = 0; key < cls_; ++key) sums[c] += head_rows(call_.inputs.v).row(key)[c];
    }
  }

  /// rows of channels [t, t + lanes) += factor · sums.
  static void add_columns(Channels into, int64_t t, int64_t channels, FloatVec factor, const float* sums) {
    const Floats d;
    for (int64_t c = 0; c < channels; ++c) {
      float* at = into.at(c, t);
      hn::StoreU(hn::MulAdd(factor, hn::Set(d, sums[c]), hn::LoadU(d, at)), d, at);
    }
  }

  static FloatVec zero_if_lowest(FloatVec x) {
    const auto lowest = hn::Set(Floats(), -std::numeric_limits<float>::infinity());
    return hn::IfThenZeroElse(hn::Eq(x, lowest), x);
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

  /// values := e^(value - row_max), and their sum.
  float exponentiate_row(float* values, float row_max) const {
    const Floats d;
    auto sum = hn::Zero(d);
    for (int64_t t = 0; t < patches_; t += lanes<float>()) {
      const auto e = exponential<float>(hn::Sub(hn::LoadU(d, values + t), hn::Set(d, row_max)));
      hn::StoreU(e, d, values + t);
      sum = hn::Add(sum, e);
    }
    return hn::GetLane(hn::SumOfLanes(d, sum));
  }

  const SupportCall<float>& call_;
  NarrowWorkspace& ws_;
  NarrowHead at_;
  const SupportSet::Head& pattern_;
  int64_t cls_, patches_, strips_, met_ = 0;
  bool zero_;  ///< masking: excluded pairs have score 0
  NarrowRows rows_;
  Channels data_{};
};

class NarrowForward : public NarrowPass {
 public:
  using NarrowPass::NarrowPass;

  void run() {
    const AttentionShape& s = call_.shape;
    transpose_inputs();
    if (zero_) sum_values();
    const NarrowPartner k = spread(call_.inputs.k, s.dim, 0), v = spread(call_.inputs.v, s.value_dim, 1);
    for (int64_t t = 0; t < patches_; t += lanes<float>()) forward_block(t, k, v);
    const Rows<float> out = head_rows(call_.out);
    channels_to_rows(array(rows_.out), patches_, s.value_dim, {out.row(cls_), out.stride});
    for (int64_t c = 0; c < cls_; ++c) forward_class(c, out.row(c));
  }

 private:
  static FloatVec inverse(FloatVec sum) {
    const Floats d;
    return hn::IfThenZeroElse(hn::Eq(sum, hn::Zero(d)), hn::Div(hn::Set(d, 1.0f), sum));
  }

  void forward_block(int64_t t, NarrowPartner class_k, NarrowPartner class_v) {
    const Floats d;
    const int64_t n = lanes<float>();
    float* scores = ws_.block.data();
    collect(t, class_k, class_v);
    auto row_max = zero_if_lowest(score(t, scores)), excluded = hn::Zero(d), rest = hn::Zero(d);
    if (zero_) {
      excluded = excluded_keys();
      row_max = hn::IfThenElse(hn::Gt(excluded, hn::Zero(d)), hn::Max(row_max, hn::Zero(d)), row_max);
      rest = rest_of(excluded, row_max);
    }
    auto sum = hn::Mul(excluded, rest);
    const float** weights = ws_.weights.data();
    for (int64_t s = 0; s < met_; ++s) {
      float* at = scores + s * n;
      const auto e = exponential<float>(hn::Sub(hn::LoadU(d, at), row_max));
      hn::StoreU(zero_ ? beyond(ws_.strips[static_cast<size_t>(s)], e, rest) : e, d, at);
      sum = hn::Add(sum, e);
      weights[s] = at;
    }
    const Channels out = array(rows_.out);
    sum_partners(ws_.summed.data(), ws_.weights.data(), met_, call_.shape.value_dim, inverse(sum), out.at(0, t),
                 out.stride);
    if (zero_) add_columns(out, t, call_.shape.value_dim, hn::Mul(rest, inverse(sum)), ws_.columns.data());
    if (call_.lse == nullptr) return;
    float* lse = lse_of_head(call_.lse) + cls_ + t;
    const auto value = log_sum<float>(row_max, sum);
    t + n <= patches_ ? hn::StoreU(value, d, lse) : store_first(value, lse, patches_ - t);
  }

  void forward_class(int64_t c, float* out) {
    const Floats d;
    float* scores = array(rows_.weights + strips_ + c).first;
    score_class(c, scores);
    auto lane_max = hn::Set(d, -std::numeric_limits<float>::infinity());
    for (int64_t t = 0; t < patches_; t += lanes<float>()) lane_max = hn::Max(lane_max, hn::LoadU(d, scores + t));
    float row_max = hn::GetLane(hn::MaxOfLanes(d, lane_max));
    for (int64_t key = 0; key < cls_; ++key) row_max = HWY_MAX(row_max, class_score(c, key));
    if (row_max == -std::numeric_limits<float>::infinity()) row_max = 0;
    float sum = exponentiate_row(scores, row_max);
    sum_tokens(scores, array(rows_.v), patches_, call_.shape.value_dim, 1.0f, out);
    for (int64_t key = 0; key < cls_; ++key) {
      const float weight = std::exp(class_score(c, key) - row_max), *value = head_rows(call_.inputs.v).row(key);
      sum += weight;
      for (int64_t i = 0; i < call_.shape.value_dim; ++i) out[i] += weight * value[i];
    }
    for (int64_t i = 0; i < call_.shape.value_dim; ++i) out[i] = sum == 0 ? 0.0f : out[i] / sum;
    if (call_.lse == nullptr) return;
    lse_of_head(call_.lse)[c] = sum == 0 ? -std::numeric_limits<float>::infinity() : row_max + std::log(sum);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace fib::kernels
HWY_AFTER_NAMESPACE();
#endif
