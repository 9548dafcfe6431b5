// SPDX-License-Identifier: Apache-2.0
#include "engine/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace fib::engine {
namespace {

constexpr const char* kKindNames[] = {"linear", "attention", "layer_norm", "unary",  "binary",    "softmax",
                                      "mean",   "copy",      "matmul",     "conv2d", "depthwise", "max_pool2d"};
constexpr const char* kFunctionNames[] = {"none", "gelu", "relu", "sigmoid", "add", "subtract", "multiply"};
constexpr const char* kRoleNames[kRoles] = {"x",     "y",    "q",        "k",       "v",  "weights",
                                            "scale", "bias", "residual", "scratch", "out"};

template <class Enum, size_t kSize>
Enum named(const char* const (&names)[kSize], const std::string& name, const char* what) {
  const auto* found = std::find(std::begin(names), std::end(names), name);
  if (found == std::end(names)) throw std::invalid_argument(fmt::format("no {} is called '{}'", what, name));
  return static_cast<Enum>(found - std::begin(names));
}

/// Room that no model needs: 4 billion numbers.
constexpr int64_t kMostElements = int64_t{1} << 32;
constexpr size_t kMostDimensions = 8;
constexpr int64_t kMostWindow = 1 << 14;

/// Columns filled up to whole panels, and the values of a packed matrix.
Checked panel_columns(int64_t columns) {
  return Checked((Checked(columns) + kPanelColumns - 1).value() / kPanelColumns) * kPanelColumns;
}
Checked packed_elements(int64_t columns, Checked depth) { return panel_columns(columns) * depth; }

class ProgramChecker {
 public:
  explicit ProgramChecker(const Program& program) : program_(program), written_(program.buffers.size()) {}

  void run() {
    check_buffers();
    for (step_ = 0; step_ < program_.steps.size(); ++step_) {
      try {
        check_step();
      } catch (const std::overflow_error& error) {
        require(false, "{}", error.what());
      }
    }
    for (size_t i = 0; i < program_.buffers.size(); ++i) {
      if (program_.buffers[i].kind == Buffer::Kind::output && !written_[i])
        throw std::runtime_error("no step writes the logits");
    }
  }

 private:
  const Program& program_;
  std::vector<bool> written_;
  size_t step_ = 0;

  const Step& step() const { return program_.steps[step_]; }
  const Operand& at(Role role) const { return step().at(role); }
  const Buffer& buffer(const Operand& operand) const { return program_.buffers[static_cast<size_t>(operand.buffer)]; }

  template <class... Values>
  void require(bool good, fmt::format_string<Values...> what, Values&&... values) const {
    if (good) return;
    throw std::runtime_error(fmt::format("step {} ({}): {}", step_, name_of(step().kind),
                                         fmt::format(what, std::forward<Values>(values)...)));
  }

  void check_buffers() {
    const auto good = [](bool fact, size_t i, const char* what) {
      if (!fact) throw std::runtime_error(fmt::format("buffer {}: {}", i, what));
    };
    int64_t inputs = 0, outputs = 0;
    if (program_.arena_elements < 0 || program_.arena_elements > kMostElements)
      throw std::runtime_error(
          fmt::format("an arena of {} numbers, accepted are up to {}", program_.arena_elements, kMostElements));
    for (size_t i = 0; i < program_.buffers.size(); ++i) {
      const Buffer& b = program_.buffers[i];
      good(b.elements >= 1 && b.elements <= kMostElements, i, "its size cannot be");
      good(b.kind == Buffer::Kind::tensor || b.type == TensorType::f32, i, "only tensors are not float32");
      if (b.kind == Buffer::Kind::arena)
        good(b.offset >= 0 && b.offset <= program_.arena_elements - b.elements, i, "it lies outside the arena");
      inputs += b.kind == Buffer::Kind::input;
      outputs += b.kind == Buffer::Kind::output;
      if (b.kind == Buffer::Kind::input)
        good(b.elements == program_.sample_elements(), i, "it is not the size of a sample");
      if (b.kind == Buffer::Kind::output) good(b.elements == program_.classes, i, "it is not as long as the logits");
      written_[i] = b.kind == Buffer::Kind::input || b.kind == Buffer::Kind::tensor;
    }
    if (inputs != 1 || outputs != 1)
      throw std::runtime_error(fmt::format("{} inputs and {} outputs, accepted is one each", inputs, outputs));
  }

  void check_step() {
    for (size_t i = 0; i < kRoles; ++i) check_operand(static_cast<Role>(i));
    check_shapes();
    written_[static_cast<size_t>(at(Role::out).buffer)] = true;
  }

