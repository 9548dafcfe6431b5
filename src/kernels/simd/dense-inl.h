// SPDX-License-Identifier: Apache-2.0
// Dense attention, tile by tile, so that scores never leave the caches. Included once per target.
//
// Lanes are queries. A *panel* is two vectors of queries, and its scores with a block of keys are a *strip* [keys, W],
// W = 2 · lanes. Softmax is then the same work in every lane, keys and values are read as they lie, and only the
// queries' side is transposed. All products are one kernel, six rows times two vectors:
//   scores      strip [j, W]  = Σ_c k [j, c] · queries [c, W]
//   output      out [c, W]   += Σ_j v [j, c] · strip [j, W]            (dq alike, with k)
//   gradients   dk [j, c]    += Σ_i strip [j, i] · q [i, c]            (dv alike, with grad_out)
#if defined(FIB_KERNELS_DENSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FIB_KERNELS_DENSE_INL_H_
#undef FIB_KERNELS_DENSE_INL_H_
#else
#define FIB_KERNELS_DENSE_INL_H_
#endif

#include <limits>

#include "kernels/dense.h"
#include "kernels/simd/tile_common-inl.h"

HWY_BEFORE_NAMESPACE();
namespace fib::kernels {
namespace HWY_NAMESPACE {

template <class T>
inline constexpr int64_t kPanelWidth = 2 * static_cast<int64_t>(hn::MaxLanes(Tag<T>()));

/// Row m of c gets Σ_k a [m · a_row + k · a_step] · b [k · b_row …], two vectors wide or one.
template <class T>
struct Product {
  const T* a;
  int64_t a_row, a_step;
  const T* b;
  int64_t b_row, depth;
  T* c;
  int64_t c_row;
};

enum class Into {
  replace,
  add,
  add_to_scaled  ///< what is there is first multiplied, lane by lane
};

/// Twelve sums, two vectors of b and one of a fill the 16 registers of AVX2, and eight loads feed twelve multiply-adds.
#define FIB_EACH_SUM(X) X(0, 0) X(0, 1) X(1, 0) X(1, 1) X(2, 0) X(2, 1) X(3, 0) X(3, 1) X(4, 0) X(4, 1) X(5, 0) X(5, 1)
inline constexpr int64_t kProductRows = 6;

template <int kRows, int kVectors, Into kInto, class T>
void multiply_rows(const Product<T>& p, const T* HWY_RESTRICT factor) {
  const Tag<T> d;
  const int64_t n = lanes<T>();
#define FIB_BEGIN(r, v)                                                                                      \
  auto sum##r##v = hn::Zero(d);                                                                              \
  if constexpr (kInto != Into::replace && r < kRows && v < kVectors) {                                       \
    sum##r##v = hn::LoadU(d, p.c + r * p.c_row + v * n);                                                     \
    if constexpr (kInto == Into::add_to_scaled) sum##r##v = hn::Mul(sum##r##v, hn::Load(d, factor + v * n)); \
  }
  FIB_EACH_SUM(FIB_BEGIN)
#undef FIB_BEGIN
  const T* HWY_RESTRICT a = p.a;
  const T* HWY_RESTRICT b = p.b;
  const int64_t a_row = p.a_row, a_step = p.a_step, b_row = p.b_row;
  for (int64_t k = p.depth; k > 0; --k) {
    const auto b0 = hn::LoadU(d, b);
    const auto b1 = kVectors > 1 ? hn::LoadU(d, b + n) : b0;
#define FIB_ADD(r, v) \
  if constexpr (r < kRows && v < kVectors) sum##r##v = hn::MulAdd(hn::Set(d, a[r * a_row]), b##v, sum##r##v);
    FIB_EACH_SUM(FIB_ADD)
#undef FIB_ADD
    a += a_step;
    b += b_row;
  }
#define FIB_STORE(r, v) \
  if constexpr (r < kRows && v < kVectors) hn::StoreU(sum##r##v, d, p.c + r * p.c_row + v * n);
  FIB_EACH_SUM(FIB_STORE)
#undef FIB_STORE
}
#undef FIB_EACH_SUM

/// All rows, in groups as equal as can be: a group of one or two would wait for its own sums.
template <int kVectors, Into kInto, class T>
void multiply(Product<T> p, int64_t rows, const T* factor = nullptr) {
  using Function = void (*)(const Product<T>&, const T*);
  static constexpr Function kOfRows[] = {multiply_rows<1, kVectors, kInto, T>, multiply_rows<2, kVectors, kInto, T>,
                                         multiply_rows<3, kVectors, kInto, T>, multiply_rows<4, kVectors, kInto, T>,
                                         multiply_rows<5, kVectors, kInto, T>, multiply_rows<6, kVectors, kInto, T>};
  for (int64_t groups = (rows + kProductRows - 1) / kProductRows; groups > 0; --groups) {
    const int64_t now = (rows + groups - 1) / groups;
    kOfRows[now - 1](p, factor);
    p.a += now * p.a_row;
    p.c += now * p.c_row;
    rows -= now;
  }
}

#if HWY_TARGET != HWY_SCALAR
/// A square of 16 bytes by 16 bytes.
template <class T>
HWY_INLINE void transpose_square(const T* from, int64_t from_stride, T factor, T* into, int64_t into_stride) {
  const hn::FixedTag<T, 16 / sizeof(T)> d;
  const auto f = hn::Set(d, factor);
  const auto load = [&](int64_t i) HWY_ATTR { return hn::Mul(hn::LoadU(d, from + i * from_stride), f); };
  const auto store = [&](int64_t i, auto v) HWY_ATTR { hn::StoreU(v, d, into + i * into_stride); };
  const auto a = load(0), b = load(1);
  if constexpr (sizeof(T) == 8) {
    store(0, hn::InterleaveLower(d, a, b));
    store(1, hn::InterleaveUpper(d, a, b));
  } else {
    const auto c = load(2), e = load(3);
    const auto ab = hn::InterleaveLower(d, a, b), ce = hn::InterleaveLower(d, c, e);
    store(0, hn::ConcatLowerLower(d, ce, ab));
    store(1, hn::ConcatUpperUpper(d, ce, ab));
    const auto ab_high = hn::InterleaveUpper(d, a, b), ce_high = hn::InterleaveUpper(d, c, e);
    store(2, hn::ConcatLowerLower(d, ce_high, ab_high));
    store(3, hn::ConcatUpperUpper(d, ce_high, ab_high));
  }
}
#endif

/// into [columns, rows] = factor · from [rows, columns], transposed.
template <class T>
void transpose(Rows<const T> from, int64_t rows, int64_t columns, T factor, Rows<T> into) {
  int64_t full_rows = 0, full_columns = 0;
#if HWY_TARGET != HWY_SCALAR
  constexpr int64_t kSide = 16 / sizeof(T);
  full_rows = rows / kSide * kSide, full_columns = columns / kSide * kSide;
  for (int64_t i = 0; i < full_rows; i += kSide) {
    for (int64_t c = 0; c < full_columns; c += kSide) {
      transpose_square(from.row(i) + c, from.stride, factor, into.row(c) + i, into.stride);
    }
  }
#endif
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t c = i < full_rows ? full_columns : 0; c < columns; ++c) into.row(c)[i] = factor * from.row(i)[c];
  }
}

/// The rows of up to W tokens as a panel [channels, W], zeros in lanes without a token.
template <class T>
void pack_panel(Rows<const T> from, int64_t count, int64_t channels, T factor, T* into) {
  constexpr int64_t W = kPanelWidth<T>;
  transpose<T>(from, count, channels, factor, {into, W});
  for (int64_t c = 0; count < W && c < channels; ++c) std::fill(into + c * W + count, into + (c + 1) * W, T(0));
}

/// Rows of a block of tokens, copied together where they lie far apart: in a packed qkv they would use a quarter of
/// the first-level cache.
template <class T>
Rows<const T> near_rows(Rows<const T> from, int64_t begin, int64_t count, int64_t channels, Buffer<T>& copy) {
  const Rows<const T> rows{from.row(begin), from.stride};
  if (!far_apart(from.stride, channels)) return rows;
  T* into = copy.ensure(static_cast<size_t>(count * channels));
  for (int64_t i = 0; i < count; ++i) std::copy_n(rows.row(i), channels, into + i * channels);
  return {into, channels};
}

/// Rows [count, padded] with zeros behind the channels, for the vectors of the gradients of keys.
template <class T>
void pad_rows(Rows<const T> from, int64_t count, int64_t channels, int64_t padded, T* into) {
  for (int64_t i = 0; i < count; ++i) {
    std::copy_n(from.row(i), channels, into + i * padded);
    std::fill(into + i * padded + channels, into + (i + 1) * padded, T(0));
  }
}

template <class T>
T row_dot(const T* a, const T* b, int64_t channels) {
  const Tag<T> d;
  return hn::GetLane(hn::SumOfLanes(d, products<0, T>(a, b, channels)));
}

/// The queries [first, first + count) of a panel and the keys [begin, end) of a block.
struct StripRange {
  int64_t first, count, begin, end;
};

/// Bias, causal mask and dropout of strips of one (sample, head).
template <class T>
struct StripTerms {
  PairTerms<T> pair;
  bool causal;
  int64_t row;  ///< from one key of a strip to the next

