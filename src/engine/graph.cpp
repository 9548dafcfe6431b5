// SPDX-License-Identifier: Apache-2.0
#include "engine/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "attention/registry.h"
#include "base/checked.h"

namespace fib::engine {
namespace {

constexpr Dim kOne{1, false};

struct OpRow {
  Op op;
  const char* name;
  size_t least_inputs, most_inputs;
};

constexpr size_t kAny = 1 << 20;
constexpr OpRow kOps[] = {
    {Op::linear, "linear", 2, 3},
    {Op::matmul, "matmul", 2, 2},
    {Op::conv2d, "conv2d", 2, 3},
    {Op::max_pool2d, "max_pool2d", 1, 1},
    {Op::layer_norm, "layer_norm", 3, 3},
    {Op::softmax, "softmax", 1, 1},
    {Op::gelu, "gelu", 1, 1},
    {Op::sigmoid, "sigmoid", 1, 1},
    {Op::relu, "relu", 1, 1},
    {Op::add, "add", 2, 2},
    {Op::sub, "sub", 2, 2},
    {Op::mul, "mul", 2, 2},
    {Op::mean, "mean", 1, 1},
    {Op::reshape, "reshape", 1, 1},
    {Op::permute, "permute", 1, 1},
    {Op::slice, "slice", 1, 1},
    {Op::concat, "concat", 1, kAny},
    {Op::roll, "roll", 1, 1},
    {Op::expand, "expand", 1, 1},
    {Op::attention, "attention", 1, 4},
};

const OpRow& row_of(Op op) {
  const auto* row = std::find_if(std::begin(kOps), std::end(kOps), [&](const OpRow& r) { return r.op == op; });
  if (row == std::end(kOps))
    throw std::invalid_argument(fmt::format("no operator has number {}", static_cast<int>(op)));
  return *row;
}

/// Checks one graph, node by node.
class Validator {
 public:
  explicit Validator(const Graph& graph) : graph_(graph), known_(graph.values.size()) {}

  void run() {
    check_values();
    for (const ValueId id : graph_.inputs) define(id, "the inputs");
    for (node_ = 0; node_ < graph_.nodes.size(); ++node_) check_node();
    for (const ValueId id : graph_.outputs) {
      if (!in_range(id) || !known_[static_cast<size_t>(id)])
        throw std::invalid_argument(fmt::format("graph: output value {} is not computed", id));
    }
  }

 private:
  const Graph& graph_;
  std::vector<bool> known_;
  size_t node_ = 0;

  const Node& node() const { return graph_.nodes[node_]; }
  const Shape& in(size_t i) const { return graph_.shape(node().inputs[i]); }
  const Shape& out() const { return graph_.shape(node().output); }
  bool has(size_t i) const { return i < node().inputs.size() && node().inputs[i] != kNoValue; }
  bool in_range(ValueId id) const { return id >= 0 && static_cast<size_t>(id) < graph_.values.size(); }

  [[noreturn]] void refuse(const std::string& why) const {
    throw std::invalid_argument(fmt::format("graph: node {} ({}): {}", node_, name_of(node().op), why));
  }

  void require(bool good, const char* what) const {
    if (good) return;
    std::vector<std::string> shapes;
    for (const ValueId id : node().inputs) shapes.push_back(id == kNoValue ? "none" : to_string(graph_.shape(id)));
    refuse(fmt::format("{}; inputs {}, output {}", what, fmt::join(shapes, " "), to_string(out())));
  }

  void check_values() {
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      const Value& value = graph_.values[i];
      const auto bad = [&](const Dim& d) { return d.count < 1 || (d.batched && value.constant()); };
      if (std::any_of(value.shape.begin(), value.shape.end(), bad))
        throw std::invalid_argument(fmt::format("graph: value {} cannot be {}", i, to_string(value.shape)));
      known_[i] = value.constant();
    }
  }

  void define(ValueId id, const std::string& where) {
    if (!in_range(id)) throw std::invalid_argument(fmt::format("graph: {} name value {}", where, id));
    if (known_[static_cast<size_t>(id)])
      throw std::invalid_argument(fmt::format("graph: {} compute value {} a second time", where, id));
    known_[static_cast<size_t>(id)] = true;
  }

  void check_node() {
    const OpRow& row = row_of(node().op);
    const size_t count = node().inputs.size();
    if (count < row.least_inputs || count > row.most_inputs) refuse(fmt::format("it has {} inputs", count));
    for (size_t i = 0; i < count; ++i) check_input(i);
    define(node().output, fmt::format("node {} ({}) and others", node_, row.name));
    check_shapes();
  }

  void check_input(size_t i) const {
    const ValueId id = node().inputs[i];
    if (id == kNoValue && may_lack(i)) return;
    if (!in_range(id)) refuse(fmt::format("input {} is value {}, of {}", i, id, graph_.values.size()));
    if (!known_[static_cast<size_t>(id)]) refuse(fmt::format("input {} is not computed yet", i));
  }