  void check_operand(Role role) {
    const Operand& o = at(role);
    const char* name = name_of(role);
    require(o.buffer >= -1 && o.buffer < static_cast<int64_t>(program_.buffers.size()), "{} is buffer {} of {}", name,
            o.buffer, program_.buffers.size());
    if (!o.given()) return;
    require(o.sizes.size() == o.strides.size() && !o.sizes.empty() && o.sizes.size() <= kMostDimensions,
            "{} has {} sizes and {} strides", name, o.sizes.size(), o.strides.size());
    const Buffer& b = buffer(o);
    require(o.offset >= 0 && o.offset < b.elements, "{} begins outside its buffer", name);
    Checked last = o.offset, all = 1;
    for (size_t d = 0; d < o.sizes.size(); ++d) {
      const int64_t size = o.sizes[d], stride = o.strides[d];
      require(size >= 1 && stride >= 0, "{} has size {} and stride {}", name, size, stride);
      all *= size, last += Checked(size - 1) * stride;
      require(all <= kMostElements, "{} has more than {} values", name, kMostElements);
      require(last < b.elements, "{} reaches beyond the {} values of buffer {}", name, b.elements, o.buffer);
    }
    const bool writes = role == Role::out || role == Role::scratch;
    if (writes) {
      require(b.kind == Buffer::Kind::arena || (role == Role::out && b.kind == Buffer::Kind::output),
              "{} cannot be written", name);
    } else {
      require(written_[static_cast<size_t>(o.buffer)], "{} is read before any step has written it", name);
    }
    require(b.type == TensorType::f32 || role == Role::weights, "{} is not float32", name);
  }

  void need(std::initializer_list<Role> roles) const {
    for (Role role : roles) require(at(role).given(), "{} is missing", name_of(role));
    require(at(Role::out).given(), "out is missing");
  }
  void rank(Role role, size_t dimensions) const {
    require(at(role).sizes.size() == dimensions, "{} has {} dimensions, accepted are {}", name_of(role),
            at(role).sizes.size(), dimensions);
  }
  int64_t size(Role role, size_t d) const { return at(role).sizes[d]; }
  void same(int64_t a, int64_t b, const char* what) const { require(a == b, "{}: {} and {}", what, a, b); }
  /// Consecutive values along the last dimension; of what is written, no value twice.
  void dense_rows(Role role) const {
    const Operand& o = at(role);
    require(o.strides.back() == 1 || o.sizes.back() == 1, "{} is not contiguous", name_of(role));
    if (role != Role::out) return;
    std::vector<std::pair<int64_t, int64_t>> dimensions;
    for (size_t d = 0; d < o.sizes.size(); ++d) {
      if (o.sizes[d] > 1) dimensions.emplace_back(o.strides[d], o.sizes[d]);
    }
    std::ranges::sort(dimensions);
    Checked reach = 1;
    for (const auto& [stride, count] : dimensions) {
      require(stride >= reach, "out overlaps itself");
      reach += Checked(stride) * (count - 1);
    }
  }
  void whole(Role role, Checked elements) const {
    if (!at(role).given()) return;
    const Operand& o = at(role);
    require(buffer(o).elements - o.offset >= elements, "{} has {} values, needed are {}", name_of(role),
            buffer(o).elements - o.offset, elements.value());
  }
  void need_scratch() const {
    const int64_t elements = scratch_elements(step());
    require(elements <= kMostElements, "it needs {} values of scratch", elements);
    if (elements == 0) return;
    require(at(Role::scratch).given(), "scratch is missing");
    whole(Role::scratch, elements);
  }
  void same_sizes(Role a, Role b) const {
    require(at(a).sizes == at(b).sizes, "{} and {} have different shapes", name_of(a), name_of(b));
  }

  void check_shapes() const {
    switch (step().kind) {
      case StepKind::linear:
        return check_linear();
      case StepKind::attention:
        return check_attention();
      case StepKind::layer_norm:
        return check_layer_norm();
      case StepKind::unary:
        need({Role::x});
        require(step().function >= Function::gelu && step().function <= Function::sigmoid, "no such function");
        return same_sizes(Role::x, Role::out);
      case StepKind::binary:
        need({Role::x, Role::y});
        require(step().function >= Function::add, "no such function");
        same_sizes(Role::x, Role::out);
        return same_sizes(Role::y, Role::out);
      case StepKind::softmax:
        need({Role::x});
        dense_rows(Role::x), dense_rows(Role::out);
        return same_sizes(Role::x, Role::out);
      case StepKind::copy:
        need({Role::x});
        return same_sizes(Role::x, Role::out);
      case StepKind::mean:
        return check_mean();
      case StepKind::matmul:
        return check_matmul();
      case StepKind::conv2d:
      case StepKind::depthwise:
      case StepKind::max_pool2d:
        return check_window();
    }
    require(false, "no such step");
  }