  void mask(const StripRange& r, T* strip) const {
    for (int64_t j = HWY_MAX(r.begin, r.first + 1); causal && j < r.end; ++j) {
      std::fill_n(strip + (j - r.begin) * row, HWY_MIN(kPanelWidth<T>, j - r.first),
                  -std::numeric_limits<T>::infinity());
    }
  }

  void add_bias(const StripRange& r, T* strip) const {
    for (int64_t i = 0; pair.bias != nullptr && i < r.count; ++i) {
      const T* from = pair.bias + (r.first + i) * pair.bias_query + r.begin * pair.bias_key;
      for (int64_t j = 0; j < r.end - r.begin; ++j) strip[j * row + i] += from[j * pair.bias_key];
    }
  }

  void add_bias_gradient(const StripRange& r, const T* strip) const {
    for (int64_t i = 0; pair.dbias != nullptr && i < r.count; ++i) {
      T* to = pair.dbias + (r.first + i) * pair.dbias_query + r.begin * pair.dbias_key;
      for (int64_t j = 0; j < r.end - r.begin; ++j) to[j * pair.dbias_key] += strip[j * row + i];
    }
  }

  /// Zero for dropped pairs, 1 / (1 - probability) times the value for the others.
  void drop(const StripRange& r, T* strip) const {
    for (int64_t j = r.begin; pair.drops && j < r.end; ++j, strip += row) {
      for (int64_t i = 0; i < kPanelWidth<T>; ++i) {
        strip[i] = pair.stream.bits(r.first + i, j) < pair.threshold ? T(0) : strip[i] * pair.kept;
      }
    }
  }
};

/// What a panel's softmax knows so far; W values each.
template <class T>
struct RunningSoftmax {
  T* top;     ///< largest score, -inf where there is none
  T* sum;     ///< of e^(score - top)
  T* factor;  ///< by which the last block changed what was summed before it

