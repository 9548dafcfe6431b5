// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "attention/registry.h"
#include "base/checked.h"
#include "cli/attend_arrays.h"
#include "cli/command.h"
#include "cli/layer_options.h"
#include "cli/options.h"
#include "fibottention/attention.h"

namespace fib::cli {
namespace {

struct AttendArguments {
  AttentionArguments attention;
  LayerArguments layer;
  AttendFiles files;
  std::string masking;  ///< as written, empty when not given
  std::optional<double> scale;
};

double finite_number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    throw CLI::ValidationError("--scale", fmt::format("must be a finite number, got '{}'", text));
  return value;
}

/// The mechanism without its masking, which models write among its options: masking=zero there is --masking zero here.
AttentionSpec take_masking(AttentionSpec spec, std::string& masking) {
  const auto given = std::ranges::find(spec.options, "masking", &std::pair<std::string, std::string>::first);
  if (given == spec.options.end()) return spec;
  if (!masking.empty())
    throw std::invalid_argument(
        fmt::format("masking is given twice: {} in --attention, {} as --masking", given->second, masking));
  masking = given->second;
  spec.options.erase(given);
  return spec;
}

Masking masking_of(const std::string& text) {
  if (text == "zero") return Masking::zero;
  if (text.empty() || text == "exclude") return Masking::exclude;
  throw std::invalid_argument(fmt::format("masking must be exclude or zero, got '{}'", text));
}

void declare(CLI::App& command, AttendArguments& a) {
  const auto file = [&command](const char* name, std::string& target, const char* help) {
    return command.add_option(name, target, help)->type_name("FILE");
  };
  file("--q", a.files.q, "queries [B,H,T,d], .npy of float32 or float64")->required();
  file("--k", a.files.k, "keys [B,H,T,d]")->required();
  file("--v", a.files.v, "values [B,H,T,e]")->required();
  file("--out", a.files.out, "where the result [B,H,T,e] goes")->required();
  add_attention_options(command, a.attention);
  add_layer_options(command, a.layer);
  command.add_option("--masking", a.masking, "exclude (default): other pairs weigh nothing; zero: they have score 0")
      ->type_name("exclude|zero");
  command
      .add_option_function<std::string>(
          "--scale", [&a](const std::string& t) { a.scale = finite_number(t); },
          "factor of the scores; 1/sqrt(d) by default")
      ->type_name("X");
  file("--grad-out", a.files.grad_out, "gradient of the result, [B,H,T,e]");
  file("--dq", a.files.dq, "where the gradient of the queries goes");
  file("--dk", a.files.dk, "where the gradient of the keys goes");
  file("--dv", a.files.dv, "where the gradient of the values goes");
  command.footer("Example: fib attend --q q.npy --k k.npy --v v.npy --out out.npy --wmin 5 --wmax 65");
}

int64_t patches_of(const AttendArguments& a, const AttentionShape& shape) {
  const int64_t patches = shape.query_tokens - a.layer.cls;
  if (patches > 0) return patches;
  throw std::runtime_error(
      fmt::format("'{}' has {} tokens, --cls {} leaves no patches", a.files.q, shape.query_tokens, a.layer.cls));
}

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
void compute_and_write(const AttendArguments& a, const AttendInputs& in, const Globals& globals) {
  std::string masking = a.masking;
  const AttentionSpec spec = take_masking(attention_spec(a.attention), masking);
  attention::require_pattern(spec);
  const SupportSet support = make_support(spec, geometry_of(a.layer, patches_of(a, in.shape), in.shape.heads));
  Computation<T> computation{in, support, {}};
  computation.options.scale = a.scale;
  computation.options.masking = masking_of(masking);
  check_writable({a.files.out, a.files.dq, a.files.dk, a.files.dv});
  const std::vector<AttendOutput<T>> results = computation.run(a.files);
  write_outputs(results);
  if (globals.quiet) return;
  for (const AttendOutput<T>& r : results)
    fmt::print("wrote {} {} {}\n", r.file, shape_text(r.shape), npy_type_name(in.q.type()));
}

void run(const AttendArguments& a, const Globals& globals) {
  check_files(a.files);
  omp_set_num_threads(static_cast<int>(globals.threads));
  const AttendInputs in = read_inputs(a.files);
  if (in.q.type() == NpyType::float32)
    compute_and_write<float>(a, in, globals);
  else
    compute_and_write<double>(a, in, globals);
}

}  // namespace

Command attend_command() {
  return make_command<AttendArguments>(
      {"attend", "attention on arrays in .npy files, and its gradients", Topic::patterns}, declare, run);
}

}  // namespace fib::cli
