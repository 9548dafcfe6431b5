// SPDX-License-Identifier: Apache-2.0
#include "engine/torch/translate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

namespace fib::engine {
namespace {

/// One call on its way into a draft.
class Translation {
 public:
  Translation(const TorchCall& call, Draft& draft) : call_(call), draft_(draft) {}

  [[noreturn]] void refuse(const char* why) const {
    throw std::runtime_error(fmt::format("recording: {} {}, which a graph cannot express", call_.name, why));
  }
  void require(bool good, const char* why) const {
    if (!good) refuse(why);
  }

  // ---- What was given -----------------------------------------------------------------------------------------------

  const c10::IValue& in(size_t i) const { return call_.inputs.at(i); }
  bool given(size_t i) const { return i < call_.inputs.size() && !in(i).isNone(); }
  at::Tensor tensor(size_t i) const { return in(i).toTensor(); }
  int64_t integer(size_t i) const { return in(i).toInt(); }
  std::vector<int64_t> integers(size_t i) const { return in(i).toIntVector(); }
  int64_t rank() const { return tensor(0).dim(); }

  /// Counted from the front.
  int64_t axis(size_t i, int64_t dims) const { return integer(i) < 0 ? integer(i) + dims : integer(i); }
  std::vector<int64_t> axes(size_t i) const {
    std::vector<int64_t> list = integers(i);
    for (int64_t& a : list) a += a < 0 ? rank() : 0;
    return list;
  }
  std::array<int64_t, 2> pair(size_t i) const {
    require(in(i).isIntList(), "has words for numbers");
    const std::vector<int64_t> list = integers(i);
    if (list.size() == 1) return {list[0], list[0]};
    require(list.size() == 2, "is not two-dimensional");
    return {list[0], list[1]};
  }

  /// A tensor, or a number as a tensor; nothing for one that is left out.
  ValueId operand(size_t i) const {
    if (!given(i)) return kNoValue;
    if (in(i).isTensor()) return in(i).toTensor().defined() ? draft_.id_of(in(i).toTensor()) : kNoValue;
    return draft_.id_of(at::scalar_tensor(in(i).toScalar()));
  }

  // ---- What came out ------------------------------------------------------------------------------------------------

  at::Tensor output() const { return call_.outputs.at(0).toTensor(); }
  at::IntArrayRef sizes() const { return call_.outputs.at(0).toTensor().sizes(); }
  void bind(ValueId id) const { draft_.bind(output(), id); }

  ValueId add(Op op, std::vector<ValueId> inputs, at::IntArrayRef out, Attributes attributes = {}) const {
    return draft_.add(op, std::move(inputs), out, std::move(attributes));
  }
  /// The whole call as one node.
  void emit(Op op, std::vector<ValueId> inputs, Attributes attributes = {}) const {
    bind(add(op, std::move(inputs), sizes(), std::move(attributes)));
  }
  ValueId constant(const at::Tensor& numbers) const { return draft_.id_of(numbers); }
  void inherit_name(const at::Tensor& from, const at::Tensor& to) const { draft_.inherit_name(from, to); }

  /// `count` elements along an axis; `out` is bound to them in its own shape.
  void bind_slice(const at::Tensor& out, int64_t along, int64_t begin, int64_t count) const {
    std::vector<int64_t> cut = tensor(0).sizes().vec();
    cut[static_cast<size_t>(along)] = count;
    ValueId id = add(Op::slice, {operand(0)}, cut, Slice{along, begin});
    if (out.sizes() != at::IntArrayRef(cut)) id = add(Op::reshape, {id}, out.sizes());
    draft_.bind(out, id);
  }

  std::vector<at::Tensor> output_list() const { return call_.outputs.at(0).toTensorVector(); }
  std::vector<at::Tensor> input_list() const { return in(0).toTensorVector(); }
  ValueId id_of(const at::Tensor& t) const { return draft_.id_of(t); }