  explicit RunningSoftmax(T* memory) : top(memory), sum(memory + kPanelWidth<T>), factor(memory + 2 * kPanelWidth<T>) {}

  void begin() const {
    std::fill_n(top, kPanelWidth<T>, -std::numeric_limits<T>::infinity());
    std::fill_n(sum, kPanelWidth<T>, T(0));
  }

  /// strip := e^(score - top) in place.
  void add(T* HWY_RESTRICT strip, int64_t keys) const {
    const Tag<T> d;
    const int64_t n = lanes<T>();
    constexpr int64_t W = kPanelWidth<T>;
    const auto lowest = hn::Set(d, -std::numeric_limits<T>::infinity());
    const auto before0 = hn::Load(d, top), before1 = hn::Load(d, top + n);
    auto top0 = before0, top1 = before1;
    for (int64_t j = 0; j < keys; ++j) {
      top0 = hn::Max(top0, hn::Load(d, strip + j * W));
      top1 = hn::Max(top1, hn::Load(d, strip + j * W + n));
    }
    hn::Store(top0, d, top);
    hn::Store(top1, d, top + n);
    top0 = hn::IfThenZeroElse(hn::Eq(top0, lowest), top0);
    top1 = hn::IfThenZeroElse(hn::Eq(top1, lowest), top1);
    const auto factor0 = exponential<T>(hn::Sub(before0, top0)), factor1 = exponential<T>(hn::Sub(before1, top1));
    auto sum0 = hn::Mul(hn::Load(d, sum), factor0), sum1 = hn::Mul(hn::Load(d, sum + n), factor1);
    for (int64_t j = 0; j < keys; ++j) {
      const auto e0 = exponential<T>(hn::Sub(hn::Load(d, strip + j * W), top0));
      const auto e1 = exponential<T>(hn::Sub(hn::Load(d, strip + j * W + n), top1));
      hn::Store(e0, d, strip + j * W);
      hn::Store(e1, d, strip + j * W + n);
      sum0 = hn::Add(sum0, e0);
      sum1 = hn::Add(sum1, e1);
    }
    hn::Store(factor0, d, factor);
    hn::Store(factor1, d, factor + n);
    hn::Store(sum0, d, sum);
    hn::Store(sum1, d, sum + n);
  }
};

/// out rows of queries [0, count) of a panel = sums [channels, W] / sum, and their log-sum-exp.
template <class T>
void finish_panel(const RunningSoftmax<T>& rows, T* sums, int64_t channels, int64_t count, Rows<T> out, T* lse) {
  const Tag<T> d;
  const int64_t n = lanes<T>();
  constexpr int64_t W = kPanelWidth<T>;
  for (int64_t v = 0; v < W; v += n) {
    const auto sum = hn::Load(d, rows.sum + v);
    const auto inverse = hn::IfThenZeroElse(hn::Eq(sum, hn::Zero(d)), hn::Div(hn::Set(d, T(1)), sum));
    for (int64_t c = 0; c < channels; ++c) {
      hn::Store(hn::Mul(hn::Load(d, sums + c * W + v), inverse), d, sums + c * W + v);
    }
    hn::Store(log_sum<T>(hn::Load(d, rows.top + v), sum), d, rows.factor + v);
  }
  transpose<T>({sums, W}, channels, count, T(1), out);
  if (lse != nullptr) std::copy_n(rows.factor, count, lse);
}

/// One head as a task sees it.
template <class T>
struct DenseHead {
  static constexpr int64_t W = kPanelWidth<T>;
  const DenseCall<T>& call;
  int64_t b, h;
  DenseWorkspace<T>& ws;
  Rows<const T> q, k, v;
  int64_t query_end, key_end;

