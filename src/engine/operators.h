// SPDX-License-Identifier: Apache-2.0
// All operators of graphs and all steps of programs. An operator is one file of operators/: what it is in a graph, how
// it is recorded from ATen, lowered and written as ONNX, and how the steps it becomes are checked, carried out and
// described in a file. A new one is such a file and its rows here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "attention/geometry.h"
#include "base/checked.h"
#include "base/safetensors.h"

namespace fib::engine {

class AtenCall;
class Lowerer;
class Memory;
class NodeChecker;
class OnnxNode;
class StepChecker;
class StepFields;
struct Program;
struct Step;

/// What a node of a graph may be. Inputs are named in brackets, `?` marks those that may be kNoValue; each has one
/// output. Attributes are the types below.
enum class Op {
  linear,      ///< (x [...,K], weight [N,K], bias? [N]) -> [...,N]
  matmul,      ///< (a [...,M,K], b [...,K,N]) -> [...,M,N]; what stands before is broadcast
  conv2d,      ///< (x [n,C,h,w], weight [D,C/groups,kh,kw], bias? [D]); Conv2d
  conv1d,      ///< (x [n,C,T], weight [D,C,k], bias? [D]); Conv1d
  max_pool2d,  ///< (x [n,C,h,w]); Pool2d; what is padded is -inf
  layer_norm,  ///< (x [...,C], weight [C], bias [C]); LayerNorm, over the last dimension
  group_norm,  ///< (x [n,C,...], weight? [C], bias? [C]); GroupNorm, over the channels of a group and all positions
  softmax,     ///< (x); Axis
  gelu,        ///< (x), with the error function
  sigmoid,     ///< (x)
  relu,        ///< (x)
  mish,        ///< (x), x · tanh(log(1 + eˣ))
  add,         ///< (a, b); broadcast as in NumPy, so are sub and mul
  sub,
  mul,
  mean,              ///< (x); Axes, which are dropped
  reshape,           ///< (x) to the shape of the output
  permute,           ///< (x); Permute
  slice,             ///< (x); Slice
  concat,            ///< (x, y, ...); Axis
  roll,              ///< (x); Roll
  expand,            ///< (x) to the shape of the output, where x has ones
  denoise,           ///< (x, predicted, coefficients [6], fresh?); one step back of a diffusion process
  attention,         ///< (qkv [n,T,3,H,d], bias?) or (q [n,H,Tq,d], k [n,H,Tk,d], v [n,H,Tk,e], bias?) -> [n,Tq,H·e];
                     ///< Attention
  plan_merging,      ///< (keys [n,H,T,d]) -> [n,T], each token's place afterwards; TokenPlan. Places are whole numbers
  plan_keeping,      ///< (scores [n,T - cls]) -> [n,T]; TokenPlan
  merge_tokens,      ///< (x [n,T,D], plan [n,T], weights? [n,T]) -> [n,U,D]; TokenMerge
  take_tokens,       ///< (x [n,T,D], index [n,U]) -> [n,U,D]
  tell_tokens,       ///< (owner [n,S]) -> [n,T] or [n,S]; TokenFacts
  embedding,         ///< (tokens [n], table [V,D], places? [P,D]) -> [n,D]: a row for each token, and that of its place
  cached_attention,  ///< (qkv [n,3·H·d]) of the next n tokens of a sequence -> [n,H·d]; CachedAttention
};

/// What a step of a program may be. Operands are named by their roles.
enum class StepKind {
  linear,     ///< out [M,N] = epilogue(x [M,K] · weights), in the precision of the weights; int8 has scale and scratch
  attention,  ///< out [n,H,Tq,e] from q [n,H,Tq,d], k and v; Attention
  layer_norm,    ///< of the rows of x [M,C]; LayerNorm
  unary,         ///< out = function(x), element by element
  binary,        ///< out = x function y; broadcast by strides of 0
  softmax,       ///< along the last dimension of x
  mean,          ///< out [...] of x [..., ...] over the dimensions that x has behind those of out
  copy,          ///< out = x
  matmul,        ///< out [...,M,N] = x [...,M,K] · y [...,K,N]
  conv2d,        ///< out [n,h',w',D] of x [n,C,h,w]; weights packed, one matrix for each group; Window
  depthwise,     ///< the same with as many groups as channels: weights [kh,kw,C]; Window
  max_pool2d,    ///< out [n,h',w',C] of x [n,C,h,w]; Window
  plan_merging,  ///< out of keys k, as the operator; so are the four below: x and y are its inputs, scale the weights
  plan_keeping,
  merge_tokens,
  take_tokens,
  tell_tokens,
  embedding,         ///< out [n,D] = rows of y [V,D] that the tokens x [n] name, plus those of residual [P,D] from the
                     ///< position on
  cached_attention,  ///< out [n,H,d] of the next tokens q, k, v [n,H,d]: k and v go into the rings keys and values
                     ///< [H,R,d], which are read at the distances of each head; CachedAttention
  conv1d,            ///< out [n,T',D] of x [n,C,T]; weights packed, a tap after the other; Conv1d
  group_norm,        ///< out = function(norm of x [n,C,P]); GroupNorm
  denoise,           ///< out of x, y = predicted noise, weights = coefficients and residual = fresh noise
  row_blocks,        ///< linear layers on one block of rows after the other; RowBlocks and a body
  repeat             ///< the steps of a body, so many times over; Repeat
};

// ---- Attributes ----------------------------------------------------------------------------------------------------
// Of operators, and of steps: Window, RowBlocks, Function.

struct Conv2d {
  std::array<int64_t, 2> stride{1, 1}, padding{0, 0};
  int64_t groups = 1;
  friend bool operator==(const Conv2d&, const Conv2d&) = default;
};

struct Conv1d {
  int64_t kernel = 1, stride = 1, padding = 0;
  friend bool operator==(const Conv1d&, const Conv1d&) = default;
};

struct GroupNorm {
  int64_t groups = 1;
  double eps = 1e-5;
  friend bool operator==(const GroupNorm&, const GroupNorm&) = default;
};

struct Pool2d {
  std::array<int64_t, 2> kernel{1, 1}, stride{1, 1}, padding{0, 0};
  friend bool operator==(const Pool2d&, const Pool2d&) = default;
};

struct LayerNorm {
  double eps = 1e-6;
  friend bool operator==(const LayerNorm&, const LayerNorm&) = default;
};

struct Axis {
  int64_t axis = 0;
  friend bool operator==(const Axis&, const Axis&) = default;
};

struct Axes {
  std::vector<int64_t> axes;  ///< ascending
  friend bool operator==(const Axes&, const Axes&) = default;
};

/// Dimension i of the output is dimension order[i] of the input.
struct Permute {
  std::vector<int64_t> order;
  friend bool operator==(const Permute&, const Permute&) = default;
};

/// As many elements as the output has along the axis, from `begin` on.
struct Slice {
  int64_t axis = 0;
  int64_t begin = 0;
  friend bool operator==(const Slice&, const Slice&) = default;
};

/// Element i goes to place (i + shift) mod size.
struct Roll {
  std::vector<int64_t> shifts, axes;
  friend bool operator==(const Roll&, const Roll&) = default;
};

/// A mechanism in its layer. For a support set, attention::layer_support(AttentionSpec::parse(attention), geometry) is
/// its support and attention::masking_of(spec) what pairs outside of it weigh; "full" has all pairs, and "topk" the k
/// keys of largest score. Scores are geometry.score_scale() · q·k, and the bias [G, H or 1, Tq, Tk] where there is one:
/// sample b has group b mod G. A row without keys, or whose scores are all -inf, gives zeros.
struct Attention {
  std::string attention;  ///< as written on a command line, "fibottention:wmin=5"
  attention::Geometry geometry;
  bool packed = false;  ///< the first input is qkv
  friend bool operator==(const Attention&, const Attention&) = default;
};

/// How many pairs are merged, or patch tokens kept.
struct TokenPlan {
  int64_t count = 0, cls = 1;
  friend bool operator==(const TokenPlan&, const TokenPlan&) = default;
};

/// The weighted mean of what goes to one place; or sums, in which only what goes to the last place has weights.
struct TokenMerge {
  bool mean = true;
  friend bool operator==(const TokenMerge&, const TokenMerge&) = default;
};

/// A kernels::TokenFact by name, of `tokens` tokens that the patches of a grid have become.
struct TokenFacts {
  std::string fact;
  int64_t tokens = 1, cls = 1, height = 1, width = 1;
  friend bool operator==(const TokenFacts&, const TokenFacts&) = default;
};

/// Position p of a sequence lies in row p mod R of the cache. A head looks back at its distances, ascending, 0 being
/// the token itself; no distances at all: at everything that the cache holds.
struct CachedAttention {
  int64_t heads = 1, head_dim = 1;
  int64_t rows = 1;        ///< R
  double scale = 1;        ///< of scores
  double rotary_base = 0;  ///< 0: positions are not rotary
  std::vector<std::vector<int64_t>> distances;
  friend bool operator==(const CachedAttention&, const CachedAttention&) = default;
};

/// Of convolutions and pools as steps.
struct Window {
  std::array<int64_t, 2> kernel{1, 1}, stride{1, 1}, padding{0, 0};
  int64_t groups = 1;
  friend bool operator==(const Window&, const Window&) = default;
};

/// Of row_blocks: so many rows in blocks of `block`, the last of which may be shorter.
struct RowBlocks {
  int64_t rows = 0, block = 0;
  friend bool operator==(const RowBlocks&, const RowBlocks&) = default;
};

/// Of repeat. Operands of the body may move from one time to the next.
struct Repeat {
  int64_t count = 1;
  friend bool operator==(const Repeat&, const Repeat&) = default;
};

/// Of unary and binary steps, and of the epilogue of a product: none, gelu or relu.
enum class Function { none, gelu, relu, sigmoid, add, subtract, multiply, mish };
inline constexpr const char* kFunctionNames[] = {"none", "gelu",     "relu",     "sigmoid",
                                                 "add",  "subtract", "multiply", "mish"};

// ---- What an operator and a step are -------------------------------------------------------------------------------
// The entries of kOperators and kSteps.

/// How a call of ATen becomes a node. Torch's types stay behind AtenCall, so that a rule needs no torch.
struct AtenRule {
  const char* name;  ///< "aten::linear"
  void (*record)(AtenCall& call);
  /// The sizes of the output where ATen has no meta kernel for the call; empty where it has.
  std::vector<int64_t> (*sizes)(const AtenCall& call) = nullptr;
};

struct Operator {
  const char* name;  ///< in messages
  size_t least_inputs = 1, most_inputs = 1;
  bool optional_inputs = false;            ///< whether those behind the least may be kNoValue
  void (*check)(const NodeChecker& node);  ///< shapes and attributes agree, or it refuses
  std::span<const AtenRule> aten;
  void (*lower)(Lowerer& lowerer, size_t node);
  std::string (*onnx)(OnnxNode& node);  ///< the name of its output
};

/// A step that is ready to be carried out.
using BoundStep = std::function<void(const Memory&)>;

/// What carrying out a step takes, from its checked sizes. Elements that are moved or looked up count as kElementWork
/// multiply-adds each: that is how long they take at least.
struct StepCost {
  Checked work = 0;     ///< multiply-adds for a sample
  Checked scratch = 0;  ///< bytes that exist while it runs, beside its operands
  Checked kept = 0;     ///< bytes that it holds as long as the engine, such as a support
  /// Multiply-adds of its products alone, without what fills vectors, and what they multiply.
  Checked products = 0;
  TensorType factors = TensorType::f32;
};
inline constexpr int64_t kElementWork = 16;

struct StepType {
  const char* name;                        ///< in files and messages
  void (*check)(const StepChecker& step);  ///< shapes agree and what is read as a whole is there, or it refuses
  /// Both must outlive what is returned. Throws std::invalid_argument for attributes that cannot be carried out.
  BoundStep (*bind)(const Step& step, const Program& program);
  StepCost (*cost)(const Step& step, const Program& program);
  void (*fields)(StepFields& fields, Step& step) = nullptr;  ///< its attributes, to be read or written
  /// Elements of scratch that it needs.
  int64_t (*scratch)(const Step& step, const Program& program) = nullptr;
};

/// Each in its file of operators/: row_blocks, linear, matmul, conv1d, max_pool2d, group_norm, softmax, denoise, repeat
/// and attention in those of their names, conv2d and depthwise in convolution.cpp, gelu, sigmoid, relu and mish in
/// unary.cpp, add, sub and mul in binary.cpp, layer_norm and mean in reductions.cpp, reshape to expand and copy in
/// views.cpp, plan_merging to tell_tokens in tokens.cpp, embedding and cached_attention in those of their names.
namespace operators {
extern const Operator linear, matmul, conv2d, conv1d, max_pool2d, layer_norm, group_norm, softmax, gelu, sigmoid, relu,
    mish, add, sub, mul, mean, reshape, permute, slice, concat, roll, expand, denoise, attention, plan_merging,
    plan_keeping, merge_tokens, take_tokens, tell_tokens, embedding, cached_attention;
}  // namespace operators

namespace steps {
extern const StepType linear, attention, layer_norm, unary, binary, softmax, mean, copy, matmul, conv2d, depthwise,
    max_pool2d, plan_merging, plan_keeping, merge_tokens, take_tokens, tell_tokens, embedding, cached_attention, conv1d,
    group_norm, denoise, row_blocks, repeat;
}  // namespace steps

struct OperatorRow {
  Op op;
  const Operator* row;
};
inline constexpr OperatorRow kOperators[] = {
    {Op::linear, &operators::linear},
    {Op::matmul, &operators::matmul},
    {Op::conv2d, &operators::conv2d},
    {Op::conv1d, &operators::conv1d},
    {Op::max_pool2d, &operators::max_pool2d},
    {Op::layer_norm, &operators::layer_norm},
    {Op::group_norm, &operators::group_norm},
    {Op::softmax, &operators::softmax},
    {Op::gelu, &operators::gelu},
    {Op::sigmoid, &operators::sigmoid},
    {Op::relu, &operators::relu},
    {Op::mish, &operators::mish},
    {Op::add, &operators::add},
    {Op::sub, &operators::sub},
    {Op::mul, &operators::mul},
    {Op::mean, &operators::mean},
    {Op::reshape, &operators::reshape},
    {Op::permute, &operators::permute},
    {Op::slice, &operators::slice},
    {Op::concat, &operators::concat},
    {Op::roll, &operators::roll},
    {Op::expand, &operators::expand},
    {Op::denoise, &operators::denoise},
    {Op::attention, &operators::attention},
    {Op::plan_merging, &operators::plan_merging},
    {Op::plan_keeping, &operators::plan_keeping},
    {Op::merge_tokens, &operators::merge_tokens},
    {Op::take_tokens, &operators::take_tokens},
    {Op::tell_tokens, &operators::tell_tokens},
    {Op::embedding, &operators::embedding},
    {Op::cached_attention, &operators::cached_attention},
};

struct StepRow {
  StepKind kind;
  const StepType* row;
};
inline constexpr StepRow kSteps[] = {
    {StepKind::linear, &steps::linear},
    {StepKind::attention, &steps::attention},
    {StepKind::layer_norm, &steps::layer_norm},
    {StepKind::unary, &steps::unary},
    {StepKind::binary, &steps::binary},
    {StepKind::softmax, &steps::softmax},
    {StepKind::mean, &steps::mean},
    {StepKind::copy, &steps::copy},
    {StepKind::matmul, &steps::matmul},
    {StepKind::conv2d, &steps::conv2d},
    {StepKind::depthwise, &steps::depthwise},
    {StepKind::max_pool2d, &steps::max_pool2d},
    {StepKind::plan_merging, &steps::plan_merging},
    {StepKind::plan_keeping, &steps::plan_keeping},
    {StepKind::merge_tokens, &steps::merge_tokens},
    {StepKind::take_tokens, &steps::take_tokens},
    {StepKind::tell_tokens, &steps::tell_tokens},
    {StepKind::embedding, &steps::embedding},
    {StepKind::cached_attention, &steps::cached_attention},
    {StepKind::row_blocks, &steps::row_blocks},
    {StepKind::conv1d, &steps::conv1d},
    {StepKind::group_norm, &steps::group_norm},
    {StepKind::denoise, &steps::denoise},
    {StepKind::repeat, &steps::repeat},
};

/// Throw std::invalid_argument for what is not in the tables.
const Operator& row_of(Op op);
const StepType& row_of(StepKind kind);
inline const char* name_of(Op op) { return row_of(op).name; }
inline const char* name_of(StepKind kind) { return row_of(kind).name; }
inline const char* name_of(Function function) { return kFunctionNames[static_cast<size_t>(function)]; }
StepKind step_kind(const std::string& name);
Function function_named(const std::string& name);

}  // namespace fib::engine
