// SPDX-License-Identifier: Apache-2.0
// Linear layers that are carried out together on one block of rows after the other: an MLP's hidden activations exist
// for one block at a time. However many rows there are, it is one step.
#include <algorithm>
#include <array>
#include <memory>

#include "engine/step_checker.h"
#include "engine/step_fields.h"

namespace fib::engine {
namespace {

/// Operands whose rows are those of the blocks; others are used as a whole by every block.
constexpr std::array kRowRoles{Role::x, Role::residual, Role::out};

bool has_rows(size_t role) { return std::ranges::find(kRowRoles, static_cast<Role>(role)) != kRowRoles.end(); }

void blocks_fields(StepFields& fields, Step& step) {
  edit_attributes<RowBlocks>(step, [&](RowBlocks& a) {
    fields.integer("rows", a.rows, {1, StepFields::Range().most});
    fields.integer("block", a.block, {1, StepFields::Range().most});
  });
}

/// The body's operands were checked for the first block. Where one moves, all rows must be there, and what else the
/// step uses of that buffer must move as far: the whole buffer is shifted.
void check_moves(const StepChecker& s, const RowBlocks& blocks) {
  const Step& step = s.step();
  for (size_t i = 0; i < kRoles; ++i) {
    const Operand& o = step.operands[i];
    if (!o.given()) continue;
    const char* name = name_of(static_cast<Role>(i));
    s.require(has_rows(i) || o.advance == 0, "{} has no rows to move along", name);
    for (const Operand& other : step.operands)
      s.require(other.buffer != o.buffer || other.advance == o.advance, "{} and others move its buffer", name);
    if (!has_rows(i)) continue;
    s.same(o.sizes[0], blocks.block, "rows of a block");
    if (o.advance == 0) continue;
    s.require(o.advance == Checked(blocks.block) * o.strides[0], "{} moves by {}", name, o.advance);
    const Checked last = Checked(blocks.rows - 1) * o.strides[0] + Checked(o.sizes[1] - 1) * o.strides[1] + o.offset;
    s.require(last < s.buffer(o).elements, "{} reaches beyond its buffer in the last block", name);
  }
}

void check_blocks(const StepChecker& s) {
  const auto& blocks = s.attributes<RowBlocks>();
  constexpr size_t kMostSteps = 8;
  s.require(blocks.block >= 1 && blocks.rows >= blocks.block, "{} rows in blocks of {}", blocks.rows, blocks.block);
  s.require(!s.step().body.empty() && s.step().body.size() <= kMostSteps, "a body of {} steps", s.step().body.size());
  for (const Operand& o : s.step().operands) s.require(!o.given(), "it has operands of its own");
  for (const Step& inner : s.step().body) {
    s.require(inner.kind == StepKind::linear, "{} is not carried out in blocks", name_of(inner.kind));
    check_moves(s.of_body(inner), blocks);
  }
  // So that there are no more rows than values that are written.
  s.require(s.step().body.back().at(Role::out).advance > 0, "its last output does not move from block to block");
}

/// The body bound for whole blocks and for the last, shorter one.
class BoundBlocks {
 public:
  BoundBlocks(const Step& s, const Program& program) : blocks_(s.as<RowBlocks>()), whole_(s.body), rest_(s.body) {
    const int64_t rest = blocks_.rows % blocks_.block;
    bind(whole_, program, bound_);
    if (rest == 0) return;
    for (Step& step : rest_) {
      for (const Role role : kRowRoles) {
        if (step.has(role)) step.at(role).sizes[0] = rest;
      }
    }
    bind(rest_, program, bound_rest_);
  }
  BoundBlocks(const BoundBlocks&) = delete;  // bound steps refer to these
  BoundBlocks& operator=(const BoundBlocks&) = delete;

  void run(const Memory& m) const {
    const int64_t count = blocks_.rows / blocks_.block;
    for (int64_t block = 0; block < count; ++block) run_block(m, block, bound_);
    run_block(m, count, bound_rest_);
  }

 private:
  static void bind(const std::vector<Step>& steps, const Program& program, std::vector<BoundStep>& bound) {
    for (const Step& step : steps) bound.push_back(row_of(step.kind).bind(step, program));
  }

  void run_block(const Memory& m, int64_t block, const std::vector<BoundStep>& bound) const {
    for (size_t i = 0; i < bound.size(); ++i) {
      Memory moved = m;
      for (const Role role : kRowRoles) {
        const Operand& o = whole_[i].at(role);
        if (!o.given()) continue;
        const auto buffer = static_cast<size_t>(o.buffer);
        moved.base[buffer] = m.base[buffer] + block * o.advance * static_cast<int64_t>(sizeof(float));
      }
      bound[i](moved);
    }
  }

  RowBlocks blocks_;
  std::vector<Step> whole_, rest_;
  std::vector<BoundStep> bound_, bound_rest_;
};

BoundStep bind_blocks(const Step& s, const Program& program) {
  return [bound = std::make_shared<const BoundBlocks>(s, program)](const Memory& m) { bound->run(m); };
}

StepCost blocks_cost(const Step& s, const Program& program) {
  const auto& blocks = s.as<RowBlocks>();
  const int64_t count = (blocks.rows - 1) / blocks.block + 1;
  StepCost total;
  for (const Step& inner : s.body) {
    const StepCost one = row_of(inner.kind).cost(inner, program);
    total.work += one.work * count, total.scratch = std::max(total.scratch, one.scratch);
    // The body is that of a whole block, the last is shorter.
    total.products += Checked(one.products.value() / blocks.block) * blocks.rows, total.factors = one.factors;
  }
  return total;
}

}  // namespace

const StepType steps::row_blocks{
    .name = "row_blocks", .check = check_blocks, .bind = bind_blocks, .cost = blocks_cost, .fields = blocks_fields};

}  // namespace fib::engine
