// SPDX-License-Identifier: Apache-2.0
// Attention in ONNX's standard operators.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

#include "attention/registry.h"
#include "base/checked.h"
#include "engine/operators/attention.h"

namespace fib::engine {
namespace {

using Name = OnnxName;

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

/// Queries from `first` on, each with as many keys as the one that has most.
struct KeyTable {
  int64_t first = 0, rows = 0, width = 0;
  std::vector<int32_t> keys = {};     ///< [H,rows,width], counted over all heads; -1 where a query has fewer
  std::vector<float> not_blind = {};  ///< [H,rows], 0 for a query without keys; empty where all have one
};

bool padded(const KeyTable& t) {
  return std::any_of(t.keys.begin(), t.keys.end(), [](int32_t k) { return k < 0; });
}

KeyTable key_table(const SupportSet& support, int64_t first, int64_t rows) {
  KeyTable table{first, rows};
  const int64_t heads = support.num_heads(), keys = support.key_tokens();
  std::vector<std::vector<int64_t>> lists;
  lists.reserve(static_cast<size_t>(heads * rows));
  for (int64_t h = 0; h < heads; ++h) {
    for (int64_t row = first; row < first + rows; ++row) lists.push_back(support.keys_of_row(h, row));
  }
  const auto shorter = [](const auto& a, const auto& b) { return a.size() < b.size(); };
  table.width =
      std::max<int64_t>(1, static_cast<int64_t>(std::max_element(lists.begin(), lists.end(), shorter)->size()));
  table.keys.assign(lists.size() * static_cast<size_t>(table.width), -1);
  const bool with_summaries = support.summaries() && first >= support.cls();
  const bool blind =
      !with_summaries && std::any_of(lists.begin(), lists.end(), [](const auto& list) { return list.empty(); });
  if (blind) table.not_blind.assign(lists.size(), 1.0F);
  for (size_t i = 0; i < lists.size(); ++i) {
    const int64_t offset = static_cast<int64_t>(i) / rows * keys;
    int32_t* out = table.keys.data() + i * static_cast<size_t>(table.width);
    for (const int64_t key : lists[i]) *out++ = static_cast<int32_t>(offset + key);
    if (!lists[i].empty() || with_summaries) continue;
    *out = static_cast<int32_t>(offset);  // a softmax needs one; its result is dropped
    table.not_blind[i] = 0.0F;
  }
  return table;
}

/// Class tokens see everything, and would make the table of the others wide.
std::vector<KeyTable> key_tables(const SupportSet& support, int64_t cls) {
  std::vector<KeyTable> tables;
  if (cls > 0) tables.push_back(key_table(support, 0, cls));
  if (support.query_tokens() > cls) tables.push_back(key_table(support, cls, support.query_tokens() - cls));
  return tables;
}

/// What the mechanism of a node is given.
struct AttentionInputs {
  Name q, k, v;                              ///< [n,H,Tq,d], [n,H,Tk,d], [n,H,Tk,e]
  std::optional<Name> bias = {};             ///< [G, H or 1, Tq, Tk]
  Shape bias_shape = {};                     ///< of it
  std::span<const float> bias_numbers = {};  ///< empty where it is computed
};

class AttentionWriter {
 public:
  AttentionWriter(OnnxNode& node, const Attention& a, const AttentionInputs& in)
      : b_(node), g_(a.geometry), spec_(AttentionSpec::parse(a.attention)), in_(in) {
    q_ = b_.node("Mul", {in.q, b_.scalar(static_cast<float>(g_.score_scale()))});
  }

  Name write(AttentionForm form) {
    const attention::MechanismInfo& mechanism = attention::find_mechanism(spec_.name);
    if (mechanism.dense) return b_.node("MatMul", {softmax(scores()), in_.v});
    if (!mechanism.support_set) return largest();
    const SupportSet support = attention::layer_support(spec_, g_);
    zero_ = attention::masking_of(spec_) == Masking::zero;
    if (support.summaries()) write_summaries(support);
    const bool computed_bias = in_.bias && in_.bias_numbers.empty();
    if (form == AttentionForm::mask || (form == AttentionForm::smaller && computed_bias)) return masked(support);
    if (computed_bias) throw std::invalid_argument("scores have a bias that is computed: attention must be a mask");
    const std::vector<KeyTable> tables = key_tables(support, g_.cls);
    if (form == AttentionForm::smaller && gather_bytes(tables) >= mask_bytes()) return masked(support);
    return gathered(tables);
  }

