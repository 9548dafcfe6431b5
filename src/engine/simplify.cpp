// SPDX-License-Identifier: Apache-2.0
#include "engine/simplify.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace fib::engine {
namespace {

/// Rewrites a graph in place. A node that is no longer read stays until drop_unread.
class Simplifier {
 public:
  explicit Simplifier(Graph& graph) : graph_(graph) {}

  void run() {
    index();
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      resolve_inputs(i);
      merge_view(i);
      if (is_identity(graph_.nodes[i])) same_as_[place(graph_.nodes[i].output)] = graph_.nodes[i].inputs[0];
    }
    drop_unread();
    index();
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      resolve_inputs(i);
      fold_into_weights(i);
    }
    drop_unread();
  }

 private:
  static size_t place(ValueId id) { return static_cast<size_t>(id); }
  Value& value(ValueId id) { return graph_.values[place(id)]; }

  /// Who computes and how often each value is read.
  void index() {
    const size_t count = graph_.values.size();
    same_as_.resize(count);
    std::iota(same_as_.begin(), same_as_.end(), 0);
    maker_.assign(count, std::nullopt);
    readers_.assign(count, 0);
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      maker_[place(graph_.nodes[i].output)] = i;
      for (const ValueId id : graph_.nodes[i].inputs) {
        if (id != kNoValue) ++readers_[place(id)];
      }
    }
    for (const ValueId id : graph_.outputs) ++readers_[place(id)];
    for_loop([&](ValueId& id) { ++readers_[place(id)]; });
  }

  /// All values that the loop names.
  template <class Visit>
  void for_loop(const Visit& visit) {
    if (!graph_.loop) return;
    visit(graph_.loop->state), visit(graph_.loop->first), visit(graph_.loop->next);
    for (GraphLoop::Row& row : graph_.loop->rows) visit(row.row), visit(row.table);
  }

  ValueId resolved(ValueId id) const {
    while (id != kNoValue && same_as_[place(id)] != id) id = same_as_[place(id)];
    return id;
  }

  void resolve_inputs(size_t i) {
    for (ValueId& id : graph_.nodes[i].inputs) id = resolved(id);
  }

  Node* maker_of(ValueId id, Op op) {
    const std::optional<size_t> i = maker_[place(id)];
    return i && graph_.nodes[*i].op == op ? &graph_.nodes[*i] : nullptr;
  }

  // ---- Views --------------------------------------------------------------------------------------------------------

  /// A view of a view reads what the first one does.
  void merge_view(size_t i) {
    Node& node = graph_.nodes[i];
    if (node.op != Op::reshape && node.op != Op::permute) return;
    const Node* before = maker_of(node.inputs[0], node.op);
    if (before == nullptr) return;
    node.inputs = before->inputs;
    if (node.op == Op::reshape) return;
    std::vector<int64_t> order = node.as<Permute>().order;
    for (int64_t& axis : order) axis = before->as<Permute>().order[static_cast<size_t>(axis)];
    node.attributes = Permute{order};
  }

  bool is_identity(const Node& node) const {
    const bool same_shape = graph_.shape(node.output) == graph_.shape(node.inputs[0]);
    if (node.op == Op::permute) return std::is_sorted(node.as<Permute>().order.begin(), node.as<Permute>().order.end());
    if (node.op == Op::concat) return node.inputs.size() == 1;
    return same_shape && (node.op == Op::reshape || node.op == Op::slice || node.op == Op::expand);
  }

  // ---- Factors and terms of channels --------------------------------------------------------------------------------

  /// Where the channels of a map's output are counted from the end, 1 for the last.
  static size_t channel_place(Op op) { return op == Op::conv2d ? 3 : 1; }

  /// The convolution or linear map whose channels this node alone scales or shifts; perhaps a reshape that keeps the
  /// channels last stands between.
  Node* map_before(ValueId id) {
    if (readers_[place(id)] != 1) return nullptr;
    if (Node* conv = maker_of(id, Op::conv2d)) return conv;
    if (Node* linear = maker_of(id, Op::linear)) return linear;
    const Node* view = maker_of(id, Op::reshape);
    if (view == nullptr || readers_[place(view->inputs[0])] != 1) return nullptr;
    const bool keeps = graph_.shape(id).back() == graph_.shape(view->inputs[0]).back();
    return keeps ? maker_of(view->inputs[0], Op::linear) : nullptr;
  }

  /// The numbers of a constant that has one for each of n channels, or one for all; empty if it varies otherwise.
  std::vector<float> by_channel(ValueId id, Op op, int64_t n) {
    const Value& c = value(id);
    if (!c.constant()) return {};
    const auto numbers = c.elements();
    if (numbers.size() == 1) return std::vector<float>(static_cast<size_t>(n), numbers[0]);
    const size_t from_end = channel_place(op);
    const bool fits = static_cast<int64_t>(numbers.size()) == n && c.shape.size() >= from_end &&
                      c.shape[c.shape.size() - from_end] == Dim{n};
    return fits ? std::vector<float>(numbers.begin(), numbers.end()) : std::vector<float>();
  }

  ValueId add_constant(const std::string& name, const Shape& shape, std::vector<float> numbers) {
    const auto owner = std::make_shared<const std::vector<float>>(std::move(numbers));
    graph_.values.push_back({name, shape, {owner, owner->data()}});
    same_as_.push_back(static_cast<ValueId>(same_as_.size()));
    maker_.emplace_back();
    readers_.push_back(1);
    return same_as_.back();
  }

  void scale_weights(Node& map, const std::vector<float>& factors) {
    const Value weight = value(map.inputs[1]);
    std::vector<float> numbers(weight.elements().begin(), weight.elements().end());
    const size_t row = numbers.size() / factors.size();
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] *= factors[i / row];
    map.inputs[1] = add_constant(weight.name, weight.shape, std::move(numbers));
    if (map.inputs.size() < 3 || map.inputs[2] == kNoValue) return;
    const Value bias = value(map.inputs[2]);
    std::vector<float> terms(bias.elements().begin(), bias.elements().end());
    for (size_t i = 0; i < terms.size(); ++i) terms[i] *= factors[i];
    map.inputs[2] = add_constant(bias.name, bias.shape, std::move(terms));
  }

  void shift_bias(Node& map, const std::string& name, std::vector<float> terms) {
    map.inputs.resize(3, kNoValue);
    std::string kept = name;
    if (map.inputs[2] != kNoValue) {
      const Value& bias = value(map.inputs[2]);
      kept = bias.name;
      for (size_t i = 0; i < terms.size(); ++i) terms[i] += bias.elements()[i];
    }
    const Shape shape{Dim{static_cast<int64_t>(terms.size())}};
    map.inputs[2] = add_constant(kept, shape, std::move(terms));
  }

  void fold_into_weights(size_t i) {
    const Node node = graph_.nodes[i];
    if (node.op != Op::mul && node.op != Op::add) return;
    const bool swapped = value(node.inputs[0]).constant();
    const ValueId computed = node.inputs[swapped ? 1 : 0], constant = node.inputs[swapped ? 0 : 1];
    if (value(computed).constant() || graph_.shape(computed) != graph_.shape(node.output)) return;
    Node* map = map_before(computed);
    if (map == nullptr || !value(map->inputs[1]).constant()) return;
    const std::vector<float> numbers = by_channel(constant, map->op, graph_.shape(map->inputs[1])[0].count);
    if (numbers.empty()) return;
    const std::string name = value(constant).name;
    if (node.op == Op::mul) {
      scale_weights(*map, numbers);
    } else {
      shift_bias(*map, name, numbers);
    }
    same_as_[place(node.output)] = computed;
    readers_[place(computed)] = readers_[place(node.output)];
  }

  // ---- What is not read --------------------------------------------------------------------------------------------

  void drop_unread() {
    for (ValueId& id : graph_.outputs) id = resolved(id);
    for_loop([&](ValueId& id) { id = resolved(id); });
    std::vector<bool> read(graph_.values.size());
    for (const ValueId id : graph_.outputs) read[place(id)] = true;
    for_loop([&](ValueId& id) { read[place(id)] = true; });
    std::vector<Node> kept;
    for (auto node = graph_.nodes.rbegin(); node != graph_.nodes.rend(); ++node) {
      if (!read[place(node->output)]) continue;
      for (const ValueId id : node->inputs) {
        if (id != kNoValue) read[place(id)] = true;
      }
      kept.push_back(std::move(*node));
    }
    std::reverse(kept.begin(), kept.end());
    graph_.nodes = std::move(kept);
    for (const ValueId id : graph_.inputs) read[place(id)] = true;
    renumber(read);
  }

  void renumber(const std::vector<bool>& read) {
    std::vector<ValueId> number(read.size(), kNoValue);
    std::vector<Value> values;
    for (size_t i = 0; i < read.size(); ++i) {
      if (!read[i]) continue;
      number[i] = static_cast<ValueId>(values.size());
      values.push_back(std::move(graph_.values[i]));
    }
    graph_.values = std::move(values);
    const auto apply = [&](ValueId& id) { id = id == kNoValue ? kNoValue : number[place(id)]; };
    std::for_each(graph_.inputs.begin(), graph_.inputs.end(), apply);
    std::for_each(graph_.outputs.begin(), graph_.outputs.end(), apply);
    for_loop(apply);
    for (Node& node : graph_.nodes) {
      std::for_each(node.inputs.begin(), node.inputs.end(), apply);
      apply(node.output);
    }
  }

  Graph& graph_;
  std::vector<ValueId> same_as_;              // what stands for a value; itself unless it was found to be another
  std::vector<std::optional<size_t>> maker_;  // the node that computes it
  std::vector<int> readers_;
};

}  // namespace

Graph simplified(Graph graph) {
  Simplifier(graph).run();
  return graph;
}

}  // namespace fib::engine