  DenseHead(const DenseCall<T>& c, int64_t sample, int64_t head, DenseWorkspace<T>& w)
      : call(c),
        b(sample),
        h(head),
        ws(w),
        q(rows(c.inputs.q)),
        k(rows(c.inputs.k)),
        v(rows(c.inputs.v)),
        query_end(c.query_end(sample)),
        key_end(c.key_end(sample)) {}

  template <class View>
  auto rows(const View& view) const {
    return head_rows(view, TileIndex{b, h, 0});
  }
  StripTerms<T> terms(int64_t row) const { return {PairTerms<T>(call, TileIndex{b, h, 0}, true), call.causal, row}; }
  int64_t first_query() const { return call.head_index(b, h) * call.shape.query_tokens; }
  /// Keys that any of the queries before `end` sees.
  int64_t keys_before(int64_t end) const { return call.causal ? HWY_MIN(key_end, end) : key_end; }

  /// strip [keys, row] = rows of `other` · panel; one product for scores and for grad_out · v.
  void dot(Rows<const T> other, const T* panel, int64_t channels, const StripRange& r, T* strip, int64_t row) const {
    multiply<2, Into::replace, T>({other.data, other.stride, 1, panel, W, channels, strip, row}, r.end - r.begin);
  }
};

template <class T>
struct DenseForward : DenseHead<T> {
  using DenseHead<T>::call, DenseHead<T>::ws, DenseHead<T>::W;
  StripTerms<T> terms = DenseHead<T>::terms(W);
  T *queries = nullptr, *sums = nullptr, *softmax = nullptr;  ///< per panel [d,W], [e,W], [3,W]
  int64_t begin, end, panels;                                 ///< queries of this tile

  DenseForward(const DenseCall<T>& c, DenseTile at, DenseWorkspace<T>& w)
      : DenseHead<T>(c, at.b, at.h, w),
        begin(at.tile * kDensePanels * W),
        end(HWY_MIN(begin + kDensePanels * W, this->query_end)),
        panels(HWY_MAX(int64_t{0}, end - begin + W - 1) / W) {}

