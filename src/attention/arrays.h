// SPDX-License-Identifier: Apache-2.0
// Attention on arrays in .npy files: read and compared before anything is computed, written only when all is computed.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/npy.h"
#include "fibottention/attention.h"

namespace fib::attention {

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

/// Throws std::invalid_argument for gradients asked for by halves, and for two results with one name;
/// std::runtime_error unless a file could be made at each name.
void check_files(const AttendFiles& files);

struct AttendOptions {
  std::optional<double> scale = {};  ///< 1/sqrt(d) by default
  Masking masking = Masking::exclude;
};

struct WrittenArray {
  std::string file;
  std::vector<int64_t> shape;
};

/// Computes the result, and the gradients that are asked for, in the arrays' type. Writes all of them or none: no file
/// appears before the last one is on the disk.
std::vector<WrittenArray> attend(const AttendFiles& files, const AttendInputs& inputs, const SupportSet& support,
                                 const AttendOptions& options);

}  // namespace fib::attention
