// SPDX-License-Identifier: Apache-2.0
#include "engine/torch/translate.h"

#include <fmt/format.h>

#include <map>
#include <stdexcept>

#include "engine/aten_call.h"

namespace fib::engine {
namespace {

/// A call of torch's types.
class TracedCall final : public AtenCall {
 public:
  TracedCall(const TorchCall& call, GraphBuilder& builder) : call_(call), builder_(builder) {}

  bool given(size_t i) const override { return i < call_.inputs.size() && !in(i).isNone(); }
  int64_t integer(size_t i) const override { return in(i).toInt(); }
  double number(size_t i) const override { return in(i).toScalar().toDouble(); }
  bool flag(size_t i) const override { return in(i).toBool(); }
  std::string text(size_t i) const override { return in(i).toStringRef(); }
  bool is_integers(size_t i) const override { return in(i).isIntList(); }
  std::vector<int64_t> integers(size_t i) const override { return in(i).toIntVector(); }
  std::vector<int64_t> sizes(size_t i) const override { return tensor(i).sizes().vec(); }
  ValueId operand(size_t i) override {
    if (!given(i)) return kNoValue;
    if (in(i).isTensor()) return tensor(i).defined() ? builder_.id_of(tensor(i)) : kNoValue;
    return builder_.id_of(at::scalar_tensor(in(i).toScalar()));
  }
  std::vector<ValueId> operands(size_t i) override {
    std::vector<ValueId> ids;
    for (const at::Tensor& part : in(i).toTensorVector()) {
      if (part.numel() > 0) ids.push_back(builder_.id_of(part));
    }
    return ids;
  }

  size_t outputs() const override { return tensors_in(call_.outputs).size(); }
  std::vector<int64_t> output_sizes(size_t i) const override { return output(i).sizes().vec(); }
  void bind(ValueId value, size_t i) override { builder_.bind(output(i), value); }
  ValueId add(Op op, std::vector<ValueId> inputs, const std::vector<int64_t>& sizes, Attributes attributes) override {
    return builder_.add(op, std::move(inputs), sizes, std::move(attributes));
  }
  void refuse(const char* why) const override {
    throw std::runtime_error(fmt::format("recording: unsupported call of {}: it {}", call_.name, why));
  }

  // ---- For operators of ATen that are several of ours
  const c10::IValue& in(size_t i) const { return call_.inputs.at(i); }
  at::Tensor tensor(size_t i) const { return in(i).toTensor(); }
  ValueId constant(const at::Tensor& numbers) { return builder_.id_of(numbers); }
  void inherit_name(const at::Tensor& from, const at::Tensor& to) { builder_.inherit_name(from, to); }

 private:
  at::Tensor output(size_t i) const { return tensors_in(call_.outputs).at(i); }

