// SPDX-License-Identifier: Apache-2.0
// Backward of one tile, seen from its queries (dq) or from its keys (dk, dv): probabilities are computed again from the
// forward's log-sum-exp, by the keys only where the queries did not keep them, and every gradient is gathered by the
// one tile that owns it. Included once per target.
//
//   p = e^(s - lse), D = out·dout, ds = p (keep · dout·v - D), dq = scale Σ ds k, dk = scale Σ ds q, dv = Σ keep p dout
#if defined(FIB_KERNELS_BACKWARD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FIB_KERNELS_BACKWARD_INL_H_
#undef FIB_KERNELS_BACKWARD_INL_H_
#else
#define FIB_KERNELS_BACKWARD_INL_H_
#endif

#include <cmath>

#include "kernels/simd/tile_common-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fib::kernels {
namespace HWY_NAMESPACE {

/// A value per query in the lanes of a strip.
template <class T>
HWY_INLINE Vec<T> load_queries(const T* values, int64_t query, int64_t step) {
  const Tag<T> d;
  return step == 0 ? hn::Set(d, values[query]) : hn::LoadU(d, values + query);
}

/// Queries without keys have lse = -inf and probabilities 0.
template <class T>
HWY_INLINE Vec<T> load_lse(const T* lse, int64_t query, int64_t step) {
  const Tag<T> d;
  const auto infinity = hn::Set(d, std::numeric_limits<T>::infinity());
  const auto value = load_queries(lse, query, step);
  return hn::IfThenElse(hn::Eq(value, hn::Neg(infinity)), infinity, value);
}

template <class T>
struct BackwardTile {
  const SupportCall<T>& call;
  TileIndex at;
  Workspace<T>& ws;
  bool self_is_query;
  Rows<const T> q, k, v, grad_out;
  PairTerms<T> terms;
  const T *lse, *delta, *rest;
  T *scores = nullptr, *loose_scores = nullptr;      ///< scores, then probabilities
  T *products = nullptr, *loose_products = nullptr;  ///< keep · dout·v, then ds
  T *kept_scores = nullptr, *kept_products = nullptr;
  T* own_delta = nullptr;  ///< of the head, where its blocks sum it up themselves

  BackwardTile(const SupportCall<T>& c, TileIndex tile, Workspace<T>& w, bool self_is_query_)
      : call(c),
        at(tile),
        ws(w),
        self_is_query(self_is_query_),
        q(head_rows(c.inputs.q, tile)),
        k(head_rows(c.inputs.k, tile)),
        v(head_rows(c.inputs.v, tile)),
        grad_out(head_rows(c.grad_out, tile)),
        terms(c, tile, self_is_query_) {
    const int64_t first = c.head_index(tile.b, tile.h) * c.shape.query_tokens;
    lse = c.saved_lse + first, delta = c.delta + first;
    rest = c.rest == nullptr ? nullptr : c.rest + first;
    if (c.kept.data == nullptr) return;
    const int64_t size = c.kept.rows * c.shape.query_tokens;
    kept_scores = c.kept.data + 2 * size * (c.head_index(tile.b, tile.h) - c.kept.first_head);
    kept_products = kept_scores + size;
  }

  /// Where the pairs are kept of which lane 0 is (self, other); a step of 0 is a class token's.
  int64_t place(int64_t self, int64_t self_step, int64_t other, int64_t other_step, int32_t shift) const {
    const int64_t tokens = call.shape.query_tokens, cls = call.support->cls();
    const int64_t query = self_is_query ? self : other, key = self_is_query ? other : self;
    if ((self_is_query ? self_step : other_step) == 0) return (cls + query) * tokens + key;
    if ((self_is_query ? other_step : self_step) == 0) return key * tokens + query;
    return (2 * cls + shift) * tokens + query;
  }

  /// Calls strip(index of its first value, place) for every strip, pair(index, place) for every loose pair.
  template <class VisitStrip, class VisitPair>
  HWY_INLINE void for_each_place(const VisitStrip& strip, const VisitPair& pair) const {
    const Panel& p = ws.panel;
    int64_t i = 0;
    for (const Strip& s : p.strips) {
      strip(i, place(p.self, p.self_step, s.first, s.step, s.shift));
      i += lanes<T>();
    }
    for (int64_t t = 0; t < p.loose(); ++t) {
      const int64_t other = p.token[static_cast<size_t>(t)];
      const int64_t step = p.self_step == 1 && other < call.support->cls() ? 0 : 1;
      pair(t,
           place(p.self + p.lane[static_cast<size_t>(t)], p.self_step, other, step, p.shift[static_cast<size_t>(t)]));
    }
  }