 private:
  int64_t mask_bytes() const {
    return (Checked(g_.heads) * g_.query_tokens() * g_.key_tokens() +
            static_cast<int64_t>(in_.bias_numbers.size_bytes()))
        .value();
  }

  int64_t gather_bytes(const std::vector<KeyTable>& tables) const {
    const int64_t groups = in_.bias ? in_.bias_shape[0].count : 0;
    int64_t bytes = 0;
    for (const KeyTable& t : tables) bytes += static_cast<int64_t>(t.keys.size()) * 4 * (1 + groups);
    return bytes;
  }

  Name reshape(const Name& x, const std::vector<int64_t>& sizes) { return b_.reshape(x, sizes); }
  Name softmax(const Name& x) { return b_.softmax(x, -1); }

  /// scores [n,H,rows,columns] and a term for each, in groups of samples.
  Name with_bias(const Name& scores, const Name& bias, int64_t rows, int64_t columns) {
    const int64_t groups = in_.bias_shape[0].count;
    if (groups == 1) return b_.node("Add", {scores, bias});
    const Name grouped = reshape(scores, {-1, groups, g_.heads, rows, columns});
    return reshape(b_.node("Add", {grouped, bias}), {-1, g_.heads, rows, columns});
  }

  /// [n,H,Tq,Tk]
  Name scores() {
    const Name keys = b_.node("Transpose", {in_.k}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
    const Name products = b_.node("MatMul", {q_, keys});
    return in_.bias ? with_bias(products, *in_.bias, g_.query_tokens(), g_.key_tokens()) : products;
  }

  // ---- Means of the tiles, which every patch sees
  // ---------------------------------------------------------------------

  /// Of the keys [n,H,d,S], of the values [n,H,S,e], and what is added to the scores, [S].
  struct Summaries {
    int64_t count;
    Name keys, values, log_sizes;
  };

  void write_summaries(const SupportSet& support) {
    const Tiling& tiling = *support.summaries();
    const int64_t count = tiling.count(), tokens = support.key_tokens();
    b_.writer().require_room((Checked(count) * tokens * 4).value());
    std::vector<float> averaging(static_cast<size_t>(count * tokens)), log_sizes;
    for (int64_t p = 0; p < support.patches(); ++p) {
      const int64_t tile = tiling.tile_of(p);
      averaging[static_cast<size_t>(tile * tokens + support.cls() + p)] = 1.0F / static_cast<float>(tiling.size(tile));
    }
    for (int64_t s = 0; s < count; ++s)
      log_sizes.push_back(static_cast<float>(std::log(static_cast<double>(tiling.size(s)))));
    const Name matrix = b_.floats({count, tokens}, averaging);
    const Name keys = b_.node("MatMul", {matrix, in_.k}), values = b_.node("MatMul", {matrix, in_.v});
    summaries_ = {count, b_.node("Transpose", {keys}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}}), values,
                  b_.floats({count}, log_sizes)};
  }

  /// Of scaled queries [n,H,rows,d], [n,H,rows,S].
  Name summary_scores(const Name& queries) {
    return b_.node("Add", {b_.node("MatMul", {queries, summaries_->keys}), summaries_->log_sizes});
  }

  /// Scores of tokens with those of summaries behind them, which class tokens do not see.
  Name with_summary_scores(const Name& scores) {
    const int64_t queries = g_.query_tokens();
    std::vector<uint8_t> sees(static_cast<size_t>(queries), uint8_t{1});
    std::fill_n(sees.begin(), g_.cls, uint8_t{0});
    const Name of_patches = b_.node(
        "Where", {b_.writer().booleans({queries, 1}, sees, "patches"), summary_scores(q_), b_.scalar(kMinusInfinity)});
    return b_.node("Concat", {scores, of_patches}, {{"axis", INT64_C(3)}});
  }

  // ---- All pairs, and those outside left out ------------------------------------------------------------------------

