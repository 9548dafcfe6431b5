// SPDX-License-Identifier: Apache-2.0
#include "attention/arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "base/atomic_file.h"
#include "base/checked.h"

namespace fib::attention {
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

/// A result in memory and the file it is for.
template <class T>
struct AttendOutput {
  std::string file;
  std::vector<int64_t> shape;
  std::vector<T> values;
};

/// One call's arrays, all contiguous.
template <class T>
struct Computation {
  const AttendInputs& in;
  const SupportSet& support;
  AttentionOptions<T> options;

  template <class U>
  TokenView<U> view(U* data, int64_t channels) const {
    const int64_t head = in.shape.query_tokens * channels;
    return {data, in.shape.heads * head, head, channels};
  }
  TokenView<const T> view(const NpyArray& array) const { return view(array.values<T>().data(), array.shape()[3]); }
  AttentionInputs<T> inputs() const { return {view(in.q), view(in.k), view(in.v)}; }

  std::vector<AttendOutput<T>> run(const AttendFiles& files) const {
    AttendOutput<T> out = room(files.out, in.v);
    std::vector<T> lse(in.grad_out ? static_cast<size_t>(in.shape.batch * in.shape.heads * in.shape.query_tokens) : 0);
    attention_forward<T>(support, in.shape, inputs(), view(out.values.data(), in.shape.value_dim),
                         in.grad_out ? lse.data() : nullptr, options);
    std::vector<AttendOutput<T>> results;
    if (in.grad_out) results = gradients(files, out.values, lse);
    results.insert(results.begin(), std::move(out));
    return results;
  }

  std::vector<AttendOutput<T>> gradients(const AttendFiles& files, const std::vector<T>& out,
                                         const std::vector<T>& lse) const {
    std::vector<AttendOutput<T>> d{room(files.dq, in.q), room(files.dk, in.k), room(files.dv, in.v)};
    const auto target = [&](size_t i) { return view(d[i].values.data(), d[i].shape[3]); };
    attention_backward<T>(support, in.shape, inputs(), view(out.data(), in.shape.value_dim), lse.data(),
                          view(*in.grad_out), {target(0), target(1), target(2), {}}, options);
    std::erase_if(d, [](const AttendOutput<T>& gradient) { return gradient.file.empty(); });
    return d;
  }

  static AttendOutput<T> room(const std::string& file, const NpyArray& like) {
    return {file, like.shape(), std::vector<T>(like.values<T>().size())};
  }
};

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

template <class T>
std::vector<WrittenArray> compute_and_write(const AttendFiles& files, const AttendInputs& in, const SupportSet& support,
                                            const AttendOptions& options) {
  Computation<T> computation{in, support, {}};
  computation.options.scale = options.scale;
  computation.options.masking = options.masking;
  const std::vector<AttendOutput<T>> results = computation.run(files);
  write_outputs(results);
  std::vector<WrittenArray> written;
  written.reserve(results.size());
  for (const AttendOutput<T>& r : results) written.push_back({r.file, r.shape});
  return written;
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
  for (const std::string& file : {f.out, f.dq, f.dk, f.dv})
    if (!file.empty()) check_writable(file);
}

std::vector<WrittenArray> attend(const AttendFiles& files, const AttendInputs& in, const SupportSet& support,
                                 const AttendOptions& options) {
  if (in.q.type() == NpyType::float32) return compute_and_write<float>(files, in, support, options);
  return compute_and_write<double>(files, in, support, options);
}

}  // namespace fib::attention
