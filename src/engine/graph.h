// SPDX-License-Identifier: Apache-2.0
// A model's forward as plain data: what recording a backbone gives, and what is compiled or exported.
//
// A graph is a list of nodes in an order in which they can be carried out. All values are float32 and contiguous; what
// follows from the weights alone is already a number. The number of samples is left open: an extent is either fixed or
// so many per sample, wherever in a shape it stands (windows and heads may have been folded into it).
//
// Letters: B samples, T tokens (Tq of queries, Tk of keys), H heads, d channels of a query or key, e of a value.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/attributes.h"
#include "engine/operators.h"

namespace fib::engine {

/// One extent of a shape: `count`, or `count` for each sample.
struct Dim {
  int64_t count = 0;
  bool batched = false;

  int64_t at(int64_t batch) const { return batched ? count * batch : count; }
  friend bool operator==(const Dim&, const Dim&) = default;
};

using Shape = std::vector<Dim>;

/// The extents for so many samples, and their product.
std::vector<int64_t> sizes(const Shape& shape, int64_t batch);
int64_t elements(const Shape& shape, int64_t batch);
/// "[B,197,192]", "[64B,49,96]".
std::string to_string(const Shape& shape);

/// A place in Graph::values.
using ValueId = int32_t;
/// In the inputs of a node: an optional one that is left out.
inline constexpr ValueId kNoValue = -1;

struct Value {
  std::string name;  ///< of a parameter, kept in files; unique among constants
  Shape shape;
  std::shared_ptr<const float> data;  ///< the elements of a constant, whose shape is fixed; null for what is computed

  bool constant() const { return data != nullptr; }
  std::span<const float> elements() const { return {data.get(), static_cast<size_t>(engine::elements(shape, 1))}; }
};

struct Node {
  Op op = Op::add;
  std::vector<ValueId> inputs;
  ValueId output = kNoValue;
  Attributes attributes;
  bool repeated = false;  ///< it is in the body of the graph's loop

  /// Attributes of this type, which a valid node has.
  template <class T>
  const T& as() const {
    return *attributes.get<T>();
  }
};

/// The nodes that are marked as repeated, one after the other in the graph, are carried out `count` times.
struct GraphLoop {
  /// Row i of a table [count,...], or [n,count,...] where it depends on the input, in its i-th time.
  struct Row {
    ValueId row, table;
    friend bool operator==(const Row&, const Row&) = default;
  };
  int64_t count = 1;
  ValueId state = kNoValue;  ///< `first`, then `next` of the time before; behind the loop the last `next`
  ValueId first = kNoValue, next = kNoValue;
  std::vector<Row> rows;
  friend bool operator==(const GraphLoop&, const GraphLoop&) = default;
};

struct Graph {
  std::vector<Value> values;
  std::vector<ValueId>
      inputs;  ///< images [B,C,h,w], clips [B,C,T,h,w], the next tokens [n] of a decoder, or [B,N] of a policy
  std::vector<ValueId> outputs;  ///< logits [B,classes]
  std::vector<Node> nodes;
  std::optional<GraphLoop> loop;

  const Shape& shape(ValueId id) const { return values[static_cast<size_t>(id)].shape; }
};

/// As NumPy broadcasts; an empty shape where the two do not fit.
Shape broadcast(const Shape& a, const Shape& b);

/// Throws std::invalid_argument with one line that names the node and what is wrong with it: an index outside, a value
/// that is read before it is computed or computed twice, attributes of another operator, shapes that do not agree.
void validate(const Graph& graph);

}  // namespace fib::engine