  Name masked(const SupportSet& support) {
    const int64_t heads = g_.heads, queries = g_.query_tokens(), keys = g_.key_tokens();
    b_.writer().require_room((Checked(heads) * queries * keys).value());
    std::vector<uint8_t> inside(static_cast<size_t>(heads * queries * keys));
    std::vector<float> not_blind(static_cast<size_t>(heads * queries), 1.0F);
    bool blind = false;
    for (int64_t row = 0; row < heads * queries; ++row) {
      const std::vector<int64_t> list = support.keys_of_row(row / queries, row % queries);
      for (const int64_t key : list) inside[static_cast<size_t>(row * keys + key)] = 1;
      if (!list.empty() || zero_ || summaries_) continue;
      std::fill_n(inside.begin() + row * keys, keys, uint8_t{1});
      not_blind[static_cast<size_t>(row)] = 0.0F;
      blind = true;
    }
    const Name mask = b_.writer().booleans({heads, queries, keys}, inside, "mask");
    const Name kept = b_.node("Where", {mask, scores(), b_.scalar(zero_ ? 0.0F : kMinusInfinity)});
    const Name mixed = summaries_
                           ? b_.node("MatMul", {softmax(with_summary_scores(kept)),
                                                b_.node("Concat", {in_.v, summaries_->values}, {{"axis", INT64_C(2)}})})
                           : b_.node("MatMul", {softmax(kept), in_.v});
    return blind ? b_.node("Mul", {mixed, b_.floats({heads, queries, 1}, not_blind)}) : mixed;
  }

  // ---- The keys of every query --------------------------------------------------------------------------------------

  Name gathered(const std::vector<KeyTable>& tables) {
    const Name keys = reshape(in_.k, {-1, g_.heads * g_.key_tokens(), g_.head_dim});
    const Name values = reshape(in_.v, {-1, g_.heads * g_.key_tokens(), g_.value_dim});
    std::vector<Name> parts;
    parts.reserve(tables.size());
    for (const KeyTable& t : tables) parts.push_back(gathered_rows(t, keys, values));
    return parts.size() == 1 ? parts[0] : b_.node("Concat", parts, {{"axis", INT64_C(2)}});
  }

  /// [n,H,rows,e]
  Name gathered_rows(const KeyTable& t, const Name& keys, const Name& values) {
    const std::vector<int64_t> sizes{g_.heads, t.rows, t.width};
    const Name index = b_.writer().indices(sizes, t.keys, "keys");
    const Name k = b_.node("Gather", {keys, index}, {{"axis", INT64_C(1)}});    // [n,H,rows,width,d]
    const Name v = b_.node("Gather", {values, index}, {{"axis", INT64_C(1)}});  // [n,H,rows,width,e]
    const Name some = b_.node("Slice", {q_, b_.integers({t.first}), b_.integers({t.first + t.rows}), b_.integers({2})});
    const Name q = reshape(some, {-1, g_.heads, t.rows, g_.head_dim, 1});
    Name s = reshape(b_.node("MatMul", {k, q}), {-1, g_.heads, t.rows, t.width});
    if (in_.bias) s = with_bias(s, gathered_bias(t), t.rows, t.width);
    if (padded(t)) {
      const Name missing = b_.node("Less", {index, b_.index(0)});
      s = b_.node("Where", {missing, b_.scalar(zero_ ? 0.0F : kMinusInfinity), s});
    }
    if (zero_) return with_all_others(t, s, v);
    if (summaries_ && t.first >= g_.cls) return mixture_with_summaries(t, s, some, v);
    const Name mixed = mixture(t, softmax(s), v);
    return t.not_blind.empty() ? mixed : b_.node("Mul", {mixed, b_.floats({g_.heads, t.rows, 1}, t.not_blind)});
  }

  /// The same of patches, whose queries [n,H,rows,d] meet the summaries in the same softmax.
  Name mixture_with_summaries(const KeyTable& t, const Name& scores, const Name& queries, const Name& values) {
    const Name all = softmax(b_.node("Concat", {scores, summary_scores(queries)}, {{"axis", INT64_C(3)}}));
    const auto part = [&](int64_t from, int64_t to) {
      return b_.node("Slice", {all, b_.integers({from}), b_.integers({to}), b_.integers({3})});
    };
    const Name of_summaries = b_.node("MatMul", {part(t.width, t.width + summaries_->count), summaries_->values});
    return b_.node("Add", {mixture(t, part(0, t.width), values), of_summaries});
  }

  /// weights [n,H,rows,width] of values [n,H,rows,width,e]
  Name mixture(const KeyTable& t, const Name& weights, const Name& values) {
    const Name row = reshape(weights, {-1, g_.heads, t.rows, 1, t.width});
    return reshape(b_.node("MatMul", {row, values}), {-1, g_.heads, t.rows, g_.value_dim});
  }

