// SPDX-License-Identifier: Apache-2.0
// The arrays of `fib attend`: read and compared before anything is computed, written only when all is computed.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/npy.h"
#include "fibottention/attention.h"

namespace fib::cli {

/// Where they lie; empty where not given.
struct AttendFiles {
  std::string q, k, v, out;
  std::string grad_out, dq, dk, dv;

  bool wants_gradients() const { return !grad_out.empty(); }
};

/// q, k [B,H,T,d], v and grad_out [B,H,T,e], all of one type.
struct AttendInputs {
  NpyArray q, k, v;
  std::optional<NpyArray> grad_out;
  AttentionShape shape;
};

/// Throws std::runtime_error with one line naming the file, its shape or type, and what would fit the others.
AttendInputs read_inputs(const AttendFiles& files);

/// A result in memory and the file it is for.
template <class T>
struct AttendOutput {
  std::string file;
  std::vector<int64_t> shape;
  std::vector<T> values;
};

/// Throws std::invalid_argument for gradients asked for by halves, and for two results with one name.
void check_files(const AttendFiles& files);
/// Throws std::runtime_error unless a file could be made at each of these names.
void check_writable(const std::vector<std::string>& files);

/// All of them or none: no file appears before the last one is on the disk.
template <class T>
void write_outputs(const std::vector<AttendOutput<T>>& outputs);

}  // namespace fib::cli
