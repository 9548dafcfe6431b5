// SPDX-License-Identifier: Apache-2.0
// One narrow head, backward. Included once per target.
#if defined(FIB_KERNELS_NARROW_BACKWARD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FIB_KERNELS_NARROW_BACKWARD_INL_H_
#undef FIB_KERNELS_NARROW_BACKWARD_INL_H_
#else
#define FIB_KERNELS_NARROW_BACKWARD_INL_H_
#endif

#include "kernels/simd/narrow-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fib::kernels {
namespace HWY_NAMESPACE {

class NarrowBackward : public NarrowPass {
 public:
  using NarrowPass::NarrowPass;

  void run() {
    const AttentionShape& s = call_.shape;
    transpose_inputs();
    transpose(call_.grad_out, rows_.out, s.value_dim);
    const NarrowPartner k = spread(call_.inputs.k, s.dim, 0), v = spread(call_.inputs.v, s.value_dim, 1),
                        q = spread(call_.inputs.q, s.dim, 2), g = spread(call_.grad_out, s.value_dim, 3);
    const Rows<float> dq = head_rows(call_.gradients.dq), dk = head_rows(call_.gradients.dk),
                      dv = head_rows(call_.gradients.dv);
    if (zero_) sum_values();
    for (int64_t t = 0; t < patches_; t += lanes<float>()) query_block(t, k, v);
    if (zero_) sum_tokens(array(rows_.rest).first, array(rows_.out), patches_, s.value_dim, 1.0f, excluded_gradient());
    channels_to_rows(array(rows_.dq), patches_, s.dim, {dq.row(cls_), dq.stride});
    for (int64_t c = 0; c < cls_; ++c) class_keys(c, dk.row(c), dv.row(c));
    for (int64_t c = 0; c < cls_; ++c) class_query(c, dq.row(c), dk, dv);
    for (int64_t t = 0; t < patches_; t += lanes<float>()) key_block(t, q, g);
    channels_to_rows(array(rows_.dk), patches_, s.dim, {dk.row(cls_), dk.stride});
    channels_to_rows(array(rows_.dv), patches_, s.value_dim, {dv.row(cls_), dv.stride});
  }

 private:
  /// Masking zero, [e]: what all queries would give the value of a key that each of them excludes.
  float* excluded_gradient() { return ws_.columns.data() + call_.shape.value_dim; }

  /// Masking zero: what an excluded pair of these queries weighs is kept, and the share of all keys in out·grad_out
  /// told.
  FloatVec keep_rest(int64_t t, FloatVec total, FloatVec& rest) {
    const Floats d;
    rest = rest_of(excluded_keys(), total);
    hn::StoreU(rest, d, data_.at(rows_.rest, t));
    auto product = hn::Zero(d);
    for (int64_t c = 0; c < call_.shape.value_dim; ++c)
      product = hn::MulAdd(hn::Set(d, ws_.columns.data()[c]), hn::LoadU(d, data_.at(rows_.out + c, t)), product);
    return hn::Mul(rest, product);
  }

  /// Probabilities and dscores (the scores' gradients) of the queries' pairs, and the queries' gradients.
  void query_block(int64_t t, NarrowPartner class_k, NarrowPartner class_v) {
    const Floats d;
    const int64_t n = lanes<float>();
    float *scores = ws_.block.data(), *products = scores + strips_ * n;
    collect(t, class_k, class_v);
    score(t, scores);
    const Channels g = array(rows_.out), weights = array(rows_.weights), dscores = array(rows_.dscores);
    dot_all({g.at(0, t), g.stride}, ws_.summed.data(), met_, call_.shape.value_dim, 1.0f, products, n);
    const float* lse = lse_of_head(call_.saved_lse) + cls_ + t;
    const auto total = zero_if_lowest(t + n <= patches_ ? hn::LoadU(d, lse) : load_first(lse, patches_ - t));
    auto rest = hn::Zero(d), delta = zero_ ? keep_rest(t, total, rest) : rest;
    const NarrowStrip* strips = ws_.strips.data();
    for (int64_t s = 0; s < met_; ++s) {
      const int64_t at = s * n;
      const auto p = exponential<float>(hn::Sub(hn::LoadU(d, scores + at), total));
      const auto weight = zero_ ? beyond(strips[s], p, rest) : p;
      hn::StoreU(p, d, scores + at);
      hn::StoreU(weight, d, weights.at(strips[s].index, t));
      delta = hn::MulAdd(weight, hn::LoadU(d, products + at), delta);
      ws_.weights[static_cast<size_t>(s)] = dscores.at(strips[s].index, t);
    }
    for (int64_t s = 0; s < met_; ++s) {
      const NarrowStrip& strip = strips[s];
      const auto p = hn::LoadU(d, scores + s * n);
      auto dscore = hn::Mul(p, hn::Sub(hn::LoadU(d, products + s * n), delta));
      if (!whole(strip)) dscore = hn::IfThenElseZero(inside(strip), dscore);
      hn::StoreU(dscore, d, dscores.at(strip.index, t));
    }
    const Channels dq = array(rows_.dq);
    sum_partners(ws_.scored.data(), ws_.weights.data(), met_, call_.shape.dim, hn::Set(d, call_.scale), dq.at(0, t),
                 dq.stride);
  }

