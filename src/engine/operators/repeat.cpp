// SPDX-License-Identifier: Apache-2.0
// A body of steps that is carried out so many times over, as a sampler calls its network. What differs from one time to
// the next is copied from a table, whose operand moves by a row.
#include <algorithm>
#include <memory>

#include "engine/step_checker.h"
#include "engine/step_fields.h"

namespace fib::engine {
namespace {

constexpr int64_t kMostTimes = 4096;

void check_move(const StepChecker& s, int64_t count) {
  const Step& step = s.step();
  for (size_t i = 0; i < kRoles; ++i) {
    const Operand& o = step.operands[i];
    if (!o.given() || o.advance == 0) continue;
    const char* name = name_of(static_cast<Role>(i));
    s.require(step.kind == StepKind::copy && static_cast<Role>(i) == Role::x, "{} cannot move from time to time", name);
    s.require(o.buffer != step.at(Role::out).buffer, "{} would move out along", name);
    s.require(o.advance > 0, "{} moves by {}", name, o.advance);
    Checked last = Checked(o.advance) * (count - 1) + o.offset;
    for (size_t d = 0; d < o.sizes.size(); ++d) last += Checked(o.sizes[d] - 1) * o.strides[d];
    s.require(last < s.buffer(o).elements, "{} reaches beyond its buffer in the last time", name);
  }
}

void check_repeat(const StepChecker& s) {
  constexpr size_t kMostSteps = 4096;
  const int64_t count = s.attributes<Repeat>().count;
  s.require(count >= 1 && count <= kMostTimes, "{} times, accepted are 1 to {}", count, kMostTimes);
  s.require(!s.step().body.empty() && s.step().body.size() <= kMostSteps, "a body of {} steps", s.step().body.size());
  for (const Operand& o : s.step().operands) s.require(!o.given(), "it has operands of its own");
  for (const Step& inner : s.step().body) {
    s.require(inner.kind != StepKind::row_blocks && inner.kind != StepKind::repeat, "a loop within the loop");
    check_move(s.of_body(inner), count);
  }
}

struct BoundRepeat {
  std::vector<BoundStep> steps;
  std::vector<const Operand*> moving;  ///< of each step, or null

  BoundRepeat(const Step& s, const Program& program) {
    for (const Step& inner : s.body) {
      steps.push_back(row_of(inner.kind).bind(inner, program));
      moving.push_back(inner.at(Role::x).advance > 0 ? &inner.at(Role::x) : nullptr);
    }
  }

  void run(const Memory& m, int64_t time) const {
    Memory moved = m;
    for (size_t i = 0; i < steps.size(); ++i) {
      if (moving[i] == nullptr) {
        steps[i](m);
        continue;
      }
      std::byte*& base = moved.base[static_cast<size_t>(moving[i]->buffer)];
      std::byte* const before = base;
      base += time * moving[i]->advance * static_cast<int64_t>(sizeof(float));
      steps[i](moved);
      base = before;
    }
  }
};

BoundStep bind_repeat(const Step& s, const Program& program) {
  return [count = s.as<Repeat>().count, bound = std::make_shared<const BoundRepeat>(s, program)](const Memory& m) {
    for (int64_t time = 0; time < count; ++time) bound->run(m, time);
  };
}

StepCost repeat_cost(const Step& s, const Program& program) {
  const int64_t count = s.as<Repeat>().count;
  StepCost total;
  for (const Step& inner : s.body) {
    const StepCost one = row_of(inner.kind).cost(inner, program);
    total.work += one.work * count, total.products += one.products * count, total.kept += one.kept;
    total.scratch = std::max(total.scratch, one.scratch);
  }
  return total;
}

void repeat_fields(StepFields& fields, Step& step) {
  edit_attributes<Repeat>(step, [&](Repeat& a) { fields.integer("count", a.count, {1, kMostTimes}); });
}

}  // namespace

const StepType steps::repeat{
    .name = "repeat", .check = check_repeat, .bind = bind_repeat, .cost = repeat_cost, .fields = repeat_fields};

}  // namespace fib::engine