  void prepare() {
    const AttentionShape& s = call.shape;
    queries = ws.queries.ensure(static_cast<size_t>(kDensePanels * s.dim * W));
    sums = ws.sums.ensure(static_cast<size_t>(kDensePanels * s.value_dim * W));
    softmax = ws.lane_values.ensure(static_cast<size_t>(3 * kDensePanels * W));
    std::fill_n(sums, panels * s.value_dim * W, T(0));
    for (int64_t p = 0; p < panels; ++p) {
      const int64_t first = begin + p * W;
      pack_panel<T>({this->q.row(first), this->q.stride}, HWY_MIN(W, end - first), s.dim, call.scale,
                    queries + p * s.dim * W);
      RunningSoftmax<T>(softmax + 3 * p * W).begin();
    }
  }

  /// A panel with a block of keys.
  void add(int64_t p, const StripRange& r, Rows<const T> keys, Rows<const T> values) {
    const AttentionShape& s = call.shape;
    const RunningSoftmax<T> rows(softmax + 3 * p * W);
    T* strip = ws.scores.ensure(static_cast<size_t>(kDenseKeys * W));
    this->dot(keys, queries + p * s.dim * W, s.dim, r, strip, W);
    terms.add_bias(r, strip);
    terms.mask(r, strip);
    rows.add(strip, r.end - r.begin);
    terms.drop(r, strip);
    multiply<2, Into::add_to_scaled, T>(
        {values.data, 1, values.stride, strip, W, r.end - r.begin, sums + p * s.value_dim * W, W}, s.value_dim,
        rows.factor);
  }

  void attend() {
    const AttentionShape& s = call.shape;
    const int64_t keys_end = this->keys_before(end);
    for (int64_t from = 0; from < keys_end; from += kDenseKeys) {
      const int64_t to = HWY_MIN(from + kDenseKeys, keys_end);
      const Rows<const T> keys = near_rows(this->k, from, to - from, s.dim, ws.keys);
      const Rows<const T> values = near_rows(this->v, from, to - from, s.value_dim, ws.values);
      for (int64_t p = 0; p < panels; ++p) {
        const int64_t first = begin + p * W, last = HWY_MIN(first + W, end);
        const StripRange r{first, last - first, from, HWY_MIN(to, this->keys_before(last))};
        if (r.begin < r.end) add(p, r, keys, values);
      }
    }
  }

  void finish() {
    const AttentionShape& s = call.shape;
    const Rows<T> out = this->rows(call.out);
    T* lse = call.lse == nullptr ? nullptr : call.lse + this->first_query();
    for (int64_t p = 0; p < panels; ++p) {
      const int64_t first = begin + p * W;
      finish_panel<T>(RunningSoftmax<T>(softmax + 3 * p * W), sums + p * s.value_dim * W, s.value_dim,
                      HWY_MIN(W, end - first), {out.row(first), out.stride}, lse == nullptr ? nullptr : lse + first);
    }
    const int64_t padding = HWY_MAX(begin, end), tile_end = HWY_MIN(begin + kDensePanels * W, s.query_tokens);
    if (padding >= tile_end) return;
    clear_rows(Rows<T>{out.row(padding), out.stride}, tile_end - padding, s.value_dim);
    for (int64_t j = padding; lse != nullptr && j < tile_end; ++j) lse[j] = -std::numeric_limits<T>::infinity();
  }
};

template <class T>
void dense_forward(const DenseCall<T>& call, DenseTile at, DenseWorkspace<T>& ws) {
  DenseForward<T> tile(call, at, ws);
  tile.prepare();
  tile.attend();
  tile.finish();
}

/// All gradients of one head: blocks of keys one after another, for each all queries. Those of the queries gather in
/// panels and are written at the end.
template <class T>
struct DenseBackward : DenseHead<T> {
  using DenseHead<T>::call, DenseHead<T>::ws, DenseHead<T>::W;
  static constexpr int64_t kGroup = kDenseGroup * W;  ///< queries whose strips lie side by side, [keys, kGroup]
  StripTerms<T> terms = DenseHead<T>::terms(kGroup);
  const AttentionShape& s;
  int64_t panels;
  int64_t d_padded, e_padded;     ///< channels in whole vectors
  T *queries, *gradients, *dq;    ///< per panel [d,W], [e,W], [d,W]
  T *query_rows, *gradient_rows;  ///< per query [d_padded], [e_padded]
  T *lse, *delta;                 ///< per query
  T *scores, *products;           ///< [keys, kGroup]: probabilities and gradients of the scores
  T *dk, *dv;                     ///< [keys, d_padded], [keys, e_padded]