 private:
  const TorchCall& call_;
  Draft& draft_;
};

using Rule = void (*)(const Translation& t);

void same(const Translation& t) { t.bind(t.operand(0)); }
void reshape(const Translation& t) { t.emit(Op::reshape, {t.operand(0)}); }
template <Op op>
void unary(const Translation& t) {
  t.emit(op, {t.operand(0)});
}

void linear(const Translation& t) { t.emit(Op::linear, {t.operand(0), t.operand(1), t.operand(2)}); }
void matmul(const Translation& t) {
  t.require(t.rank() >= 2 && t.tensor(1).dim() >= 2, "multiplies vectors");
  t.emit(Op::matmul, {t.operand(0), t.operand(1)});
}

/// (x, weight, bias, stride, padding, dilation, groups)
void conv2d(const Translation& t) {
  t.require(t.pair(5) == std::array<int64_t, 2>{1, 1}, "is dilated");
  t.emit(Op::conv2d, {t.operand(0), t.operand(1), t.operand(2)}, Conv2d{t.pair(3), t.pair(4), t.integer(6)});
}

/// (x, kernel, stride, padding, dilation, ceil_mode)
void max_pool2d(const Translation& t) {
  t.require(t.pair(4) == std::array<int64_t, 2>{1, 1} && !t.in(5).toBool(), "is dilated or rounds up");
  const bool own_stride = t.integers(2).empty();
  t.emit(Op::max_pool2d, {t.operand(0)}, Pool2d{t.pair(1), t.pair(own_stride ? 1 : 2), t.pair(3)});
}

/// (x, shape, weight, bias, eps)
void layer_norm(const Translation& t) {
  t.require(t.integers(1).size() == 1 && t.given(2) && t.given(3), "has no weights or several dimensions");
  t.emit(Op::layer_norm, {t.operand(0), t.operand(2), t.operand(3)}, LayerNorm{t.in(4).toDouble()});
}

/// (x, weight, bias, mean, variance, training, momentum, eps): with fixed statistics a factor and a term per channel,
/// which cleaning makes part of the map before.
void batch_norm(const Translation& t) {
  t.require(!t.in(5).toBool() && t.given(1) && t.given(2), "is in training or has no weights");
  std::vector<int64_t> by_channel(static_cast<size_t>(t.rank() - 1), 1);
  by_channel[0] = -1;
  const at::Tensor factor = t.tensor(1) * (t.tensor(4) + t.in(7).toDouble()).rsqrt();
  const at::Tensor term = (t.tensor(2) - t.tensor(3) * factor).view(by_channel);
  const at::Tensor shaped = factor.view(by_channel);
  t.inherit_name(t.tensor(1), shaped);
  t.inherit_name(t.tensor(2), term);
  const ValueId scaled = t.add(Op::mul, {t.operand(0), t.constant(shaped)}, t.sizes());
  t.emit(Op::add, {scaled, t.constant(term)});
}

void gelu(const Translation& t) {
  t.require(!t.given(1) || t.in(1).toStringRef() == "none", "is approximate");
  t.emit(Op::gelu, {t.operand(0)});
}

void softmax(const Translation& t) { t.emit(Op::softmax, {t.operand(0)}, Axis{t.axis(1, t.rank())}); }

template <Op op>
void binary(const Translation& t) {
  t.require(!t.given(2) || t.in(2).toScalar().toDouble() == 1.0, "scales its second operand");
  t.emit(op, {t.operand(0), t.operand(1)});
}

void subtract_from(const Translation& t) {
  t.require(!t.given(2) || t.in(2).toScalar().toDouble() == 1.0, "scales its second operand");
  t.emit(Op::sub, {t.operand(1), t.operand(0)});
}

/// By what is known: a factor.
void divide(const Translation& t) {
  t.require(!t.given(2), "rounds");
  const at::Tensor by = t.in(1).isTensor() ? t.tensor(1) : at::scalar_tensor(t.in(1).toScalar());
  const ValueId factor = t.constant(by.reciprocal());
  t.emit(Op::mul, {t.operand(0), factor});
}

/// (x, axes, keepdim)
void mean(const Translation& t) {
  t.require(t.given(1), "is over everything");
  std::vector<int64_t> axes = t.axes(1), left;
  std::sort(axes.begin(), axes.end());
  for (int64_t i = 0; i < t.rank(); ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), i)) left.push_back(t.tensor(0).size(i));
  }
  const ValueId id = t.add(Op::mean, {t.operand(0)}, left, Axes{axes});
  t.bind(t.in(2).toBool() ? t.add(Op::reshape, {id}, t.sizes()) : id);
}

void permute(const Translation& t) { t.emit(Op::permute, {t.operand(0)}, Permute{t.axes(1)}); }

void swap_axes(const Translation& t, int64_t a, int64_t b) {
  std::vector<int64_t> order(static_cast<size_t>(t.rank()));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  std::swap(order[static_cast<size_t>(a)], order[static_cast<size_t>(b)]);
  t.emit(Op::permute, {t.operand(0)}, Permute{order});
}