  /// Leaves the weights of dv and dk for the keys' gradients.
  void keep() {
    const Tag<T> d;
    value_weights();
    for_each_place(
        [&](int64_t i, int64_t to) HWY_ATTR {
          hn::StoreU(hn::Load(d, scores + i), d, kept_scores + to);
          hn::StoreU(hn::Load(d, products + i), d, kept_products + to);
        },
        [&](int64_t t, int64_t to) {
          kept_scores[to] = loose_scores[t];
          kept_products[to] = loose_products[t];
        });
  }

  /// Takes them.
  void recall() {
    const Tag<T> d;
    const Panel& p = ws.panel;
    scores = strip_scratch(p, ws.scores), loose_scores = loose_scratch(p, ws.loose_scores);
    products = strip_scratch(p, ws.products), loose_products = loose_scratch(p, ws.loose_products);
    for_each_place(
        [&](int64_t i, int64_t from) HWY_ATTR {
          hn::Store(hn::LoadU(d, kept_scores + from), d, scores + i);
          hn::Store(hn::LoadU(d, kept_products + from), d, products + i);
        },
        [&](int64_t t, int64_t from) {
          loose_scores[t] = kept_scores[from];
          loose_products[t] = kept_products[from];
        });
    // Where a pair is none, nothing was kept.
    fill_masked(p, scores, T(0));
    fill_masked(p, products, T(0));
  }

  int64_t query_of(int64_t t) const {
    const Panel& p = ws.panel;
    return self_is_query ? p.self + p.lane[static_cast<size_t>(t)] * p.self_step : p.token[static_cast<size_t>(t)];
  }

  /// Calls visit(index of the strip's first value, query of lane 0, step of the queries) for every strip.
  template <class Visit>
  HWY_INLINE void for_each_strip(const Visit& visit) const {
    const Panel& p = ws.panel;
    int64_t i = 0;
    for (const Strip& s : p.strips) {
      visit(i, self_is_query ? p.self : s.first, self_is_query ? p.self_step : s.step);
      i += lanes<T>();
    }
  }

  /// p = e^(s - lse) into scores.
  void probabilities() {
    const Tag<T> d;
    const Panel& p = ws.panel;
    scores = strip_scratch(p, ws.scores), loose_scores = loose_scratch(p, ws.loose_scores);
    dot_panel(p, self_is_query ? q : k, self_is_query ? k : q, call.shape.dim, call.scale, scores, loose_scores);
    terms.add_bias(p, scores, loose_scores);
    for_each_strip([&](int64_t i, int64_t query, int64_t step) HWY_ATTR {
      hn::Store(exponential<T>(hn::Sub(hn::Load(d, scores + i), load_lse(lse, query, step))), d, scores + i);
    });
    fill_masked(p, scores, T(0));
    if (p.summaries > 0) summary_probabilities();
    for (int64_t t = 0; t < p.loose(); ++t) {
      const T row = lse[query_of(t)];
      loose_scores[t] -= row == -std::numeric_limits<T>::infinity() ? -row : row;
    }
    for (int64_t t = 0; t < p.loose(); t += lanes<T>()) {
      hn::Store(exponential<T>(hn::Load(d, loose_scores + t)), d, loose_scores + t);
    }
  }

  /// The same of a block's queries with the summaries; only they meet these.
  void summary_probabilities() {
    const Tag<T> d;
    T* at_summary = of_summaries(scores);
    dot_summaries(ws.panel, q, own_summaries(call, at, call.summaries.keys, call.shape.dim), call.shape.dim, call.scale,
                  at_summary);
    const auto row = load_block(lse);
    for (int64_t s = 0; s < ws.panel.summaries; ++s, at_summary += lanes<T>()) {
      const auto score = hn::Add(hn::Load(d, at_summary), hn::Set(d, call.summaries.log_sizes[s]));
      hn::Store(exponential<T>(hn::Sub(score, row)), d, at_summary);
    }
  }

  /// Values of summaries stand behind those of strips.
  T* of_summaries(T* values) const { return values + ws.panel.strips.size() * hn::Lanes(Tag<T>()); }

  /// A value for each of the block's queries.
  HWY_INLINE Vec<T> load_block(const T* values) const {
    const Panel& p = ws.panel;
    return p.rows == lanes<T>() ? hn::LoadU(Tag<T>(), values + p.self) : load_first(values + p.self, p.rows);
  }