  DenseBackward(const DenseCall<T>& c, int64_t sample, int64_t head, DenseWorkspace<T>& w)
      : DenseHead<T>(c, sample, head, w), s(c.shape), panels((this->query_end + W - 1) / W) {
    const int64_t n = lanes<T>(), padded = (panels + kDenseGroup) * W;
    d_padded = (s.dim + n - 1) / n * n, e_padded = (s.value_dim + n - 1) / n * n;
    const auto room = [](Buffer<T>& buffer, int64_t count) { return buffer.ensure(static_cast<size_t>(count)); };
    queries = room(ws.queries, padded * s.dim);
    gradients = room(ws.gradients, padded * s.value_dim);
    dq = room(ws.sums, padded * s.dim);
    query_rows = room(ws.query_rows, padded * d_padded);
    gradient_rows = room(ws.gradient_rows, padded * e_padded);
    lse = room(ws.lane_values, 2 * padded), delta = lse + padded;
    scores = room(ws.scores, kDenseKeys * kGroup);
    products = room(ws.products, kDenseKeys * kGroup);
    dk = room(ws.dk, kDenseKeys * d_padded);
    dv = room(ws.dv, kDenseKeys * e_padded);
  }

  int64_t in_panel(int64_t p) const { return HWY_MIN(W, this->query_end - p * W); }

  void prepare() {
    const Rows<const T> grad_out = this->rows(call.grad_out), out = this->rows(call.saved_out);
    for (int64_t p = 0; p < panels; ++p) {
      const int64_t first = p * W, count = in_panel(p);
      const Rows<const T> query{this->q.row(first), this->q.stride}, g{grad_out.row(first), grad_out.stride};
      pack_panel<T>(query, count, s.dim, call.scale, queries + first * s.dim);
      pack_panel<T>(g, count, s.value_dim, T(1), gradients + first * s.value_dim);
      pad_rows<T>(query, count, s.dim, d_padded, query_rows + first * d_padded);
      pad_rows<T>(g, count, s.value_dim, e_padded, gradient_rows + first * e_padded);
    }
    std::fill_n(dq, panels * W * s.dim, T(0));
    // Lanes without a query, and queries without keys, have probabilities 0.
    std::fill_n(lse, 2 * (panels + kDenseGroup) * W, std::numeric_limits<T>::infinity());
    std::fill_n(delta, panels * W, T(0));
    for (int64_t j = 0; j < this->query_end; ++j) {
      const T value = call.saved_lse[this->first_query() + j];
      if (value != -std::numeric_limits<T>::infinity()) lse[j] = value;
      delta[j] = row_dot(grad_out.row(j), out.row(j), s.value_dim);
    }
  }

  /// Probabilities e^(score - lse) of a strip.
  void probabilities(const StripRange& r, T* HWY_RESTRICT strip) const {
    const Tag<T> d;
    for (int64_t lane = 0; lane < W; lane += lanes<T>()) {
      const auto row = hn::Load(d, lse + r.first + lane);
      for (int64_t j = 0; j < r.end - r.begin; ++j) {
        T* at = strip + j * kGroup + lane;
        hn::Store(exponential<T>(hn::Sub(hn::Load(d, at), row)), d, at);
      }
    }
  }

  /// ds = p (keep · grad_out·v - delta), in place of grad_out·v.
  void score_gradients(const StripRange& r, const T* HWY_RESTRICT p, T* HWY_RESTRICT strip) const {
    const Tag<T> d;
    for (int64_t lane = 0; lane < W; lane += lanes<T>()) {
      const auto row = hn::Load(d, delta + r.first + lane);
      for (int64_t j = 0; j < r.end - r.begin; ++j) {
        T* at = strip + j * kGroup + lane;
        hn::Store(hn::Mul(hn::Load(d, p + j * kGroup + lane), hn::Sub(hn::Load(d, at), row)), d, at);
      }
    }
  }

