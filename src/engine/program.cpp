// SPDX-License-Identifier: Apache-2.0
#include "engine/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "engine/step_checker.h"

namespace fib::engine {
namespace {

constexpr const char* kRoleNames[kRoles] = {"x",         "y",     "q",      "k",        "v",
                                            "weights",   "scale", "bias",   "residual", "norm_weights",
                                            "norm_bias", "keys",  "values", "scratch",  "out"};

constexpr size_t kMostDimensions = 8;

class ProgramChecker {
 public:
  explicit ProgramChecker(const Program& program) : program_(program), written_(program.buffers.size()) {}

  void run() {
    check_buffers();
    for (size_t s = 0; s < program_.steps.size(); ++s) {
      try {
        check_step(s, program_.steps[s], false);
      } catch (const std::overflow_error& error) {
        StepChecker(program_, s, program_.steps[s]).require(false, "{}", error.what());
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

  void check_buffers() {
    const auto good = [](bool fact, size_t i, const char* what) {
      if (!fact) throw std::runtime_error(fmt::format("buffer {}: {}", i, what));
    };
    int64_t inputs = 0, outputs = 0;
    for (const auto& [what, elements] :
         {std::pair{"an arena", program_.arena_elements}, {"a state", program_.state_elements}})
      if (elements < 0 || elements > kMostElements)
        throw std::runtime_error(fmt::format("{} of {} numbers, accepted are up to {}", what, elements, kMostElements));
    for (size_t i = 0; i < program_.buffers.size(); ++i) {
      const Buffer& b = program_.buffers[i];
      good(b.elements >= 1 && b.elements <= kMostElements, i, "its size cannot be");
      good(b.kind == Buffer::Kind::tensor || b.type == TensorType::f32, i, "only tensors are not float32");
      if (b.kind == Buffer::Kind::arena)
        good(b.offset >= 0 && b.offset <= program_.arena_elements - b.elements, i, "it lies outside the arena");
      if (b.kind == Buffer::Kind::state)
        good(b.offset >= 0 && b.offset <= program_.state_elements - b.elements, i, "it lies outside the state");
      inputs += b.kind == Buffer::Kind::input;
      outputs += b.kind == Buffer::Kind::output;
      if (b.kind == Buffer::Kind::input)
        good(b.elements == program_.sample_elements(), i, "it is not the size of a sample");
      if (b.kind == Buffer::Kind::output) good(b.elements == program_.classes, i, "it is not as long as the logits");
      written_[i] = b.kind != Buffer::Kind::arena && b.kind != Buffer::Kind::output;
    }
    if (inputs != 1 || outputs != 1)
      throw std::runtime_error(fmt::format("{} inputs and {} outputs, accepted is one each", inputs, outputs));
  }

  void check_step(size_t place, const Step& step, bool in_body) {
    const StepChecker checker(program_, place, step);
    for (size_t i = 0; i < kRoles; ++i) check_operand(checker, static_cast<Role>(i), in_body);
    const bool has_body = step.kind == StepKind::row_blocks || step.kind == StepKind::repeat;
    checker.require(step.body.empty() || (has_body && !in_body), "it cannot have a body");
    for (const Step& inner : step.body) check_step(place, inner, true);
    row_of(step.kind).check(checker);
    if (step.has(Role::out)) written_[static_cast<size_t>(step.at(Role::out).buffer)] = true;
  }

  void check_operand(const StepChecker& step, Role role, bool in_body) const {
    const Operand& o = step.at(role);
    const char* name = name_of(role);
    step.require(o.buffer >= -1 && o.buffer < static_cast<int64_t>(program_.buffers.size()), "{} is buffer {} of {}",
                 name, o.buffer, program_.buffers.size());
    if (!o.given()) return;
    step.require(o.sizes.size() == o.strides.size() && !o.sizes.empty() && o.sizes.size() <= kMostDimensions,
                 "{} has {} sizes and {} strides", name, o.sizes.size(), o.strides.size());
    step.require(in_body || o.advance == 0, "{} moves from block to block, outside of blocks", name);
    check_reach(step, o, name);
    const Buffer& b = step.buffer(role);
    step.require((b.kind == Buffer::Kind::state) == (role == Role::keys || role == Role::values),
                 "{} {} be what is kept from call to call", name, b.kind == Buffer::Kind::state ? "cannot" : "must");
    if (role == Role::out || role == Role::scratch) {
      check_distinct(step, o, name);
      step.require(b.kind == Buffer::Kind::arena || (role == Role::out && b.kind == Buffer::Kind::output),
                   "{} cannot be written", name);
    } else {
      step.require(written_[static_cast<size_t>(o.buffer)], "{} is read before any step has written it", name);
    }
    step.require(b.type == TensorType::f32 || role == Role::weights, "{} is not float32", name);
  }

  /// No value is written twice: a step does no more than there is room for.
  static void check_distinct(const StepChecker& step, const Operand& o, const char* name) {
    std::vector<std::pair<int64_t, int64_t>> dimensions;
    for (size_t d = 0; d < o.sizes.size(); ++d) {
      if (o.sizes[d] > 1) dimensions.emplace_back(o.strides[d], o.sizes[d]);
    }
    std::ranges::sort(dimensions);
    Checked reach = 1;
    for (const auto& [stride, count] : dimensions) {
      step.require(stride >= reach, "{} overlaps itself", name);
      reach += Checked(stride) * (count - 1);
    }
  }

  void check_reach(const StepChecker& step, const Operand& o, const char* name) const {
    const Buffer& b = program_.buffers[static_cast<size_t>(o.buffer)];
    step.require(o.offset >= 0 && o.offset < b.elements, "{} begins outside its buffer", name);
    Checked last = o.offset, all = 1;
    for (size_t d = 0; d < o.sizes.size(); ++d) {
      const int64_t size = o.sizes[d], stride = o.strides[d];
      step.require(size >= 1 && stride >= 0, "{} has size {} and stride {}", name, size, stride);
      all *= size, last += Checked(size - 1) * stride;
      step.require(all <= kMostElements, "{} has more than {} values", name, kMostElements);
      step.require(last < b.elements, "{} reaches beyond the {} values of buffer {}", name, b.elements, o.buffer);
    }
  }
};

}  // namespace

int64_t Operand::elements() const { return checked_product(sizes).value(); }
int64_t Program::sample_elements() const { return checked_product(sample).value(); }

const char* name_of(Role role) { return kRoleNames[static_cast<size_t>(role)]; }

int64_t scratch_elements(const Step& step, const Program& program) {
  const StepType& type = row_of(step.kind);
  return type.scratch == nullptr ? 0 : type.scratch(step, program);
}

void check_program(const Program& program) { ProgramChecker(program).run(); }

// ---- What checks of steps have in common ----------------------------------------------------------------------------

Checked panel_columns(int64_t columns) {
  return Checked((Checked(columns) + kPanelColumns - 1).value() / kPanelColumns) * kPanelColumns;
}

Checked packed_elements(int64_t columns, Checked depth) { return panel_columns(columns) * depth; }

void StepChecker::need(std::initializer_list<Role> roles) const {
  for (Role role : roles) require(at(role).given(), "{} is missing", name_of(role));
  require(at(Role::out).given(), "out is missing");
}

void StepChecker::rank(Role role, size_t dimensions) const {
  require(at(role).sizes.size() == dimensions, "{} has {} dimensions, accepted are {}", name_of(role),
          at(role).sizes.size(), dimensions);
}

void StepChecker::same_sizes(Role a, Role b) const {
  require(at(a).sizes == at(b).sizes, "{} and {} have different shapes", name_of(a), name_of(b));
}

void StepChecker::dense_rows(Role role) const {
  const Operand& o = at(role);
  require(o.strides.back() == 1 || o.sizes.back() == 1, "{} is not contiguous", name_of(role));
}

void StepChecker::whole(Role role, Checked elements) const {
  if (!at(role).given()) return;
  const int64_t there = buffer(role).elements - at(role).offset;
  require(there >= elements, "{} has {} values, needed are {}", name_of(role), there, elements.value());
}

void StepChecker::need_scratch() const {
  const int64_t elements = scratch_elements(step(), program_);
  require(elements <= kMostElements, "it needs {} values of scratch", elements);
  if (elements == 0) return;
  require(at(Role::scratch).given(), "scratch is missing");
  whole(Role::scratch, elements);
}

void StepChecker::epilogue(int64_t columns) const {
  require(step().function <= Function::relu, "no such function");
  whole(Role::bias, panel_columns(columns));
  if (!step().has(Role::residual)) return;
  same_sizes(Role::residual, Role::out);
  dense_rows(Role::residual);
  require(at(Role::residual).buffer != at(Role::out).buffer, "residual and out are one buffer");
}

}  // namespace fib::engine
