// SPDX-License-Identifier: Apache-2.0
#include "engine/torch/graph_builder.h"

#include <fmt/format.h>

#include <set>
#include <stdexcept>

namespace fib::engine {

void GraphBuilder::name(const at::Tensor& tensor, const std::string& name) {
  names_.emplace(tensor.unsafeGetTensorImpl(), Named{Identity(tensor.getIntrusivePtr()), name});
}

void GraphBuilder::inherit_name(const at::Tensor& from, const at::Tensor& to) {
  const auto known = names_.find(from.unsafeGetTensorImpl());
  if (known != names_.end()) name(to, std::string(known->second.name));
}

void GraphBuilder::bind(const at::Tensor& tensor, ValueId value) {
  ids_[tensor.unsafeGetTensorImpl()] = value;
  identities_.emplace_back(tensor.getIntrusivePtr());
}

ValueId GraphBuilder::id_of(const at::Tensor& tensor) {
  const Impl* impl = tensor.unsafeGetTensorImpl();
  if (const auto known = ids_.find(impl); known != ids_.end()) return known->second;
  if (const auto known = constants_.find(impl); known != constants_.end()) return known->second;
  const ValueId id = new_value(tensor.sizes());
  TracedValue& value = values.back();
  value.constant = tensor;
  const auto named = names_.find(impl);
  if (named != names_.end()) value.name = named->second.name;
  constants_[impl] = id;
  return id;
}

ValueId GraphBuilder::new_value(at::IntArrayRef sizes) {
  values.push_back({"", sizes.vec(), {}});
  return static_cast<ValueId>(values.size() - 1);
}

ValueId GraphBuilder::add(Op op, std::vector<ValueId> inputs, at::IntArrayRef sizes, Attributes attributes) {
  const ValueId result = new_value(sizes);
  nodes.push_back({op, std::move(inputs), result, std::move(attributes), in_loop});
  return result;
}

namespace {

class Merge {
 public:
  Merge(const GraphBuilder& two, const GraphBuilder& three) : two_(two), three_(three) {}

  Graph run() {
    if (two_.values.size() != three_.values.size() || two_.nodes.size() != three_.nodes.size())
      differ("other operators");
    graph_.values.reserve(two_.values.size());
    for (size_t i = 0; i < two_.values.size(); ++i) add_value(i);
    for (Value& value : held_) graph_.values.push_back(std::move(value));
    graph_.inputs = {two_.input};
    graph_.outputs = {two_.output};
    if (two_.loop != three_.loop) differ("another loop");
    graph_.loop = two_.loop;
    graph_.nodes = std::move(expansions_);
    for (size_t i = 0; i < two_.nodes.size(); ++i) add_node(i);
    return std::move(graph_);
  }

 private:
  [[noreturn]] static void differ(const char* how) {
    throw std::runtime_error(fmt::format("recording: three images are computed with {} than two", how));
  }

  static Dim dim_of(int64_t two, int64_t three) {
    if (two == three) return {two, false};
    const int64_t count = three - two;
    if (two != 2 * count) differ("other shapes");
    return {count, true};
  }

  static Shape shape_of(const std::vector<int64_t>& two, const std::vector<int64_t>& three) {
    if (two.size() != three.size()) differ("other shapes");
    Shape shape;
    shape.reserve(two.size());
    for (size_t i = 0; i < two.size(); ++i) shape.push_back(dim_of(two[i], three[i]));
    return shape;
  }

  void add_value(size_t i) {
    const TracedValue &value = two_.values[i], &other = three_.values[i];
    if (value.constant.defined() != other.constant.defined()) differ("other constants");
    graph_.values.push_back({value.name, shape_of(value.sizes, other.sizes), nullptr});
    if (value.constant.defined()) set_constant(i, value.constant);
  }

  /// Numbers that were repeated for every sample are held once, and repeated by the graph.
  void set_constant(size_t i, at::Tensor numbers) {
    const Shape shape = graph_.values[i].shape;
    Shape held = shape;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (!shape[axis].batched) continue;
      const at::Tensor first = numbers.narrow(static_cast<int64_t>(axis), 0, 1);
      if (!numbers.eq(first).all().item<bool>()) differ("other constants");
      numbers = first;
      held[axis] = {1, false};
    }
    if (held != shape) {
      const auto id = static_cast<ValueId>(two_.values.size() + expansions_.size());
      expansions_.push_back({Op::expand, {id}, static_cast<ValueId>(i), {}});
      held_.push_back({unique(graph_.values[i].name), held, elements_of(numbers)});
      return;
    }
    graph_.values[i].name = unique(graph_.values[i].name);
    graph_.values[i].data = elements_of(numbers);
  }

  static std::shared_ptr<const float> elements_of(const at::Tensor& numbers) {
    const at::Tensor floats = numbers.to(at::kFloat).contiguous();
    return {floats.data_ptr<float>(), [floats](const float*) {}};
  }

  std::string unique(const std::string& wanted) {
    const std::string base = wanted.empty() ? "constant" : wanted;
    std::string name = base;
    for (int n = 2; !names_.insert(name).second; ++n) name = fmt::format("{}.{}", base, n);
    return name;
  }

  void add_node(size_t i) {
    const Node &a = two_.nodes[i], &b = three_.nodes[i];
    if (a.op != b.op || a.inputs != b.inputs || a.output != b.output || a.attributes != b.attributes ||
        a.repeated != b.repeated)
      differ("other operators");
    graph_.nodes.push_back(a);
  }

  const GraphBuilder &two_, &three_;
  Graph graph_;
  std::vector<Node> expansions_;
  std::vector<Value> held_;
  std::set<std::string> names_;
};

}  // namespace

Graph merged(const GraphBuilder& two, const GraphBuilder& three) { return Merge(two, three).run(); }

}  // namespace fib::engine
