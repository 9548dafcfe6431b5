// SPDX-License-Identifier: Apache-2.0
// A compiled model: a short list of steps on strided arrays, what a .fib file holds and the engine runs. One sample at
// a time: weights are packed, so batching gives no speed-up.
//
// Letters: M rows, N columns, K depth of a product; n samples of an operator (windows count as samples), C channels,
// h and w of an image, T tokens, H heads, d and e channels of a query and of a value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/checked.h"
#include "base/safetensors.h"
#include "engine/attributes.h"
#include "engine/operators.h"
#include "engine/product.h"

namespace fib::engine {

/// Memory that steps read and write.
struct Buffer {
  enum class Kind {
    input,   ///< one sample
    output,  ///< its logits
    arena,   ///< what is computed in between; several share memory if their times do not overlap
    tensor,  ///< of the file
    state    ///< what a decoder keeps from call to call, zeros at first
  };
  Kind kind = Kind::arena;
  int64_t elements = 0;
  int64_t offset = 0;  ///< in the arena, or in the state
  std::string tensor;  ///< name in the file
  TensorType type = TensorType::f32;
};

/// A strided part of a buffer; strides count elements.
struct Operand {
  int32_t buffer = -1;
  int64_t offset = 0;
  std::vector<int64_t> sizes, strides;
  int64_t advance = 0;  ///< in a body: elements from one block, or one time, to the next

  bool given() const { return buffer >= 0; }
  int64_t elements() const;
};

/// What an operand is for.
enum class Role { x, y, q, k, v, weights, scale, bias, residual, norm_weights, norm_bias, keys, values, scratch, out };
inline constexpr size_t kRoles = 15;

struct Step {
  StepKind kind = StepKind::copy;
  std::array<Operand, kRoles> operands;
  Function function = Function::none;
  Attributes attributes;
  std::vector<Step> body;  ///< of row_blocks and repeat

  const Operand& at(Role role) const { return operands[static_cast<size_t>(role)]; }
  Operand& at(Role role) { return operands[static_cast<size_t>(role)]; }
  bool has(Role role) const { return at(role).given(); }
  /// Attributes of this type, which a step that was checked has.
  template <class T>
  const T& as() const {
    return *attributes.get<T>();
  }
};

/// Its operands, and those of its body.
template <class Visit>
void for_operands(const Step& step, const Visit& visit) {
  for (const Operand& o : step.operands) {
    if (o.given()) visit(o);
  }
  for (const Step& inner : step.body) for_operands(inner, visit);
}

/// The steps for samples of one size.
struct Program {
  /// What goes in: an image [C,h,w], a clip [C,T,h,w], a decoder's next tokens [n], or a policy's numbers [1,N].
  std::vector<int64_t> sample;
  int64_t classes = 0;
  int64_t arena_elements = 0;
  int64_t state_elements = 0;
  std::vector<Buffer> buffers;
  std::vector<Step> steps;

  bool takes_numbers() const { return sample.size() == 2; }
  int64_t tokens() const { return sample.size() == 1 ? sample[0] : 0; }  ///< 0: it takes images or clips
  int64_t channels() const { return tokens() > 0 ? 0 : sample.front(); }
  int64_t frames() const { return sample.size() == 4 ? sample[1] : 0; }  ///< of a clip; 0: it takes images
  int64_t height() const { return tokens() > 0 ? 0 : sample[sample.size() - 2]; }
  int64_t width() const { return tokens() > 0 ? 0 : sample.back(); }
  int64_t sample_elements() const;
};

const char* name_of(Role role);

/// Of a step that computes each element of its output by itself, or row by row.
inline StepCost cost_of_output(const Step& step, const Program&) {
  return {Checked(step.at(Role::out).elements()) * kElementWork};
}

/// Elements of scratch that a step of a program needs.
int64_t scratch_elements(const Step& step, const Program& program);

/// Throws std::runtime_error with one line about the first step that reads or writes outside a buffer, reads what no
/// step before it has written, or whose shapes do not agree: after it every step may be carried out without a check.
void check_program(const Program& program);

/// Where the buffers of a program are while it runs.
class Memory {
 public:
  std::vector<std::byte*> base;  ///< by buffer
  int64_t position = 0;          ///< of a decoder: tokens before those of this call

  template <class T>
  T* values(const Operand& o) const {
    return reinterpret_cast<T*>(base[static_cast<size_t>(o.buffer)]) + o.offset;
  }
  float* floats(const Operand& o) const { return values<float>(o); }
  /// Null for an operand that is not given.
  float* optional(const Operand& o) const { return o.given() ? floats(o) : nullptr; }
};

}  // namespace fib::engine
