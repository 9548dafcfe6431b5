// SPDX-License-Identifier: Apache-2.0
// Fewer tokens in ONNX's operators. TopK and ArgMax name the lower of equal values first, as the plans do.
//
// Letters: B images, T tokens, U of them afterwards, S at the beginning.
#include <limits>
#include <numeric>

#include "engine/operators/tokens.h"
#include "kernels/token_reduction.h"

namespace fib::engine {
namespace {

using kernels::TokenFact;
using Name = OnnxName;

constexpr int64_t kFloat = 1, kInt64 = 7, kDouble = 11;

class TokenWriter {
 public:
  explicit TokenWriter(OnnxNode& node) : b_(node) {}

  Name cast(const Name& x, int64_t type) { return b_.node("Cast", {x}, {{"to", type}}); }
  Name unsqueezed(const Name& x, int64_t axis) { return b_.node("Unsqueeze", {x, b_.integers({axis})}); }
  Name sum_of_rows(const Name& x, bool keep) {
    return b_.node("ReduceSum", {x, b_.integers({-1})}, {{"keepdims", int64_t{keep}}});
  }
  /// first, first + 1, … in this shape.
  Name counted(const std::vector<int64_t>& sizes, float first = 0) {
    std::vector<float> numbers(
        static_cast<size_t>(std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies())));
    std::iota(numbers.begin(), numbers.end(), first);
    return b_.floats(sizes, numbers);
  }
  /// [B,columns] of a constant row.
  Name for_each_image(const Name& row, int64_t columns) {
    return b_.node("Expand", {row, b_.extents({Dim{1, true}, Dim{columns}})});
  }
  /// places [B,T] -> [B,U,T], true where a token goes to a place.
  Name one_hot(const Name& places, int64_t count) {
    return b_.node("Equal", {unsqueezed(places, 1), counted({1, count, 1})});
  }
  /// [B,columns]: 1 for the `count` largest of each row, else 0.
  Name flags_of_largest(const Name& values, int64_t count) {
    const Name found = b_.writer().node_with_outputs("TopK", {values, b_.integers({count})}, 2, {})[1];
    const Name ones = b_.node("Add", {b_.node("Mul", {cast(found, kFloat), b_.scalar(0)}), b_.scalar(1)});
    const Name zeros = b_.node("ConstantOfShape", {b_.node("Shape", {values})});
    return b_.node("ScatterElements", {zeros, found, ones}, {{"axis", INT64_C(1)}});
  }
  /// How many flags stand before each.
  Name ranks_of(const Name& flags, float first) {
    const Name counted_through = b_.node("CumSum", {flags, b_.index(1)});
    return b_.node("Add", {counted_through, b_.scalar(first - 1)});
  }
  Name is_set(const Name& flags) { return b_.node("Greater", {flags, b_.scalar(0.5f)}); }
  Name every_second(const Name& x, int64_t first, int64_t end) {
    return b_.node("Slice", {x, b_.integers({first}), b_.integers({end}), b_.integers({1}), b_.integers({2})});
  }
  Name gathered(const Name& numbers, const Name& places) {
    return b_.node("GatherElements", {numbers, cast(places, kInt64)}, {{"axis", INT64_C(1)}});
  }

 protected:
  OnnxNode& b_;
};

/// ToMe's matching; its numbers are those of kernels::plan_merging.
class MergingWriter : TokenWriter {
 public:
  explicit MergingWriter(OnnxNode& node)
      : TokenWriter(node),
        plan_(node.as<TokenPlan>()),
        tokens_(node.in_shape(0)[2].count),
        sources_((tokens_ + 1) / 2),
        targets_(tokens_ / 2) {}

  Name write() {
    const Name scores = similarities();
    const Name best = b_.node("ReduceMax", {scores}, {{"axes", std::vector<int64_t>{-1}}, {"keepdims", INT64_C(0)}});
    const Name target = b_.node("ArgMax", {scores}, {{"axis", INT64_C(-1)}, {"keepdims", INT64_C(0)}});
    const Name goes = flags_of_largest(best, plan_.count);
    const Name stays = b_.node("Sub", {b_.scalar(1), goes});
    const auto first_target = static_cast<float>(sources_ - plan_.count);
    const Name merged = b_.node("Add", {cast(target, kFloat), b_.scalar(first_target)});
    const Name of_sources = b_.node("Where", {is_set(goes), merged, ranks_of(stays, 0)});
    const Name of_targets = for_each_image(counted({1, targets_}, first_target), targets_);
    const Name parted = b_.node("Concat", {of_sources, of_targets}, {{"axis", INT64_C(1)}});
    return b_.node("Gather", {parted, b_.integers(place_in_parts())}, {{"axis", INT64_C(1)}});
  }

 private:
  Name similarities() {
    const Name mean = b_.node("ReduceMean", {b_.in(0)}, {{"axes", std::vector<int64_t>{1}}, {"keepdims", INT64_C(0)}});
    const Name length = b_.node("Sqrt", {sum_of_rows(b_.node("Mul", {mean, mean}), true)});
    const Name unit = b_.node("Div", {mean, length});  // [B,T,d]
    const Name columns =
        b_.node("Transpose", {every_second(unit, 1, tokens_)}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
    return b_.node("Add", {b_.node("MatMul", {every_second(unit, 0, tokens_), columns}), class_tokens_excluded()});
  }

  Name class_tokens_excluded() {
    std::vector<float> terms(static_cast<size_t>(sources_ * targets_));
    for (int64_t s = 0; s < sources_; ++s) {
      for (int64_t j = 0; j < targets_; ++j) {
        if (2 * s < plan_.cls || 2 * j + 1 < plan_.cls)
          terms[static_cast<size_t>(s * targets_ + j)] = -std::numeric_limits<float>::infinity();
      }
    }
    return b_.floats({sources_, targets_}, terms);
  }

  std::vector<int64_t> place_in_parts() const {
    std::vector<int64_t> places;
    for (int64_t t = 0; t < tokens_; ++t) places.push_back(t / 2 + (t % 2 == 0 ? 0 : sources_));
    return places;
  }

  const TokenPlan& plan_;
  int64_t tokens_, sources_, targets_;
};

/// kernels::tell_tokens.
class FactWriter : TokenWriter {
 public:
  explicit FactWriter(OnnxNode& node)
      : TokenWriter(node),
        a_(node.as<TokenFacts>()),
        first_(node.in_shape(0)[1].count),
        parts_(one_hot(node.in(0), a_.tokens)) {}