  /// ds = p (keep · dout·v - D) into products, from the probabilities.
  void score_gradients() {
    const Tag<T> d;
    const Panel& p = ws.panel;
    products = strip_scratch(p, ws.products), loose_products = loose_scratch(p, ws.loose_products);
    dot_panel(p, self_is_query ? grad_out : v, self_is_query ? v : grad_out, call.shape.value_dim, T(1), products,
              loose_products);
    if (p.summaries > 0)
      dot_summaries(p, grad_out, own_summaries(call, at, call.summaries.values, call.shape.value_dim),
                    call.shape.value_dim, T(1), of_summaries(products));
    terms.drop(p, products, loose_products);
    if (own_delta != nullptr && p.self_step == 1) sum_delta();
    for_each_strip([&](int64_t i, int64_t query, int64_t step) HWY_ATTR {
      const auto difference = hn::Sub(hn::Load(d, products + i), load_queries(delta, query, step));
      hn::Store(hn::Mul(hn::Load(d, scores + i), difference), d, products + i);
    });
    for (int64_t t = 0; t < p.loose(); ++t) {
      loose_products[t] = loose_scores[t] * (loose_products[t] - delta[query_of(t)]);
    }
    if (p.summaries > 0) summary_score_gradients();
  }

  void summary_score_gradients() {
    const Tag<T> d;
    const auto row = load_block(delta);
    const T* probability = of_summaries(scores);
    T* product = of_summaries(products);
    for (int64_t s = 0; s < ws.panel.summaries; ++s, probability += lanes<T>(), product += lanes<T>())
      hn::Store(hn::Mul(hn::Load(d, probability), hn::Sub(hn::Load(d, product), row)), d, product);
  }

  /// D = Σ p keep · dout·v of the block's queries, which spares reading out.
  void sum_delta() {
    const Tag<T> d;
    const Panel& p = ws.panel;
    auto sum = hn::Zero(d);
    for (size_t s = 0; s < p.vectors(); ++s)
      sum = hn::MulAdd(hn::Load(d, scores + s * hn::Lanes(d)), hn::Load(d, products + s * hn::Lanes(d)), sum);
    T* into = own_delta + p.self;
    if (p.rows == lanes<T>()) {
      hn::StoreU(sum, d, into);
    } else {
      store_first(sum, into, p.rows);
    }
    for (int64_t t = 0; t < p.loose(); ++t) into[p.lane[static_cast<size_t>(t)]] += loose_scores[t] * loose_products[t];
  }

  void multiply(T* values, T* loose, T factor) {
    const Tag<T> d;
    for (size_t s = 0; s < ws.panel.vectors(); ++s) {
      T* vector = values + s * hn::Lanes(d);
      hn::Store(hn::Mul(hn::Load(d, vector), hn::Set(d, factor)), d, vector);
    }
    for (int64_t t = 0; t < ws.panel.loose(); ++t) loose[t] *= factor;
  }

  /// Probabilities as dv sees them: after dropout, and less what an excluded pair weighs, because the sum over all
  /// queries of that is added to every key.
  void value_weights() {
    const Tag<T> d;
    terms.drop(ws.panel, scores, loose_scores);
    if (rest == nullptr) return;
    for_each_strip([&](int64_t i, int64_t query, int64_t step) HWY_ATTR {
      hn::Store(hn::Sub(hn::Load(d, scores + i), load_queries(rest, query, step)), d, scores + i);
    });
    fill_masked(ws.panel, scores, T(0));
    for (int64_t t = 0; t < ws.panel.loose(); ++t) loose_scores[t] -= rest[query_of(t)];
  }