  /// What the patch tokens' queries leave for class token c as a key.
  void class_keys(int64_t c, float* dk, float* dv) {
    sum_tokens(array(rows_.dscores + c).first, array(rows_.q), patches_, call_.shape.dim, call_.scale, dk);
    sum_tokens(array(rows_.weights + c).first, array(rows_.out), patches_, call_.shape.value_dim, 1.0f, dv);
    for (int64_t i = 0; zero_ && i < call_.shape.value_dim; ++i) dv[i] += excluded_gradient()[i];
  }

  /// Class token c as a query: its gradient, its probabilities and score gradients for the keys, and its share of class
  /// tokens.
  void class_query(int64_t c, float* dq, Rows<float> dk, Rows<float> dv) {
    const Floats d;
    const int64_t n = lanes<float>(), dim = call_.shape.dim, value_dim = call_.shape.value_dim;
    const Rows<const float> q = head_rows(call_.inputs.q), k = head_rows(call_.inputs.k), v = head_rows(call_.inputs.v),
                            g = head_rows(call_.grad_out);
    float *weights = array(rows_.weights + strips_ + c).first, *dscores = array(rows_.dscores + strips_ + c).first;
    const float saved = lse_of_head(call_.saved_lse)[c],
                total = saved == -std::numeric_limits<float>::infinity() ? 0.0f : saved;
    score_class(c, weights);
    exponentiate_row(weights, total);
    const NarrowPartner gradient = class_partner(spread(call_.grad_out, value_dim, 3), c, value_dim);
    const Channels values = array(rows_.v);
    auto sum = hn::Zero(d);
    for (int64_t t = 0; t < patches_; t += n) {
      dot_partners<1>({values.at(0, t), values.stride}, &gradient, value_dim, hn::Set(d, 1.0f), dscores + t, 0);
      sum = hn::MulAdd(hn::LoadU(d, weights + t), hn::LoadU(d, dscores + t), sum);
    }
    float delta = hn::GetLane(hn::SumOfLanes(d, sum));
    for (int64_t key = 0; key < cls_; ++key)
      delta += std::exp(class_score(c, key) - total) * dot(g.row(c), v.row(key), value_dim);
    for (int64_t t = 0; t < patches_; t += n) {
      const auto dscore = hn::Mul(hn::LoadU(d, weights + t), hn::Sub(hn::LoadU(d, dscores + t), hn::Set(d, delta)));
      hn::StoreU(dscore, d, dscores + t);
    }
    sum_tokens(dscores, array(rows_.k), patches_, dim, call_.scale, dq);
    for (int64_t key = 0; key < cls_; ++key) {
      const float p = std::exp(class_score(c, key) - total),
                  dscore = call_.scale * p * (dot(g.row(c), v.row(key), value_dim) - delta);
      for (int64_t i = 0; i < dim; ++i) dq[i] += dscore * k.row(key)[i], dk.row(key)[i] += dscore * q.row(c)[i];
      for (int64_t i = 0; i < value_dim; ++i) dv.row(key)[i] += p * g.row(c)[i];
    }
  }

  /// Gradients of keys and values [t, t + lanes): gathered over the queries that met them.
  void key_block(int64_t t, NarrowPartner class_q, NarrowPartner class_g) {
    const Channels q = array(rows_.q), g = array(rows_.out), weights = array(rows_.weights),
                   dscores = array(rows_.dscores);
    NarrowPartner *scored = ws_.scored.data(), *summed = ws_.summed.data();
    const float **dscore = ws_.weights.data(), **weight = ws_.other_weights.data();
    int64_t count = 0;
    for (; count < cls_; ++count) {
      scored[count] = class_partner(class_q, count, call_.shape.dim);
      summed[count] = class_partner(class_g, count, call_.shape.value_dim);
      dscore[count] = dscores.at(strips_ + count, t), weight[count] = weights.at(strips_ + count, t);
    }
    int64_t index = cls_;
    for (const int64_t shift : ws_.shifts) {
      const int64_t from = t - shift;
      scored[count] = {q.at(0, from), q.stride}, summed[count] = {g.at(0, from), g.stride};
      dscore[count] = dscores.at(index, from), weight[count] = weights.at(index, from);
      count += from + lanes<float>() > 0 && from < patches_ ? 1 : 0;
      ++index;
    }
    const Floats d;
    const Channels dk = array(rows_.dk), dv = array(rows_.dv);
    sum_partners(ws_.scored.data(), ws_.weights.data(), count, call_.shape.dim, hn::Set(d, call_.scale), dk.at(0, t),
                 dk.stride);
    sum_partners(ws_.summed.data(), ws_.other_weights.data(), count, call_.shape.value_dim, hn::Set(d, 1.0f),
                 dv.at(0, t), dv.stride);
    if (zero_) add_columns(dv, t, call_.shape.value_dim, hn::Set(d, 1.0f), excluded_gradient());
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace fib::kernels
HWY_AFTER_NAMESPACE();
#endif
