// SPDX-License-Identifier: Apache-2.0
#include "cli/attend_arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "base/atomic_file.h"
#include "base/checked.h"

namespace fib::cli {
namespace {

[[noreturn]] void refuse(const std::string& file, const std::string& reason) {
  throw std::runtime_error(fmt::format("'{}' {}", file, reason));
}

void check_rank(const NpyArray& array, const std::string& file) {
  const std::vector<int64_t>& shape = array.shape();
  const bool sound = shape.size() == 4 && std::ranges::all_of(shape, [](int64_t side) { return side > 0; });
  if (!sound) refuse(file, fmt::format("has shape {}, accepted is [B,H,T,d] with nothing zero", shape_text(shape)));
}

void check_type(const NpyArray& array, const std::string& file, const NpyArray& q, const std::string& q_file) {
  if (array.type() == q.type()) return;
  refuse(file, fmt::format("holds {}, '{}' {}; all arrays must have one type", npy_type_name(array.type()), q_file,
                           npy_type_name(q.type())));
}

void check_shape(const NpyArray& array, const std::string& file, const std::vector<int64_t>& expected,
                 const std::string& why) {
  if (array.shape() == expected) return;
  refuse(file, fmt::format("has shape {}, accepted is {} {}", shape_text(array.shape()), shape_text(expected), why));
}

AttentionShape shape_of(const NpyArray& q, const NpyArray& v) {
  const std::vector<int64_t>& s = q.shape();
  return {
      .batch = s[0], .heads = s[1], .query_tokens = s[2], .key_tokens = s[2], .dim = s[3], .value_dim = v.shape()[3]};
}

void check_inputs(const AttendInputs& in, const AttendFiles& files) {
  check_rank(in.q, files.q);
  check_rank(in.v, files.v);
  check_shape(in.k, files.k, in.q.shape(), "as '" + files.q + "'");
  std::vector<int64_t> values = in.q.shape();
  values[3] = in.v.shape()[3];
  check_shape(in.v, files.v, values, "to go with '" + files.q + "'");
  check_type(in.k, files.k, in.q, files.q);
  check_type(in.v, files.v, in.q, files.q);
  if (!in.grad_out) return;
  check_shape(*in.grad_out, files.grad_out, in.v.shape(), "as '" + files.v + "'");
  check_type(*in.grad_out, files.grad_out, in.q, files.q);
}

}  // namespace

AttendInputs read_inputs(const AttendFiles& files) {
  AttendInputs in{NpyArray(files.q), NpyArray(files.k), NpyArray(files.v), std::nullopt, {}};
  if (files.wants_gradients()) in.grad_out.emplace(files.grad_out);
  check_inputs(in, files);
  in.shape = shape_of(in.q, in.v);
  return in;
}

void check_files(const AttendFiles& f) {
  const bool any_gradient = !f.dq.empty() || !f.dk.empty() || !f.dv.empty();
  if (any_gradient != f.wants_gradients())
    throw std::invalid_argument("gradients need --grad-out and at least one of --dq, --dk and --dv");
  std::vector<std::filesystem::path> names;
  for (const std::string& file : {f.out, f.dq, f.dk, f.dv})
    if (!file.empty()) names.push_back(std::filesystem::weakly_canonical(file));
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end()) throw std::invalid_argument(fmt::format("two results are to be '{}'", twice->string()));
}

void check_writable(const std::vector<std::string>& files) {
  for (const std::string& file : files)
    if (!file.empty()) AtomicFile probe(file);
}

template <class T>
void write_outputs(const std::vector<AttendOutput<T>>& outputs) {
  std::vector<std::unique_ptr<AtomicFile>> files;
  for (const AttendOutput<T>& output : outputs) {
    files.push_back(std::make_unique<AtomicFile>(output.file));
    write_npy<T>(*files.back(), output.shape, output.values);
    files.back()->sync();
  }
  for (const auto& file : files) file->commit();
}

template void write_outputs(const std::vector<AttendOutput<float>>&);
template void write_outputs(const std::vector<AttendOutput<double>>&);

}  // namespace fib::cli
