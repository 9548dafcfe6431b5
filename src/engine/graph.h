// SPDX-License-Identifier: Apache-2.0
// A model's forward as plain data: what recording a backbone gives, and what is compiled or exported.
//
// A graph is a list of nodes in an order in which they can be carried out. All values are float32 and contiguous; what
// follows from the weights alone is already a number. The number of samples is left open: an extent is either fixed or
// so many per sample, wherever in a shape it stands (windows and heads may have been folded into it).
//
// Letters: B samples, T tokens (Tq of queries, Tk of keys), H heads, d channels of a query or key, e of a value.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attention/geometry.h"
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

// ---- Attributes of operators; operators.h says which operator has which ------------------------------------------

struct Conv2d {
  std::array<int64_t, 2> stride{1, 1}, padding{0, 0};
  int64_t groups = 1;
  friend bool operator==(const Conv2d&, const Conv2d&) = default;
};

struct Pool2d {
  std::array<int64_t, 2> kernel{1, 1}, stride{1, 1}, padding{0, 0};
  friend bool operator==(const Pool2d&, const Pool2d&) = default;
};

struct LayerNorm {
  double eps = 1e-6;
  friend bool operator==(const LayerNorm&, const LayerNorm&) = default;
};

struct Axis {
  int64_t axis = 0;
  friend bool operator==(const Axis&, const Axis&) = default;
};

struct Axes {
  std::vector<int64_t> axes;  ///< ascending
  friend bool operator==(const Axes&, const Axes&) = default;
};

/// Dimension i of the output is dimension order[i] of the input.
struct Permute {
  std::vector<int64_t> order;
  friend bool operator==(const Permute&, const Permute&) = default;
};

/// As many elements as the output has along the axis, from `begin` on.
struct Slice {
  int64_t axis = 0;
  int64_t begin = 0;
  friend bool operator==(const Slice&, const Slice&) = default;
};

/// Element i goes to place (i + shift) mod size.
struct Roll {
  std::vector<int64_t> shifts, axes;
  friend bool operator==(const Roll&, const Roll&) = default;
};

/// A mechanism in its layer. For a support set, attention::layer_support(AttentionSpec::parse(attention), geometry) is
/// its support and attention::masking_of(spec) what pairs outside of it weigh; "full" has all pairs, and "topk" the k
/// keys of largest score. Scores are geometry.score_scale() · q·k, and the bias [G, H or 1, Tq, Tk] where there is one:
/// sample b has group b mod G. A row without keys, or whose scores are all -inf, gives zeros.
struct Attention {
  std::string attention;  ///< as written on a command line, "fibottention:wmin=5"
  attention::Geometry geometry;
  bool packed = false;  ///< the first input is qkv
  friend bool operator==(const Attention&, const Attention&) = default;
};

struct Node {
  Op op = Op::add;
  std::vector<ValueId> inputs;
  ValueId output = kNoValue;
  Attributes attributes;

  /// Attributes of this type, which a valid node has.
  template <class T>
  const T& as() const {
    return *attributes.get<T>();
  }
};

struct Graph {
  std::vector<Value> values;
  std::vector<ValueId> inputs;   ///< images [B,C,h,w] or clips [B,C,T,h,w]
  std::vector<ValueId> outputs;  ///< logits [B,classes]
  std::vector<Node> nodes;

  const Shape& shape(ValueId id) const { return values[static_cast<size_t>(id)].shape; }
};

/// As NumPy broadcasts; an empty shape where the two do not fit.
Shape broadcast(const Shape& a, const Shape& b);

/// Throws std::invalid_argument with one line that names the node and what is wrong with it: an index outside, a value
/// that is read before it is computed or computed twice, attributes of another operator, shapes that do not agree.
void validate(const Graph& graph);

}  // namespace fib::engine