  /// Pairs outside weigh e⁰: the sum over all of them is that of all values, and what pairs inside weigh more is added.
  /// Everything is scaled by e^-m for the largest score m of a row. A missing key has score 0 and adds nothing.
  Name with_all_others(const KeyTable& t, const Name& s, const Name& v) {
    const std::vector<OnnxAttribute> last{{"axes", std::vector<int64_t>{-1}}};
    const Name most = b_.node("Relu", {b_.node("ReduceMax", {s}, last)});                      // [n,H,rows,1]
    const Name rest = b_.node("Exp", {b_.node("Neg", {most})});                                // e^-m
    const Name more = b_.node("Sub", {b_.node("Exp", {b_.node("Sub", {s, most})}), rest});     // [n,H,rows,width]
    const Name total = b_.node("ReduceSum", {in_.v, b_.integers({2})});                        // [n,H,1,e]
    const Name values = b_.node("Add", {mixture(t, more, v), b_.node("Mul", {rest, total})});  // [n,H,rows,e]
    const Name everyone = b_.node("Mul", {rest, b_.scalar(static_cast<float>(g_.key_tokens()))});
    const Name weights = b_.node("Add", {b_.node("ReduceSum", {more, b_.integers({-1})}), everyone});
    return b_.node("Div", {values, weights});
  }

  /// The bias at the pairs of a table, [G,H,rows,width].
  Name gathered_bias(const KeyTable& t) {
    const int64_t groups = in_.bias_shape[0].count, bias_heads = in_.bias_shape[1].count;
    const int64_t pairs = g_.query_tokens() * g_.key_tokens(), in_table = static_cast<int64_t>(t.keys.size());
    std::vector<float> numbers(static_cast<size_t>(groups * in_table));
    for (int64_t i = 0; i < groups * in_table; ++i) {
      const int64_t group = i / in_table, cell = i % in_table, key = t.keys[static_cast<size_t>(cell)];
      if (key < 0) continue;
      const int64_t head = cell / (t.rows * t.width), row = cell / t.width % t.rows;
      const int64_t matrix = group * bias_heads + (bias_heads == 1 ? 0 : head);
      const int64_t place = matrix * pairs + (t.first + row) * g_.key_tokens() + key % g_.key_tokens();
      numbers[static_cast<size_t>(i)] = in_.bias_numbers[static_cast<size_t>(place)];
    }
    return b_.floats({groups, g_.heads, t.rows, t.width}, numbers);
  }

  // ---- The keys of largest score ------------------------------------------------------------------------------------

  Name largest() {
    const int64_t k = std::min(attention::integer_option(spec_, "k", 1, g_.key_grid.tokens()), g_.key_tokens());
    const Name s = scores();
    const std::vector<Name> largest = b_.writer().node_with_outputs("TopK", {s, b_.integers({k})}, 2, {});
    const Name zeros = b_.node("ConstantOfShape", {b_.node("Shape", {s})});
    const Name weights = b_.node("ScatterElements", {zeros, largest[1], softmax(largest[0])}, {{"axis", INT64_C(3)}});
    return b_.node("MatMul", {weights, in_.v});
  }

  OnnxNode& b_;
  const attention::Geometry& g_;
  AttentionSpec spec_;
  const AttentionInputs& in_;
  Name q_;  // scaled
  bool zero_ = false;
  std::optional<Summaries> summaries_;
};

/// qkv [n,T,3,H,d] as three tensors [n,H,T,d].
AttentionInputs unpacked(OnnxNode& node) {
  const Name apart = node.node("Transpose", {node.in(0)}, {{"perm", std::vector<int64_t>{2, 0, 3, 1, 4}}});
  const auto part = [&](int32_t i) { return node.node("Gather", {apart, node.index(i)}, {{"axis", INT64_C(0)}}); };
  const Name q = part(0), k = part(1), v = part(2);
  return {q, k, v};
}

}  // namespace

OnnxName attention_to_onnx(OnnxNode& node) {
  const auto& a = node.as<Attention>();
  AttentionInputs inputs = a.packed ? unpacked(node) : AttentionInputs{node.in(0), node.in(1), node.in(2)};
  const size_t bias = a.packed ? 1 : 3;
  if (node.has(bias)) {
    inputs.bias = node.in(bias);
    inputs.bias_shape = node.in_shape(bias);
    if (node.value(bias).constant()) inputs.bias_numbers = node.value(bias).elements();
  }
  const Name mixed = AttentionWriter(node, a, inputs).write(node.form().attention);
  const Name by_token = node.node("Transpose", {mixed}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  return node.reshape(by_token, node.out_shape());
}

}  // namespace fib::engine