  const TorchCall& call_;
  GraphBuilder& builder_;
};

// ---- Operators of ATen that are none or several of ours -------------------------------------------------------------

void same(TracedCall& c) { c.bind(c.operand(0), 0); }

/// (x, weight, bias, mean, variance, training, momentum, eps): with fixed statistics a factor and a term per channel,
/// which simplification makes part of the map before.
void batch_norm(TracedCall& c) {
  c.require(!c.flag(5) && c.given(1) && c.given(2), "is in training or has no weights");
  std::vector<int64_t> by_channel(static_cast<size_t>(c.rank() - 1), 1);
  by_channel[0] = -1;
  const at::Tensor factor = c.tensor(1) * (c.tensor(4) + c.number(7)).rsqrt();
  const at::Tensor term = (c.tensor(2) - c.tensor(3) * factor).view(by_channel);
  const at::Tensor shaped = factor.view(by_channel);
  c.inherit_name(c.tensor(1), shaped);
  c.inherit_name(c.tensor(2), term);
  const ValueId scaled = c.add(Op::mul, {c.operand(0), c.constant(shaped)}, c.output_sizes(0), {});
  c.emit(Op::add, {scaled, c.constant(term)});
}

/// By a constant: a factor.
void divide(TracedCall& c) {
  c.require(!c.given(2), "rounds");
  const at::Tensor by = c.in(1).isTensor() ? c.tensor(1) : at::scalar_tensor(c.in(1).toScalar());
  const ValueId factor = c.constant(by.reciprocal());
  c.emit(Op::mul, {c.operand(0), factor});
}

/// Weights [2D,C,3] whose channels are the even values of a transposed convolution with stride 2 and padding 1, then
/// the odd ones; weight [C,D,4].
at::Tensor doubling_weights(const at::Tensor& weight) {
  const at::Tensor none = at::zeros_like(weight.select(2, 0)),
                   even = at::stack({weight.select(2, 3), weight.select(2, 1), none}, 2),
                   odd = at::stack({none, weight.select(2, 2), weight.select(2, 0)}, 2);  // [C,D,3]
  return at::cat({even, odd}, 1).transpose(0, 1).contiguous();
}

/// [n,C,T] to [n,D,2T].
void double_length(TracedCall& c) {
  const at::Tensor weight = doubling_weights(c.tensor(1));
  const std::vector<int64_t> x = c.sizes(0), out = c.output_sizes(0);
  c.inherit_name(c.tensor(1), weight);
  ValueId bias = kNoValue;
  if (c.given(2)) {
    const at::Tensor twice = c.tensor(2).repeat({2});
    c.inherit_name(c.tensor(2), twice);
    bias = c.constant(twice);
  }
  const ValueId both =
      c.add(Op::conv1d, {c.operand(0), c.constant(weight), bias}, {x[0], 2 * out[1], x[2]}, Conv1d{3, 1, 1});
  const ValueId split = c.add(Op::reshape, {both}, {x[0], 2, out[1], x[2]}, {});
  const ValueId turned = c.add(Op::permute, {split}, {x[0], out[1], x[2], 2}, Permute{{0, 2, 3, 1}});
  c.bind(c.add(Op::reshape, {turned}, out, {}), 0);
}

/// (x, weight, bias, stride, padding, dilation, transposed, output padding, groups)
void convolution(TracedCall& c) {
  const std::vector<int64_t> stride = c.integers(3), padding = c.integers(4), weight = c.sizes(1),
                             ones(stride.size(), 1);
  c.require(c.integers(5) == ones, "is dilated");
  const bool image = c.rank() == 4;
  if (image && !c.flag(6))
    return c.emit(Op::conv2d, {c.operand(0), c.operand(1), c.operand(2)}, Conv2d{c.pair(3), c.pair(4), c.integer(8)});
  c.require(c.rank() == 3 && c.integer(8) == 1, "is transposed over images, or has groups");
  if (!c.flag(6))
    return c.emit(Op::conv1d, {c.operand(0), c.operand(1), c.operand(2)}, Conv1d{weight[2], stride[0], padding[0]});
  c.require(stride[0] == 2 && padding[0] == 1 && weight[2] == 4 && c.integers(7)[0] == 0,
            "is transposed with another kernel");
  double_length(c);
}

std::vector<int64_t> convolution_sizes(const TracedCall& c) {
  const std::vector<int64_t> x = c.sizes(0), weight = c.sizes(1), stride = c.integers(3), padding = c.integers(4);
  std::vector<int64_t> sizes{x[0], weight[c.flag(6) ? 1 : 0]};
  for (size_t d = 0; d < stride.size(); ++d)
    sizes.push_back(c.flag(6) ? (x[d + 2] - 1) * stride[d] - 2 * padding[d] + weight[d + 2]
                              : (x[d + 2] + 2 * padding[d] - weight[d + 2]) / stride[d] + 1);
  return sizes;
}

struct CompositeRule {
  void (*record)(TracedCall& call);
  /// Where ATen has no meta kernel.
  std::vector<int64_t> (*sizes)(const TracedCall& call) = nullptr;
};

const std::map<std::string, CompositeRule>& composite_rules() {
  static const std::map<std::string, CompositeRule> table = {
      {"aten::batch_norm", {batch_norm, [](const TracedCall& c) { return c.sizes(0); }}},
      {"aten::convolution", {convolution, convolution_sizes}},
      {"aten::div", {divide}},
      {"aten::contiguous", {same}},
      {"aten::clone", {same}},
      {"aten::dropout", {same}},
      {"aten::detach", {same}},
  };
  return table;
}

/// By name, from the table of operators.
const std::map<std::string, AtenRule>& operator_rules() {
  static const auto table = [] {
    std::map<std::string, AtenRule> rules;
    for (const OperatorRow& op : kOperators) {
      for (const AtenRule& rule : op.row->aten) {
        if (!rules.emplace(rule.name, rule).second || composite_rules().contains(rule.name))
          throw std::logic_error(fmt::format("two operators record {}", rule.name));
      }
    }
    return rules;
  }();
  return table;
}

}  // namespace

std::vector<at::Tensor> tensors_in(const std::vector<c10::IValue>& values) {
  std::vector<at::Tensor> found;
  for (const c10::IValue& value : values) {
    if (value.isTensor() && value.toTensor().defined()) found.push_back(value.toTensor());
    if (!value.isTensorList()) continue;
    for (const at::Tensor& tensor : value.toTensorVector()) found.push_back(tensor);
  }
  return found;
}

bool has_rule(const std::string& name) { return operator_rules().contains(name) || composite_rules().contains(name); }

std::vector<int64_t> sizes_without_kernel(const TorchCall& call) {
  GraphBuilder none;
  const TracedCall traced(call, none);
  if (const auto found = composite_rules().find(call.name); found != composite_rules().end())
    return found->second.sizes == nullptr ? std::vector<int64_t>() : found->second.sizes(traced);
  const auto rule = operator_rules().find(call.name);
  return rule == operator_rules().end() || rule->second.sizes == nullptr ? std::vector<int64_t>()
                                                                         : rule->second.sizes(traced);
}

void translate(const TorchCall& call, GraphBuilder& builder) {
  TracedCall traced(call, builder);
  try {
    const auto composite = composite_rules().find(call.name);
    if (composite != composite_rules().end()) return composite->second.record(traced);
    operator_rules().at(call.name).record(traced);
  } catch (const c10::Error& e) {
    throw std::runtime_error(
        fmt::format("recording: {} has other arguments than expected: {}", call.name, e.what_without_backtrace()));
  }
}

}  // namespace fib::engine