  void check_tail(int64_t columns) const {
    require(step().function <= Function::relu, "no such function");
    whole(Role::bias, panel_columns(columns));
    if (step().has(Role::residual)) {
      same_sizes(Role::residual, Role::out);
      dense_rows(Role::residual);
      require(at(Role::residual).buffer != at(Role::out).buffer, "residual and out are one buffer");
    }
  }

  void check_linear() const {
    need({Role::x, Role::weights});
    rank(Role::x, 2), rank(Role::out, 2);
    dense_rows(Role::x), dense_rows(Role::out);
    same(size(Role::x, 0), size(Role::out, 0), "rows of x and out");
    const int64_t columns = size(Role::out, 1), depth = size(Role::x, 1);
    const TensorType type = buffer(at(Role::weights)).type;
    const bool int8 = type == TensorType::i8;
    require(int8 || type == TensorType::f32 || type == TensorType::bf16,
            "its weights are {}, accepted are F32, BF16 and I8", tensor_type_name(type));
    require(int8 == step().has(Role::scale), "int8 weights have a scale, and no others");
    require(!int8 || depth <= kMaxInt8Depth, "depth {} of int8, accepted is up to {}", depth, kMaxInt8Depth);
    const Checked packed = packed_elements(columns, int8 ? paired_depth(depth) : depth);
    whole(Role::weights, packed);
    constexpr int64_t kPadding = 64;  // to a cache line
    require(buffer(at(Role::weights)).elements < packed + kPadding, "its weights are of another shape");
    whole(Role::scale, panel_columns(columns));
    check_tail(columns);
    need_scratch();
  }

  void check_attention() const {
    need({Role::q, Role::k, Role::v});
    for (Role role : {Role::q, Role::k, Role::v, Role::out}) rank(role, 4), dense_rows(role);
    const attention::Geometry& g = step().geometry;
    constexpr int64_t kMostTokens = 1 << 22;
    for (const attention::Grid& grid : {g.query_grid, g.key_grid})
      require(Checked(grid.height) * grid.width + g.cls <= kMostTokens, "more than {} tokens", kMostTokens);
    for (Role role : {Role::q, Role::k, Role::v, Role::out}) {
      same(size(role, 0), size(Role::out, 0), "samples");
      same(size(role, 1), g.heads, "heads");
    }
    same(size(Role::q, 2), g.query_tokens(), "query tokens");
    same(size(Role::out, 2), g.query_tokens(), "query tokens");
    same(size(Role::k, 2), g.key_tokens(), "key tokens");
    same(size(Role::v, 2), g.key_tokens(), "key tokens");
    same(size(Role::q, 3), size(Role::k, 3), "channels of q and k");
    same(size(Role::v, 3), size(Role::out, 3), "channels of v and out");
    if (!step().has(Role::bias)) return;
    rank(Role::bias, 4);
    require(size(Role::bias, 1) == 1 || size(Role::bias, 1) == g.heads, "the bias has {} heads", size(Role::bias, 1));
    same(size(Role::bias, 2), g.query_tokens(), "queries of the bias");
    same(size(Role::bias, 3), g.key_tokens(), "keys of the bias");
    require(size(Role::out, 0) % size(Role::bias, 0) == 0, "{} biases for {} samples", size(Role::bias, 0),
            size(Role::out, 0));
  }

  void check_layer_norm() const {
    need({Role::x, Role::weights, Role::bias});
    rank(Role::x, 2);
    same_sizes(Role::x, Role::out);
    dense_rows(Role::x), dense_rows(Role::out);
    whole(Role::weights, size(Role::x, 1));
    whole(Role::bias, size(Role::x, 1));
    require(buffer(at(Role::weights)).type == TensorType::f32, "its weights are not float32");
    require(step().number >= 0 && step().number <= 1, "epsilon cannot be {}", step().number);
  }

  void check_mean() const {
    need({Role::x});
    const auto &from = at(Role::x).sizes, &to = at(Role::out).sizes;
    require(from.size() > to.size() && std::equal(to.begin(), to.end(), from.begin()), "x does not extend out");
  }

