// SPDX-License-Identifier: Apache-2.0
// Fewer tokens from block to block: which become which (kernels/token_reduction.h), and moving them. In ONNX they are
// tokens_onnx.cpp.
#include "engine/operators/tokens.h"

#include <algorithm>

#include "base/parallel.h"
#include "engine/aten_call.h"
#include "engine/lowerer.h"
#include "engine/node_checker.h"
#include "engine/step_checker.h"
#include "engine/step_fields.h"
#include "kernels/token_reduction.h"

namespace fib::engine {
namespace {

using kernels::TokenFact;

constexpr int64_t kMostTokens = 1 << 22;

std::vector<int64_t> with_last(std::vector<int64_t> sizes, int64_t last) {
  sizes.back() = last;
  return sizes;
}

// ---- In a graph: sizes are those of operators.h ---------------------------------------------------------------------

void check_plan_merging(const NodeChecker& n) {
  const auto& a = n.attributes<TokenPlan>();
  n.require(n.in(0).size() == 4 && n.out() == Shape{n.in(0)[0], n.in(0)[2]}, "it takes keys");
  n.require(a.cls >= 0 && a.count >= 0 && a.count <= (n.in(0)[2].count - a.cls) / 2, "there are no pairs to merge");
}

void check_plan_keeping(const NodeChecker& n) {
  const auto& a = n.attributes<TokenPlan>();
  n.require(n.in(0).size() == 2 && a.cls >= 0 && a.count >= 0 && a.count <= n.in(0)[1].count &&
                n.out() == Shape{n.in(0)[0], Dim{n.in(0)[1].count + a.cls}},
            "it takes scores");
}

void check_merge_tokens(const NodeChecker& n) {
  n.attributes<TokenMerge>();
  n.require(n.has(0) && n.has(1) && n.in(0).size() == 3, "it takes tokens and a plan");
  const Shape rows{n.in(0)[0], n.in(0)[1]};
  n.require(n.in(1) == rows && (!n.has(2) || n.in(2) == rows), "the plan is of other tokens");
  n.require(n.out().size() == 3 && n.out()[0] == rows[0] && n.out()[2] == n.in(0)[2] && n.out()[1].count >= 1,
            "the shape is another");
}

void check_take_tokens(const NodeChecker& n) {
  n.require(n.in(0).size() == 3 && n.in(1).size() == 2 && n.in(0)[0] == n.in(1)[0], "it takes tokens and an index");
  n.require(n.out() == Shape{n.in(0)[0], n.in(1)[1], n.in(0)[2]}, "the shape is another");
}

int64_t count_told(const TokenFacts& a, int64_t first) {
  return kernels::is_of_slots(kernels::token_fact(a.fact)) ? first : a.tokens;
}

void check_tell_tokens(const NodeChecker& n) {
  const auto& a = n.attributes<TokenFacts>();
  n.require(n.in(0).size() == 2 && a.tokens >= 1 && a.cls >= 0 && a.height >= 1 && a.width >= 1 &&
                n.in(0)[1].count == a.cls + a.height * a.width,
            "its owners are not of that grid");
  n.require(n.out() == Shape{n.in(0)[0], Dim{count_told(a, n.in(0)[1].count)}}, "the shape is another");
}

TokenFacts facts_of(const AtenCall& c) { return {c.text(5), c.integer(1), c.integer(2), c.integer(3), c.integer(4)}; }

constexpr AtenRule kMergingRules[] = {
    {"fibottention::plan_merging",
     [](AtenCall& c) {
       c.emit(Op::plan_merging, {c.operand(0)}, TokenPlan{c.integer(1), c.integer(2)});
     },
     [](const AtenCall& c) {
       return std::vector<int64_t>{c.sizes(0)[0], c.sizes(0)[2]};
     }}};
constexpr AtenRule kKeepingRules[] = {
    {"fibottention::plan_keeping",
     [](AtenCall& c) {
       c.emit(Op::plan_keeping, {c.operand(0)}, TokenPlan{c.integer(1), c.integer(2)});
     },
     [](const AtenCall& c) {
       return std::vector<int64_t>{c.sizes(0)[0], c.sizes(0)[1] + c.integer(2)};
     }}};
/// (x, weight?, plan, tokens, mean)
constexpr AtenRule kMergeRules[] = {
    {"fibottention::merge_tokens",
     [](AtenCall& c) {
       c.emit(Op::merge_tokens, {c.operand(0), c.operand(2), c.operand(1)}, TokenMerge{c.flag(4)});
     },
     [](const AtenCall& c) {
       return std::vector<int64_t>{c.sizes(0)[0], c.integer(3), c.sizes(0)[2]};
     }}};
constexpr AtenRule kTakeRules[] = {{"fibottention::take_tokens",
                                    [](AtenCall& c) {
                                      c.emit(Op::take_tokens, {c.operand(0), c.operand(1)});
                                    },
                                    [](const AtenCall& c) {
                                      return std::vector<int64_t>{c.sizes(0)[0], c.sizes(1)[1], c.sizes(0)[2]};
                                    }}};
/// (owner, tokens, cls, height, width, fact)
constexpr AtenRule kTellRules[] = {
    {"fibottention::tell_tokens", [](AtenCall& c) { c.emit(Op::tell_tokens, {c.operand(0)}, facts_of(c)); },
     [](const AtenCall& c) { return with_last(c.sizes(0), count_told(facts_of(c), c.sizes(0)[1])); }}};

/// A step of the node's name: inputs in the order of `roles`, dense rows wherever rows are read.
void lower_tokens(Lowerer& l, size_t n, StepKind kind, std::initializer_list<Role> roles) {
  const Node& node = l.node(n);
  std::vector<Operand> inputs;
  for (const ValueId id : node.inputs) inputs.push_back(id == kNoValue ? Operand{} : l.with_dense_rows(l.view(id)));
  const Operand out = l.fresh(l.shape(node.output));
  Step& s = l.add_step(kind);
  s.attributes = node.attributes;
  size_t i = 0;
  for (const Role role : roles) {
    if (i < inputs.size()) s.at(role) = inputs[i++];
  }
  s.at(Role::out) = out;
  l.set(node.output, out);
}

// ---- Steps ----------------------------------------------------------------------------------------------------------

template <class T = const float>
std::span<T> row(const Operand& o, float* data, int64_t i) {
  return {data + i * o.strides[0], static_cast<size_t>(o.sizes[1])};
}

void check_rows(const StepChecker& s, std::initializer_list<Role> roles, size_t rank) {
  for (const Role role : roles) {
    s.rank(role, rank), s.dense_rows(role);
    s.same(s.size(role, 0), s.size(Role::out, 0), "samples");
  }
}

void check_plan_step(const StepChecker& s, int64_t tokens, int64_t most) {
  const auto& a = s.attributes<TokenPlan>();
  s.require(tokens <= kMostTokens, "more than {} tokens", kMostTokens);
  s.require(a.count >= 0 && a.cls >= 0 && a.cls <= tokens && a.count <= most, "of {} tokens it cannot choose {}",
            tokens, a.count);
  s.same(s.size(Role::out, 1), tokens, "tokens");
}

void check_plan_merging_step(const StepChecker& s) {
  s.need({Role::k});
  check_rows(s, {Role::k}, 4), check_rows(s, {Role::out}, 2);
  const int64_t tokens = s.size(Role::k, 2);
  check_plan_step(s, tokens, (tokens - s.attributes<TokenPlan>().cls) / 2);
}

void run_plan_merging(const Step& s, const Memory& m) {
  const Operand &k = s.at(Role::k), &out = s.at(Role::out);
  const auto& a = s.as<TokenPlan>();
  parallel_tasks(k.sizes[0], [&](int64_t i) {
    kernels::plan_merging<float>(
        {m.floats(k) + i * k.strides[0], k.sizes[1], k.sizes[2], k.sizes[3], k.strides[1], k.strides[2]}, a.count,
        a.cls, row<float>(out, m.floats(out), i));
  });
}

/// All sources with all targets, and sorting.
StepCost plan_merging_cost(const Step& s, const Program&) {
  const auto& k = s.at(Role::k).sizes;
  const Checked numbers = Checked(k[2]) * k[3];
  return {Checked(k[0]) * (numbers * k[2] + numbers * k[1] * kElementWork + Checked(k[2]) * 64 * kElementWork),
          numbers * 4 * static_cast<int64_t>(sizeof(float)) + Checked(k[2]) * 64};
}

void check_plan_keeping_step(const StepChecker& s) {
  s.need({Role::x});
  check_rows(s, {Role::x, Role::out}, 2);
  const int64_t patches = s.size(Role::x, 1);
  s.require(patches <= kMostTokens, "more than {} tokens", kMostTokens);
  check_plan_step(s, (Checked(patches) + s.attributes<TokenPlan>().cls).value(), patches);
}

void run_plan_keeping(const Step& s, const Memory& m) {
  const Operand &x = s.at(Role::x), &out = s.at(Role::out);
  const auto& a = s.as<TokenPlan>();
  for (int64_t i = 0; i < x.sizes[0]; ++i)
    kernels::plan_keeping<float>(row(x, m.floats(x), i), a.count, a.cls, row<float>(out, m.floats(out), i));
}

/// Of steps that sort tokens, or walk over them a few times.
StepCost sorting_cost(const Step& s, const Program&) {
  const Checked all = Checked(s.at(Role::x).elements()) + s.at(Role::out).elements();
  return {all * 64 * kElementWork, all * 64};
}

void plan_fields(StepFields& fields, Step& step) {
  edit_attributes<TokenPlan>(step, [&](TokenPlan& a) {
    fields.integer("count", a.count, {0, kMostTokens});
    fields.integer("cls", a.cls, {0, kMaxClassTokens});
  });
}

void check_merge_step(const StepChecker& s) {
  s.need({Role::x, Role::y});
  check_rows(s, {Role::x, Role::out}, 3), check_rows(s, {Role::y}, 2);
  s.same(s.size(Role::x, 1), s.size(Role::y, 1), "tokens");
  s.same(s.size(Role::x, 2), s.size(Role::out, 2), "channels");
  s.attributes<TokenMerge>();
  if (!s.step().has(Role::scale)) return;
  check_rows(s, {Role::scale}, 2);
  s.same(s.size(Role::x, 1), s.size(Role::scale, 1), "weights of tokens");
}

/// Token by token in their order, so that sums are the same however many threads there are.
void merge_sample(const Step& s, const Memory& m, int64_t i) {
  const Operand &x = s.at(Role::x), &plan = s.at(Role::y), &weight = s.at(Role::scale), &out = s.at(Role::out);
  const int64_t channels = x.sizes[2], last = out.sizes[1] - 1;
  const bool mean = s.as<TokenMerge>().mean;
  std::vector<float> sums(static_cast<size_t>(out.sizes[1]));
  for (int64_t u = 0; u <= last; ++u)
    std::fill_n(m.floats(out) + i * out.strides[0] + u * out.strides[1], channels, 0.0f);
  for (int64_t t = 0; t < x.sizes[1]; ++t) {
    const int64_t u = kernels::place_of(row(plan, m.floats(plan), i)[static_cast<size_t>(t)], last + 1);
    const bool weighted = weight.given() && (mean || u == last);
    const float factor = weighted ? row(weight, m.floats(weight), i)[static_cast<size_t>(t)] : 1.0f;
    sums[static_cast<size_t>(u)] += factor;
    const float* from = m.floats(x) + i * x.strides[0] + t * x.strides[1];
    float* to = m.floats(out) + i * out.strides[0] + u * out.strides[1];
    for (int64_t c = 0; c < channels; ++c) to[c] += factor * from[c];
  }
  for (int64_t u = 0; mean && u <= last; ++u) {
    float* to = m.floats(out) + i * out.strides[0] + u * out.strides[1];
    for (int64_t c = 0; c < channels; ++c) to[c] /= sums[static_cast<size_t>(u)];
  }
}

StepCost merge_cost(const Step& s, const Program&) {
  const Checked all = Checked(s.at(Role::x).elements()) + s.at(Role::out).elements();
  return {all * kElementWork, Checked(s.at(Role::out).sizes[1]) * static_cast<int64_t>(sizeof(float))};
}

void check_take_step(const StepChecker& s) {
  s.need({Role::x, Role::y});
  check_rows(s, {Role::x, Role::out}, 3), check_rows(s, {Role::y}, 2);
  s.same(s.size(Role::y, 1), s.size(Role::out, 1), "tokens");
  s.same(s.size(Role::x, 2), s.size(Role::out, 2), "channels");
}

void run_take(const Step& s, const Memory& m) {
  const Operand &x = s.at(Role::x), &index = s.at(Role::y), &out = s.at(Role::out);
  constexpr int64_t kRows = 64;
  const int64_t rows = out.sizes[1], blocks = (rows + kRows - 1) / kRows;
  parallel_tasks(out.sizes[0] * blocks, [&](int64_t task) {
    const int64_t i = task / blocks, first = task % blocks * kRows;
    const auto places = row(index, m.floats(index), i);
    for (int64_t u = first; u < std::min(rows, first + kRows); ++u) {
      const int64_t t = kernels::place_of(places[static_cast<size_t>(u)], x.sizes[1]);
      std::copy_n(m.floats(x) + i * x.strides[0] + t * x.strides[1], x.sizes[2],
                  m.floats(out) + i * out.strides[0] + u * out.strides[1]);
    }
  });
}

void check_tell_step(const StepChecker& s) {
  s.need({Role::x});
  check_rows(s, {Role::x, Role::out}, 2);
  const auto& a = s.attributes<TokenFacts>();
  s.require(std::ranges::find(kernels::kTokenFactNames, a.fact) != std::end(kernels::kTokenFactNames),
            "no fact of tokens has its name");
  s.require(a.tokens >= 1 && a.cls >= 0 && a.height >= 1 && a.width >= 1, "there are no tokens");
  s.require(Checked(a.height) * a.width + a.cls <= kMostTokens && a.tokens <= kMostTokens, "more than {} tokens",
            kMostTokens);
  s.same(s.size(Role::x, 1), a.cls + a.height * a.width, "tokens at the beginning");
  s.same(s.size(Role::out, 1), count_told(a, s.size(Role::x, 1)), "tokens");
}

void run_tell(const Step& s, const Memory& m) {
  const Operand &x = s.at(Role::x), &out = s.at(Role::out);
  const auto& a = s.as<TokenFacts>();
  for (int64_t i = 0; i < x.sizes[0]; ++i)
    kernels::tell_tokens<float>(kernels::token_fact(a.fact), {a.tokens, a.cls, a.height, a.width},
                                row(x, m.floats(x), i), row<float>(out, m.floats(out), i));
}

void tell_fields(StepFields& fields, Step& step) {
  edit_attributes<TokenFacts>(step, [&](TokenFacts& a) {
    fields.text("fact", a.fact);
    fields.integer("tokens", a.tokens, {1, kMostTokens});
    fields.integer("cls", a.cls, {0, kMaxClassTokens});
    fields.integer("height", a.height, {1, 1 << 15});
    fields.integer("width", a.width, {1, 1 << 15});
  });
}

template <void (*run)(const Step&, const Memory&)>
BoundStep bind_run(const Step& s, const Program&) {
  return [&s](const Memory& m) { run(s, m); };
}

void run_merge(const Step& s, const Memory& m) {
  parallel_tasks(s.at(Role::x).sizes[0], [&](int64_t i) { merge_sample(s, m, i); });
}

}  // namespace

const Operator operators::plan_merging{
    .name = "plan_merging",
    .check = check_plan_merging,
    .aten = kMergingRules,
    .lower = [](Lowerer& l, size_t n) { lower_tokens(l, n, StepKind::plan_merging, {Role::k}); },
    .onnx = plan_merging_to_onnx};
const Operator operators::plan_keeping{
    .name = "plan_keeping",
    .check = check_plan_keeping,
    .aten = kKeepingRules,
    .lower = [](Lowerer& l, size_t n) { lower_tokens(l, n, StepKind::plan_keeping, {Role::x}); },
    .onnx = plan_keeping_to_onnx};
const Operator operators::merge_tokens{
    .name = "merge_tokens",
    .least_inputs = 2,
    .most_inputs = 3,
    .optional_inputs = true,
    .check = check_merge_tokens,
    .aten = kMergeRules,
    .lower =
        [](Lowerer& l, size_t n) {
          lower_tokens(l, n, StepKind::merge_tokens, {Role::x, Role::y, Role::scale});
        },
    .onnx = merge_tokens_to_onnx};
const Operator operators::take_tokens{.name = "take_tokens",
                                      .least_inputs = 2,
                                      .most_inputs = 2,
                                      .check = check_take_tokens,
                                      .aten = kTakeRules,
                                      .lower =
                                          [](Lowerer& l, size_t n) {
                                            lower_tokens(l, n, StepKind::take_tokens, {Role::x, Role::y});
                                          },
                                      .onnx = take_tokens_to_onnx};
const Operator operators::tell_tokens{
    .name = "tell_tokens",
    .check = check_tell_tokens,
    .aten = kTellRules,
    .lower = [](Lowerer& l, size_t n) { lower_tokens(l, n, StepKind::tell_tokens, {Role::x}); },
    .onnx = tell_tokens_to_onnx};

const StepType steps::plan_merging{.name = "plan_merging",
                                   .check = check_plan_merging_step,
                                   .bind = bind_run<run_plan_merging>,
                                   .cost = plan_merging_cost,
                                   .fields = plan_fields};
const StepType steps::plan_keeping{.name = "plan_keeping",
                                   .check = check_plan_keeping_step,
                                   .bind = bind_run<run_plan_keeping>,
                                   .cost = sorting_cost,
                                   .fields = plan_fields};
const StepType steps::merge_tokens{.name = "merge_tokens",
                                   .check = check_merge_step,
                                   .bind = bind_run<run_merge>,
                                   .cost = merge_cost,
                                   .fields = [](StepFields& fields, Step& step) {
                                     edit_attributes<TokenMerge>(step,
                                                                 [&](TokenMerge& a) { fields.flag("mean", a.mean); });
                                   }};
const StepType steps::take_tokens{
    .name = "take_tokens", .check = check_take_step, .bind = bind_run<run_take>, .cost = cost_of_output};
const StepType steps::tell_tokens{.name = "tell_tokens",
                                  .check = check_tell_step,
                                  .bind = bind_run<run_tell>,
                                  .cost = sorting_cost,
                                  .fields = tell_fields};

}  // namespace fib::engine