  /// Strips of one panel, and what they add to its dq.
  void add_panel(const StripRange& r, Rows<const T> keys, Rows<const T> values, T* p, T* ds) {
    this->dot(keys, queries + r.first * s.dim, s.dim, r, p, kGroup);
    terms.add_bias(r, p);
    terms.mask(r, p);
    probabilities(r, p);
    this->dot(values, gradients + r.first * s.value_dim, s.value_dim, r, ds, kGroup);
    terms.drop(r, ds);
    score_gradients(r, p, ds);
    terms.add_bias_gradient(r, ds);
    terms.drop(r, p);
    multiply<2, Into::add, T>({keys.data, 1, keys.stride, ds, kGroup, r.end - r.begin, dq + r.first * s.dim, W}, s.dim);
  }

  /// into [keys, padded] += strips^T · rows of `count` queries.
  void add_keys(const T* strips, const T* rows, int64_t count, int64_t padded, int64_t keys, T* into) const {
    const int64_t n = lanes<T>();
    int64_t c = 0;
    for (; c + 2 * n <= padded; c += 2 * n) {
      multiply<2, Into::add, T>({strips, kGroup, 1, rows + c, padded, count, into + c, padded}, keys);
    }
    if (c < padded) multiply<1, Into::add, T>({strips, kGroup, 1, rows + c, padded, count, into + c, padded}, keys);
  }

  /// A block of keys with all queries that see it.
  void add_block(int64_t from, int64_t to) {
    const int64_t n = to - from;
    const Rows<const T> keys = near_rows(this->k, from, n, s.dim, ws.keys);
    const Rows<const T> values = near_rows(this->v, from, n, s.value_dim, ws.values);
    std::fill_n(dk, n * d_padded, T(0));
    std::fill_n(dv, n * e_padded, T(0));
    for (int64_t p = call.causal ? from / W : 0; p < panels; p += kDenseGroup) {
      const int64_t group = HWY_MIN(int64_t{kDenseGroup}, panels - p);
      for (int64_t i = 0; i < group; ++i) {
        const StripRange r{(p + i) * W, in_panel(p + i), from, to};
        add_panel(r, keys, values, scores + i * W, products + i * W);
      }
      const int64_t count = HWY_MIN(group * W, this->query_end - p * W);
      add_keys(products, query_rows + p * W * d_padded, count, d_padded, n, dk);
      add_keys(scores, gradient_rows + p * W * e_padded, count, e_padded, n, dv);
    }
    write_rows(dk, d_padded, s.dim, call.scale, n, from, this->rows(call.gradients.dk));
    write_rows(dv, e_padded, s.value_dim, T(1), n, from, this->rows(call.gradients.dv));
  }

  static void write_rows(const T* block, int64_t padded, int64_t channels, T factor, int64_t count, int64_t first,
                         Rows<T> into) {
    for (int64_t j = 0; j < count; ++j) {
      for (int64_t c = 0; c < channels; ++c) into.row(first + j)[c] = factor * block[j * padded + c];
    }
  }

  void finish() {
    const Rows<T> into = this->rows(call.gradients.dq), keys = this->rows(call.gradients.dk),
                  values = this->rows(call.gradients.dv);
    for (int64_t p = 0; p < panels; ++p) {
      transpose<T>({dq + p * W * s.dim, W}, s.dim, in_panel(p), call.scale, {into.row(p * W), into.stride});
    }
    const int64_t queries_left = s.query_tokens - this->query_end, keys_left = s.key_tokens - this->key_end;
    clear_rows(Rows<T>{into.row(this->query_end), into.stride}, queries_left, s.dim);
    clear_rows(Rows<T>{keys.row(this->key_end), keys.stride}, keys_left, s.dim);
    clear_rows(Rows<T>{values.row(this->key_end), values.stride}, keys_left, s.value_dim);
  }
};

template <class T>
void dense_backward(const DenseCall<T>& call, DenseTile at, DenseWorkspace<T>& ws) {
  DenseBackward<T> head(call, at.b, at.h, ws);
  head.prepare();
  for (int64_t from = 0; from < head.key_end; from += kDenseKeys) {
    head.add_block(from, HWY_MIN(from + kDenseKeys, head.key_end));
  }
  head.finish();
}

}  // namespace HWY_NAMESPACE
}  // namespace fib::kernels
HWY_AFTER_NAMESPACE();
#endif