  /// Weights of the sums: products of those that make dq or dk, scores of those that make dv.
  void compute() {
    if (!self_is_query && kept_scores != nullptr) return recall();
    probabilities();
    ws.panel.next.clear();
    score_gradients();
    terms.add_bias_gradient(ws.panel, products, loose_products);
    multiply(products, loose_products, call.scale);
    if (kept_scores != nullptr) {
      keep();
    } else if (!self_is_query) {
      value_weights();
    }
  }
};

/// delta of queries [begin, end) of a tile: the rows' own dot products.
template <class T>
void row_dots(Rows<const T> a, Rows<const T> b, int64_t begin, int64_t end, int64_t channels, T* out) {
  for (int64_t j = begin; j < end; j += lanes<T>()) {
    const auto row = [&](int i) HWY_ATTR {
      const int64_t t = HWY_MIN(j + i, end - 1);
      return products<0, T>(a.row(t), b.row(t), channels);
    };
    const auto sums = sum_rows<T>(row);
    if (j + lanes<T>() <= end) {
      hn::StoreU(sums, Tag<T>(), out + j);
    } else {
      store_first(sums, out + j, end - j);
    }
  }
}

/// What an excluded pair of these queries weighs, e^(0 - lse); 0 for rows that exclude nothing.
template <class T>
void store_rest(const SupportCall<T>& call, const Panel& p, const T* lse, T* rest) {
  for (int64_t i = 0; i < p.rows; ++i) {
    rest[p.self + i] = p.tokens_of(i) < call.shape.key_tokens ? std::exp(-lse[p.self + i]) : T(0);
  }
}

/// dq, and the delta that dk and dv need later.
template <class T>
struct QueryGradients : BackwardTile<T> {
  static constexpr bool kSelfIsQuery = true;
  using BackwardTile<T>::call, BackwardTile<T>::at, BackwardTile<T>::ws;
  using BackwardTile<T>::products, BackwardTile<T>::loose_products;
  Rows<const T> out;
  Rows<T> dq;
  int64_t first;                 ///< of this head's queries in delta and rest
  bool owns_class_keys = false;  ///< whether this tile's chunk has the class tokens as keys

  QueryGradients(const SupportCall<T>& c, TileIndex tile, Workspace<T>& w)
      : BackwardTile<T>(c, tile, w, true),
        out(head_rows(c.saved_out, tile)),
        dq(head_rows(c.gradients.dq, tile)),
        first(c.head_index(tile.b, tile.h) * c.shape.query_tokens) {
    // With masking zero out holds more than the pairs of the support.
    if (c.rest == nullptr) this->own_delta = c.delta + first;
  }

  void begin_tile(int64_t begin, int64_t end) {
    if (call.summaries.count > 0) {
      const int64_t channels = call.shape.dim + call.shape.value_dim;
      clear_rows(Rows<T>{summary_partial(call, at), channels}, call.summaries.count, channels);
    }
    if (this->own_delta != nullptr) return;
    row_dots(this->grad_out, out, begin, end, call.shape.value_dim, call.delta + first);
  }

  void fetch_next(int64_t query) {
    const AttentionShape& s = call.shape;
    ws.panel.next.add(call.inputs.q, s, at, query, lanes<T>(), s.query_tokens, s.dim);
    ws.panel.next.add(call.gradients.dq, s, at, query, lanes<T>(), s.query_tokens, s.dim);
  }

  void read(Rows<const T> keys, Rows<const T> values) { this->k = keys, this->v = values; }

  void block() {
    const int64_t j = ws.panel.self;
    if (call.rest != nullptr) store_rest(call, ws.panel, this->lse, call.rest + first);
    this->compute();
    const Rows<T> gradients{dq.row(j), dq.stride};
    sum_panel(ws.panel, products, loose_products, this->k, call.shape.dim, gradients);
    if (ws.panel.summaries > 0) add_summaries(gradients);
  }

  /// Their part of dq, and what these queries give to the gradients of the summaries.
  void add_summaries(Rows<T> gradients) {
    const AttentionShape& s = call.shape;
    const int64_t j = ws.panel.self, row = s.dim + s.value_dim;
    const T* weights = this->of_summaries(products);
    sum_summaries(ws.panel, weights, own_summaries(call, at, call.summaries.keys, s.dim), s.dim, gradients);
    // A call that keeps pairs has dropped from the scores already.
    T* values = this->of_summaries(this->scores);
    if (this->kept_scores == nullptr) this->terms.drop_summaries(ws.panel, values);
    T* into = summary_partial(call, at);
    gather_summaries<T>(ws.panel, weights, {this->q.row(j), this->q.stride}, s.dim, {into, row});
    gather_summaries<T>(ws.panel, values, {this->grad_out.row(j), this->grad_out.stride}, s.value_dim,
                        {into + s.dim, row});
  }

  void clear(int64_t begin, int64_t end) { clear_rows(Rows<T>{dq.row(begin), dq.stride}, end - begin, call.shape.dim); }

  /// Every chunk computes the class tokens' delta for itself, because none may wait for another.
  void begin_classes(int64_t chunk, int64_t classes) {
    T* into = chunk == 0 ? call.delta + first : ws.class_delta.ensure(static_cast<size_t>(classes));
    row_dots(this->grad_out, out, 0, classes, call.shape.value_dim, into);
    this->delta = into;
    for (int64_t c = 0; chunk == 0 && call.rest != nullptr && c < classes; ++c) call.rest[first + c] = 0;
    owns_class_keys = chunk == 0;
  }