  Name write() {
    const TokenFact fact = kernels::token_fact(a_.fact);
    if (fact == TokenFact::sizes) return sizes();
    if (fact == TokenFact::log_sizes) return b_.node("Log", {sizes()});
    const Name slots = this->slots();
    if (fact == TokenFact::slots) return slots;
    if (fact == TokenFact::ranks) return ranks(slots);
    if (fact == TokenFact::order) return order(slots);
    return bias(slots, fact == TokenFact::slot_log_sizes);
  }

 private:
  Name sizes() { return sum_of_rows(cast(parts_, kFloat), false); }  // [B,T]

  /// Row or column of each first place, [1,1,S], in double as the kernels count.
  Name coordinate(bool of_rows) {
    std::vector<float> numbers(static_cast<size_t>(first_));
    for (int64_t s = a_.cls; s < first_; ++s)
      numbers[static_cast<size_t>(s)] = static_cast<float>(of_rows ? (s - a_.cls) / a_.width : (s - a_.cls) % a_.width);
    return cast(b_.floats({1, 1, first_}, numbers), kDouble);
  }

  /// Squares of count · coordinate - sum, [B,T,S].
  Name squared_distance(const Name& parts, bool of_rows) {
    const Name at = coordinate(of_rows);
    const Name sum = sum_of_rows(b_.node("Mul", {parts, at}), true);
    const Name apart = b_.node("Sub", {b_.node("Mul", {sum_of_rows(parts, true), at}), sum});
    return b_.node("Mul", {apart, apart});
  }

  Name slots() {
    const Name parts = cast(parts_, kDouble);
    const Name distance = b_.node("Add", {squared_distance(parts, true), squared_distance(parts, false)});
    const Name infinity = cast(b_.scalar(std::numeric_limits<float>::infinity()), kDouble);
    const Name own = b_.node("Where", {parts_, distance, infinity});
    return cast(b_.node("ArgMin", {own}, {{"axis", INT64_C(-1)}, {"keepdims", INT64_C(0)}}), kFloat);
  }

  Name ranks(const Name& slots) {
    const Name before = b_.node("Less", {unsqueezed(slots, 1), unsqueezed(slots, 2)});  // [B,T,T]
    return sum_of_rows(cast(before, kFloat), false);
  }

  Name order(const Name& slots) {
    const Name all = b_.integers({a_.tokens});
    return cast(b_.writer().node_with_outputs("TopK", {slots, all}, 2, {{"largest", INT64_C(0)}})[1], kFloat);
  }

  Name bias(const Name& slots, bool of_sizes) {
    const Name is_slot = b_.node("Equal", {gathered(slots, b_.in(0)), counted({1, first_})});
    const Name value = of_sizes ? gathered(b_.node("Log", {sizes()}), b_.in(0)) : b_.scalar(0);
    return b_.node("Where", {is_slot, value, b_.scalar(-std::numeric_limits<float>::infinity())});
  }

  const TokenFacts& a_;
  int64_t first_;
  Name parts_;  // [B,T,S]
};

}  // namespace

OnnxName plan_merging_to_onnx(OnnxNode& node) { return MergingWriter(node).write(); }

OnnxName plan_keeping_to_onnx(OnnxNode& node) {
  const auto& [kept, cls] = node.as<TokenPlan>();
  TokenWriter w(node);
  const Name stays = w.flags_of_largest(node.in(0), kept);
  const Name last = node.scalar(static_cast<float>(cls + kept));
  const Name patches = node.node("Where", {w.is_set(stays), w.ranks_of(stays, static_cast<float>(cls)), last});
  if (cls == 0) return patches;
  return node.node("Concat", {w.for_each_image(w.counted({1, cls}), cls), patches}, {{"axis", INT64_C(1)}});
}

OnnxName merge_tokens_to_onnx(OnnxNode& node) {
  TokenWriter w(node);
  const int64_t left = node.out_shape()[1].count;
  const bool mean = node.as<TokenMerge>().mean;
  const Name parts = w.cast(w.one_hot(node.in(1), left), kFloat);  // [B,U,T]
  Name factors = node.has(2) ? node.node("Mul", {parts, w.unsqueezed(node.in(2), 1)}) : parts;
  if (!mean) {
    std::vector<uint8_t> is_last(static_cast<size_t>(left));
    is_last.back() = 1;
    factors = node.node("Where", {node.writer().booleans({1, left, 1}, is_last, ""), factors, parts});
  }
  const Name sums = node.node("MatMul", {factors, node.in(0)});
  return mean ? node.node("Div", {sums, w.sum_of_rows(factors, true)}) : sums;
}

OnnxName take_tokens_to_onnx(OnnxNode& node) {
  TokenWriter w(node);
  return node.node("GatherND", {node.in(0), w.unsqueezed(w.cast(node.in(1), kInt64), 2)}, {{"batch_dims", INT64_C(1)}});
}

OnnxName tell_tokens_to_onnx(OnnxNode& node) { return FactWriter(node).write(); }

}  // namespace fib::engine