  bool may_lack(size_t i) const {
    const Op op = node().op;
    if (op == Op::linear || op == Op::conv2d) return i == 2;
    return op == Op::attention && i + 1 == node().inputs.size();
  }

  template <class T>
  const T& attributes() const {
    const T* found = std::get_if<T>(&node().attributes);
    if (found == nullptr) refuse("its attributes are of another operator");
    return *found;
  }

  void check_shapes() const {
    switch (node().op) {
      case Op::linear:
        return check_linear();
      case Op::matmul:
        return check_matmul();
      case Op::conv2d:
        return check_conv();
      case Op::max_pool2d:
        return check_pool();
      case Op::layer_norm:
        return check_norm();
      case Op::softmax:
        return check_axis(attributes<Axis>().axis), check_same();
      case Op::gelu:
      case Op::sigmoid:
      case Op::relu:
        return check_same();
      case Op::add:
      case Op::sub:
      case Op::mul:
        return require(broadcast(in(0), in(1)) == out(), "what is broadcast does not fit");
      case Op::mean:
        return check_mean();
      case Op::reshape:
        return check_reshape();
      case Op::permute:
        return check_permute();
      case Op::slice:
        return check_slice();
      case Op::concat:
        return check_concat();
      case Op::roll:
        return check_roll();
      case Op::expand:
        return require(broadcast(in(0), out()) == out(), "it does not expand so");
      case Op::attention:
        return check_attention();
    }
  }

  void check_axis(int64_t axis) const {
    if (axis < 0 || axis >= static_cast<int64_t>(in(0).size()))
      refuse(fmt::format("there is no axis {} in {}", axis, to_string(in(0))));
  }

  void check_same() const { require(in(0) == out(), "the shape changes"); }

  /// An empty shape where the two do not fit.
  static Shape broadcast(const Shape& a, const Shape& b) {
    Shape result(std::max(a.size(), b.size()), kOne);
    for (size_t i = 0; i < result.size(); ++i) {
      const Dim x = i < a.size() ? a[a.size() - 1 - i] : kOne, y = i < b.size() ? b[b.size() - 1 - i] : kOne;
      if (x != y && x != kOne && y != kOne) return {};
      result[result.size() - 1 - i] = x == kOne ? y : x;
    }
    return result;
  }

  void check_linear() const {
    const Shape &x = in(0), &w = in(1);
    require(!x.empty() && w.size() == 2 && x.back() == w[1], "weights do not fit");
    Shape expected = x;
    expected.back() = w[0];
    require(expected == out() && (!has(2) || in(2) == Shape{w[0]}), "weights do not fit");
  }

  void check_matmul() const {
    const Shape &a = in(0), &b = in(1);
    require(a.size() >= 2 && b.size() >= 2 && a.back() == b[b.size() - 2], "the products do not fit");
    Shape expected = broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
    expected.push_back(a[a.size() - 2]);
    expected.push_back(b.back());
    require(expected == out(), "the products do not fit");
  }

  /// Of an image [n,C,h,w] under a window.
  Dim reached(size_t axis, int64_t kernel, int64_t stride, int64_t padding) const {
    const Dim size = in(0)[axis];
    if (size.batched || kernel < 1 || stride < 1 || padding < 0 || Checked(size.count) + Checked(2) * padding < kernel)
      refuse("the window does not fit the image");
    return {(Checked(size.count) + Checked(2) * padding - kernel).value() / stride + 1, false};
  }

  void check_conv() const {
    const Conv2d& a = attributes<Conv2d>();
    const Shape &x = in(0), &w = in(1);
    require(x.size() == 4 && w.size() == 4 && a.groups > 0 && x[1] == Dim{w[1].count * a.groups, false} &&
                w[0].count % a.groups == 0 && (!has(2) || in(2) == Shape{w[0]}),
            "weights do not fit");
    const Shape expected{x[0], w[0], reached(2, w[2].count, a.stride[0], a.padding[0]),
                         reached(3, w[3].count, a.stride[1], a.padding[1])};
    require(expected == out(), "the image has another size");
  }

  void check_pool() const {
    const Pool2d& a = attributes<Pool2d>();
    require(in(0).size() == 4, "it takes images");
    const Shape expected{in(0)[0], in(0)[1], reached(2, a.kernel[0], a.stride[0], a.padding[0]),
                         reached(3, a.kernel[1], a.stride[1], a.padding[1])};
    require(expected == out(), "the image has another size");
  }

  void check_norm() const {
    attributes<LayerNorm>();
    require(!in(0).empty() && in(1) == Shape{in(0).back()} && in(1) == in(2), "weights do not fit");
    check_same();
  }

  void check_mean() const {
    Shape expected = in(0);
    const std::vector<int64_t>& axes = attributes<Axes>().axes;
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
      check_axis(*axis);
      if (in(0)[static_cast<size_t>(*axis)].batched) refuse("it would mix samples");
      if (axis != axes.rbegin() && *axis >= axis[-1]) refuse("its axes are not ascending");
      expected.erase(expected.begin() + *axis);
    }
    require(expected == out(), "the shape is another");
  }

