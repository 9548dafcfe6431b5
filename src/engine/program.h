// SPDX-License-Identifier: Apache-2.0
// A compiled model: a short list of steps on strided arrays, what a .fib file holds and the engine runs. One sample at
// a time: weights are packed, so a second sample gains nothing from the first one's company.
//
// Letters: M rows, N columns, K depth of a product; n samples of an operator (windows count as samples), C channels,
// h and w of an image, T tokens, H heads, d and e channels of a query and of a value.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "attention/geometry.h"
#include "base/checked.h"
#include "base/safetensors.h"
#include "engine/product.h"

namespace fib::engine {

/// Memory that steps read and write.
struct Buffer {
  enum class Kind {
    input,   ///< one sample
    output,  ///< its logits
    arena,   ///< what is computed in between; several share memory if their times do not overlap
    tensor   ///< of the file
  };
  Kind kind = Kind::arena;
  int64_t elements = 0;
  int64_t offset = 0;  ///< in the arena
  std::string tensor;  ///< name in the file
  TensorType type = TensorType::f32;
};

/// A strided part of a buffer; strides count elements.
struct Operand {
  int32_t buffer = -1;
  int64_t offset = 0;
  std::vector<int64_t> sizes, strides;

  bool given() const { return buffer >= 0; }
  int64_t elements() const;
};

enum class StepKind {
  linear,      ///< out [M,N] = tail(x [M,K] · weights), in the precision of the weights; int8 has scale and scratch
  attention,   ///< out [n,H,Tq,e] from q [n,H,Tq,d], k and v; `attention` and `geometry` say which
  layer_norm,  ///< of the rows of x [M,C]; `number` is epsilon
  unary,       ///< out = function(x), element by element
  binary,      ///< out = x function y; broadcast by strides of 0
  softmax,     ///< along the last dimension of x
  mean,        ///< out [...] of x [..., ...] over the dimensions that x has behind those of out
  copy,        ///< out = x
  matmul,      ///< out [...,M,N] = x [...,M,K] · y [...,K,N]
  conv2d,      ///< out [n,h',w',D] of x [n,C,h,w]; weights packed, one matrix for each group
  depthwise,   ///< the same with as many groups as channels: weights [kh,kw,C]
  max_pool2d   ///< out [n,h',w',C] of x [n,C,h,w]
};

enum class Function { none, gelu, relu, sigmoid, add, subtract, multiply };

/// What an operand is for.
enum class Role { x, y, q, k, v, weights, scale, bias, residual, scratch, out };
inline constexpr size_t kRoles = 11;

/// Of convolutions and pools.
struct Window {
  std::array<int64_t, 2> kernel{1, 1}, stride{1, 1}, padding{0, 0};
  int64_t groups = 1;
};

struct Step {
  StepKind kind = StepKind::copy;
  std::array<Operand, kRoles> operands;
  Function function = Function::none;  ///< unary, binary; of the tail of a product: none, gelu or relu
  double number = 0;
  Window window;
  std::string attention;
  attention::Geometry geometry;

  const Operand& at(Role role) const { return operands[static_cast<size_t>(role)]; }
  Operand& at(Role role) { return operands[static_cast<size_t>(role)]; }
  bool has(Role role) const { return at(role).given(); }
};

/// The steps for samples of one size.
struct Program {
  std::vector<int64_t> sample;  ///< what goes in: an image [C,h,w], or a clip [C,T,h,w]
  int64_t classes = 0;
  int64_t arena_elements = 0;
  std::vector<Buffer> buffers;
  std::vector<Step> steps;

  int64_t channels() const { return sample.front(); }
  int64_t frames() const { return sample.size() == 4 ? sample[1] : 0; }  ///< of a clip; 0: it takes images
  int64_t height() const { return sample[sample.size() - 2]; }
  int64_t width() const { return sample.back(); }
  int64_t sample_elements() const;
};

const char* name_of(StepKind kind);
const char* name_of(Function function);
const char* name_of(Role role);
/// Throw std::invalid_argument for a name that does not exist.
StepKind step_kind(const std::string& name);
Function function_named(const std::string& name);

/// The side of a window's output along one axis.
int64_t window_steps(const Window& window, size_t axis, int64_t side);
/// Elements of scratch that a step needs.
int64_t scratch_elements(const Step& step);
/// Rows of a convolution that are laid out as a matrix at a time.
int64_t convolution_rows(const Step& step);

/// Throws std::runtime_error with one line about the first step that reads or writes outside a buffer, reads what no
/// step before it has written, or whose shapes do not agree: after it every step may be carried out without a check.
void check_program(const Program& program);

}  // namespace fib::engine