void transpose(const Translation& t) { swap_axes(t, t.axis(1, t.rank()), t.axis(2, t.rank())); }
void transpose_matrix(const Translation& t) { swap_axes(t, 0, t.rank() - 1); }

/// (x, axis, index)
void select(const Translation& t) {
  const int64_t along = t.axis(1, t.rank());
  t.bind_slice(t.output(), along, t.axis(2, t.tensor(0).size(along)), 1);
}

/// (x, axis, begin, count)
void narrow(const Translation& t) {
  const int64_t along = t.axis(1, t.rank());
  t.bind_slice(t.output(), along, t.axis(2, t.tensor(0).size(along)), t.integer(3));
}

/// (x, axis, begin, end, step)
void slice(const Translation& t) {
  t.require(!t.given(4) || t.integer(4) == 1, "has a step");
  const int64_t along = t.axis(1, t.rank()), begin = t.given(2) ? t.axis(2, t.tensor(0).size(along)) : 0;
  t.bind_slice(t.output(), along, begin, t.output().size(along));
}

/// chunk and split: (x, how, axis), parts side by side.
void parts(const Translation& t) {
  const int64_t along = t.axis(2, t.rank());
  int64_t begin = 0;
  for (const at::Tensor& part : t.output_list()) {
    t.bind_slice(part, along, begin, part.size(along));
    begin += part.size(along);
  }
}

/// (x, axis)
void unbind(const Translation& t) {
  const int64_t along = t.axis(1, t.rank());
  int64_t begin = 0;
  for (const at::Tensor& part : t.output_list()) t.bind_slice(part, along, begin++, 1);
}

void concat(const Translation& t) {
  std::vector<ValueId> ids;
  for (const at::Tensor& part : t.input_list()) {
    if (part.numel() > 0) ids.push_back(t.id_of(part));  // no class tokens, for instance
  }
  t.emit(Op::concat, ids, Axis{t.axis(1, t.output().dim())});
}

/// (x, shifts, axes)
void roll(const Translation& t) {
  t.require(!t.integers(2).empty(), "is over everything");
  t.emit(Op::roll, {t.operand(0)}, Roll{t.integers(1), t.axes(2)});
}

const std::map<std::string, Rule>& rules() {
  static const std::map<std::string, Rule> table = {
      {"aten::linear", linear},
      {"aten::matmul", matmul},
      {"aten::bmm", matmul},
      {"aten::mm", matmul},
      {"aten::conv2d", conv2d},
      {"aten::max_pool2d", max_pool2d},
      {"aten::layer_norm", layer_norm},
      {"aten::batch_norm", batch_norm},
      {"aten::softmax", softmax},
      {"aten::gelu", gelu},
      {"aten::sigmoid", unary<Op::sigmoid>},
      {"aten::relu", unary<Op::relu>},
      {"aten::add", binary<Op::add>},
      {"aten::sub", binary<Op::sub>},
      {"aten::rsub", subtract_from},
      {"aten::mul", binary<Op::mul>},
      {"aten::div", divide},
      {"aten::mean", mean},
      {"aten::view", reshape},
      {"aten::reshape", reshape},
      {"aten::_unsafe_view", reshape},
      {"aten::flatten", reshape},
      {"aten::unflatten", reshape},
      {"aten::squeeze", reshape},
      {"aten::unsqueeze", reshape},
      {"aten::permute", permute},
      {"aten::transpose", transpose},
      {"aten::t", transpose_matrix},
      {"aten::select", select},
      {"aten::narrow", narrow},
      {"aten::slice", slice},
      {"aten::chunk", parts},
      {"aten::split", parts},
      {"aten::split_with_sizes", parts},
      {"aten::unbind", unbind},
      {"aten::cat", concat},
      {"aten::roll", roll},
      {"aten::expand", unary<Op::expand>},
      {"aten::contiguous", same},
      {"aten::clone", same},
      {"aten::dropout", same},
      {"aten::detach", same},
  };
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

bool is_known(const std::string& name) { return rules().count(name) > 0; }

void translate(const TorchCall& call, Draft& draft) {
  try {
    rules().at(call.name)(Translation(call, draft));
  } catch (const c10::Error& e) {
    throw std::runtime_error(
        fmt::format("recording: {} has other arguments than expected: {}", call.name, e.what_without_backtrace()));
  }
}

}  // namespace fib::engine