  /// A pair of class tokens is looked up as the key's, and was kept as the query's.
  void keep_class_pairs(int64_t query) {
    const int64_t tokens = call.shape.query_tokens, cls = call.support->cls();
    for (int64_t key = 0; key < HWY_MIN(cls, call.key_end(at.b)); ++key) {
      this->kept_scores[key * tokens + query] = this->kept_scores[(cls + query) * tokens + key];
      this->kept_products[key * tokens + query] = this->kept_products[(cls + query) * tokens + key];
    }
  }

  void class_token(T* into) {
    this->compute();
    if (owns_class_keys && this->kept_scores != nullptr) keep_class_pairs(ws.panel.self);
    sum_class_rows(ws, this->k, call.shape.dim, products, loose_products, into);
  }
};

/// dk and dv.
template <class T>
struct KeyGradients : BackwardTile<T> {
  static constexpr bool kSelfIsQuery = false;
  using BackwardTile<T>::call, BackwardTile<T>::at, BackwardTile<T>::ws;
  using BackwardTile<T>::products, BackwardTile<T>::loose_products;
  using BackwardTile<T>::scores, BackwardTile<T>::loose_scores;
  Rows<T> dk, dv;

  KeyGradients(const SupportCall<T>& c, TileIndex tile, Workspace<T>& w)
      : BackwardTile<T>(c, tile, w, false), dk(head_rows(c.gradients.dk, tile)), dv(head_rows(c.gradients.dv, tile)) {}

  void begin_tile(int64_t, int64_t) {}

  void fetch_next(int64_t key) {
    const AttentionShape& s = call.shape;
    NextRows& next = ws.panel.next;
    next.add(call.inputs.k, s, at, key, lanes<T>(), s.key_tokens, s.dim);
    next.add(call.inputs.v, s, at, key, lanes<T>(), s.key_tokens, s.value_dim);
    next.add(call.gradients.dk, s, at, key, lanes<T>(), s.key_tokens, s.dim);
    next.add(call.gradients.dv, s, at, key, lanes<T>(), s.key_tokens, s.value_dim);
  }

  void read(Rows<const T> queries, Rows<const T> gradients) { this->q = queries, this->grad_out = gradients; }

  void block() {
    const int64_t t = ws.panel.self;
    this->compute();
    const Rows<T> values{dv.row(t), dv.stride};
    sum_panel(ws.panel, products, loose_products, this->q, call.shape.dim, Rows<T>{dk.row(t), dk.stride});
    sum_panel(ws.panel, scores, loose_scores, this->grad_out, call.shape.value_dim, values);
    if (call.rest != nullptr) add_column_sum(values);
    if (call.summaries.count > 0) add_summary_gradients();
  }

  /// A key has its share of what its tile's summary receives.
  void add_summary_gradients() {
    const int64_t d = call.shape.dim, e = call.shape.value_dim, t = ws.panel.self;
    const int32_t* tile = call.summaries.tiles + t - call.support->cls();
    const T* sums = summary_partial(call, {at.b, at.h, 0});
    for (int64_t i = 0; i < ws.panel.rows; ++i) {
      const T* sum = sums + tile[i] * (d + e);
      for (int64_t c = 0; c < d; ++c) dk.row(t + i)[c] += sum[c];
      for (int64_t c = 0; c < e; ++c) dv.row(t + i)[c] += sum[d + c];
    }
  }

  /// What every key receives from the queries that exclude it (masking zero).
  void add_column_sum(Rows<T> values) {
    const double* sum = call.column_sum + call.head_index(at.b, at.h) * call.shape.value_dim;
    for (int64_t i = 0; i < ws.panel.rows; ++i) {
      for (int64_t c = 0; c < call.shape.value_dim; ++c) values.row(i)[c] += static_cast<T>(sum[c]);
    }
  }

  void clear(int64_t begin, int64_t end) {
    clear_rows(Rows<T>{dk.row(begin), dk.stride}, end - begin, call.shape.dim);
    clear_rows(Rows<T>{dv.row(begin), dv.stride}, end - begin, call.shape.value_dim);
  }

  void begin_classes(int64_t, int64_t) {}

  void class_token(T* into) {
    this->compute();
    sum_class_rows(ws, this->q, call.shape.dim, products, loose_products, into);
    sum_class_rows(ws, this->grad_out, call.shape.value_dim, scores, loose_scores, into + call.shape.dim);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace fib::kernels
HWY_AFTER_NAMESPACE();
#endif