  void check_matmul() const {
    need({Role::x, Role::y});
    const size_t last = at(Role::out).sizes.size() - 1;
    require(last >= 1, "out is no matrix");
    rank(Role::x, last + 1), rank(Role::y, last + 1);
    for (size_t d = 0; d + 1 < last; ++d) {
      same(size(Role::x, d), size(Role::out, d), "samples of x");
      same(size(Role::y, d), size(Role::out, d), "samples of y");
    }
    same(size(Role::x, last - 1), size(Role::out, last - 1), "rows");
    same(size(Role::x, last), size(Role::y, last - 1), "depth");
    same(size(Role::y, last), size(Role::out, last), "columns");
    dense_rows(Role::x), dense_rows(Role::out);
    const Checked packed = packed_elements(size(Role::y, last), size(Role::x, last));
    require(packed <= kMostElements, "y takes {} values when it is packed", packed.value());
  }

  void check_window() const {
    need({Role::x});
    rank(Role::x, 4), rank(Role::out, 4);
    dense_rows(Role::out);
    const Window& w = step().window;
    for (size_t axis : {0, 1}) {
      const auto within = [](int64_t value, int64_t least) { return value >= least && value <= kMostWindow; };
      require(within(w.kernel[axis], 1) && within(w.stride[axis], 1) && within(w.padding[axis], 0),
              "kernel {}, stride {}, padding {}", w.kernel[axis], w.stride[axis], w.padding[axis]);
      const int64_t side = size(Role::x, 2 + axis);
      require(Checked(side) + Checked(2) * w.padding[axis] >= w.kernel[axis], "the kernel is larger than the image");
      same(size(Role::out, 1 + axis), window_steps(w, axis, side), "positions");
    }
    same(size(Role::x, 0), size(Role::out, 0), "samples");
    const int64_t in = size(Role::x, 1), out = size(Role::out, 3);
    const Checked taps = Checked(w.kernel[0]) * w.kernel[1];
    if (step().kind == StepKind::max_pool2d) return same(in, out, "channels");
    need({Role::weights});
    require(buffer(at(Role::weights)).type == TensorType::f32, "its weights are not float32");
    if (step().kind == StepKind::depthwise) {
      require(step().function == Function::none, "no such function");
      same(in, out, "channels");
      whole(Role::weights, taps * in);
      whole(Role::bias, in);
      return;
    }
    require(w.groups >= 1 && in % w.groups == 0 && out % w.groups == 0, "{} groups of {} and {} channels", w.groups, in,
            out);
    const int64_t columns = out / w.groups;
    require(w.groups == 1 || columns % kPanelColumns == 0, "{} columns in a group", columns);
    whole(Role::weights, packed_elements(columns, taps * (in / w.groups)) * w.groups);
    check_tail(out);
    const Operand& o = at(Role::out);
    require(o.sizes[2] == 1 || o.sizes[1] == 1 || o.strides[1] == Checked(o.strides[2]) * o.sizes[2],
            "out is not in rows");
    require(o.sizes[0] == 1 || o.strides[0] == Checked(o.strides[2]) * o.sizes[2] * o.sizes[1], "out is not in rows");
    require(!step().has(Role::residual) || at(Role::residual).strides == o.strides, "residual and out lie differently");
    need_scratch();
  }
};

}  // namespace

int64_t Operand::elements() const { return checked_product(sizes).value(); }
int64_t Program::sample_elements() const { return checked_product(sample).value(); }

const char* name_of(StepKind kind) { return kKindNames[static_cast<size_t>(kind)]; }
const char* name_of(Function function) { return kFunctionNames[static_cast<size_t>(function)]; }
const char* name_of(Role role) { return kRoleNames[static_cast<size_t>(role)]; }
StepKind step_kind(const std::string& name) { return named<StepKind>(kKindNames, name, "step"); }
Function function_named(const std::string& name) { return named<Function>(kFunctionNames, name, "function"); }

int64_t window_steps(const Window& w, size_t axis, int64_t side) {
  return (Checked(side) + Checked(2) * w.padding[axis] - w.kernel[axis]).value() / w.stride[axis] + 1;
}

int64_t convolution_rows(const Step& step) {
  constexpr int64_t kMostRows = 1024;
  const Operand& out = step.at(Role::out);
  return std::min(kMostRows, checked_product(std::span(out.sizes).first(3)).value());
}

int64_t scratch_elements(const Step& step) {
  if (step.kind == StepKind::linear && step.has(Role::scale)) {
    const auto& x = step.at(Role::x).sizes;
    return (Checked(x[0]) * (paired_depth(x[1]) / 2 + 1)).value();
  }
  if (step.kind == StepKind::conv2d) {
    const Window& w = step.window;
    const Checked depth = Checked(step.at(Role::x).sizes[1] / w.groups) * w.kernel[0] * w.kernel[1];
    return (depth * convolution_rows(step)).value();
  }
  return 0;
}

void check_program(const Program& program) { ProgramChecker(program).run(); }

}  // namespace fib::engine