  void check_reshape() const {
    const auto samples = [](const Shape& s) {
      return std::count_if(s.begin(), s.end(), [](Dim d) { return d.batched; });
    };
    require(samples(in(0)) == samples(out()) && elements(in(0), 1) == elements(out(), 1),
            "the elements are not as many");
  }

  void check_permute() const {
    std::vector<int64_t> order = attributes<Permute>().order;
    require(order.size() == in(0).size() && out().size() == order.size(), "the order has another length");
    for (size_t i = 0; i < order.size(); ++i) {
      check_axis(order[i]);
      require(out()[i] == in(0)[static_cast<size_t>(order[i])], "the shape is another");
    }
    std::sort(order.begin(), order.end());
    if (std::adjacent_find(order.begin(), order.end()) != order.end()) refuse("an axis stands in its order twice");
  }

  void check_slice() const {
    const Slice& a = attributes<Slice>();
    check_axis(a.axis);
    const auto axis = static_cast<size_t>(a.axis);
    Shape expected = in(0);
    require(out().size() == expected.size(), "the shape is another");
    require(!expected[axis].batched && a.begin >= 0 && a.begin <= expected[axis].count - out()[axis].count,
            "it reads outside");
    expected[axis] = out()[axis];
    require(expected == out(), "the shape is another");
  }

  void check_concat() const {
    check_axis(attributes<Axis>().axis);
    const auto axis = static_cast<size_t>(attributes<Axis>().axis);
    Shape expected = in(0);
    for (size_t i = 1; i < node().inputs.size(); ++i) {
      require(in(i).size() == expected.size(), "the parts do not fit");
      Shape part = in(i);
      expected[axis].count += part[axis].count;
      part[axis] = expected[axis];
      require(part == expected, "the parts do not fit");
    }
    require(expected == out() && !expected[axis].batched, "the parts do not fit");
  }

  void check_roll() const {
    const Roll& a = attributes<Roll>();
    if (a.shifts.size() != a.axes.size()) refuse("it has not as many shifts as axes");
    for (const int64_t axis : a.axes) {
      check_axis(axis);
      if (in(0)[static_cast<size_t>(axis)].batched) refuse("it would mix samples");
    }
    check_same();
  }

  void check_attention() const {
    const Attention& a = attributes<Attention>();
    const attention::Geometry& g = a.geometry;
    const Dim heads{g.heads}, queries{g.query_tokens()}, keys{g.key_tokens()}, d{g.head_dim}, e{g.value_dim};
    const size_t tensors = a.packed ? 1 : 3;
    const Dim n = in(0).empty() ? kOne : in(0)[0];
    attention::check_fit(AttentionSpec::parse(a.attention), g);
    if (node().inputs.size() < tensors || node().inputs.size() > tensors + 1) refuse("it has not as many inputs");
    if (a.packed) {
      require(in(0) == Shape{n, queries, Dim{3}, heads, d} && g.square() && d == e, "qkv does not fit the layer");
    } else {
      const bool good = in(0) == Shape{n, heads, queries, d} && in(1) == Shape{n, heads, keys, d} &&
                        in(2) == Shape{n, heads, keys, e};
      require(good, "q, k and v do not fit the layer");
    }
    if (has(tensors)) check_bias(in(tensors), n);
    require(out() == Shape{n, queries, Dim{g.heads * g.value_dim}}, "the output does not fit the layer");
  }

  void check_bias(const Shape& bias, const Dim& n) const {
    const attention::Geometry& g = attributes<Attention>().geometry;
    const bool good = bias.size() == 4 && !bias[0].batched && n.count % bias[0].count == 0 &&
                      (bias[1] == kOne || bias[1] == Dim{g.heads}) && bias[2] == Dim{g.query_tokens()} &&
                      bias[3] == Dim{g.key_tokens()};
    require(good, "the bias does not fit the layer");
  }
};

}  // namespace

std::vector<int64_t> sizes(const Shape& shape, int64_t batch) {
  std::vector<int64_t> result;
  result.reserve(shape.size());
  for (const Dim& d : shape) result.push_back(d.at(batch));
  return result;
}

int64_t elements(const Shape& shape, int64_t batch) { return checked_product(sizes(shape, batch)).value(); }

std::string to_string(const Shape& shape) {
  std::vector<std::string> parts;
  parts.reserve(shape.size());
  for (const Dim& d : shape) {
    const std::string count = d.batched && d.count == 1 ? "" : fmt::format("{}", d.count);
    parts.push_back(count + (d.batched ? "B" : ""));
  }
  return fmt::format("[{}]", fmt::join(parts, ","));
}

const char* name_of(Op op) { return row_of(op).name; }

void validate(const Graph& graph) { Validator(graph).run(); }

}  // namespace fib::engine
