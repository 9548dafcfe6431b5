// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/infer.h"

#include <fmt/format.h>

#include <stdexcept>

#include "base/npy.h"
#include "cli/inferred.h"
#include "cli/standard_streams.h"
#include "cli/torch/subject_options.h"

namespace fib::cli {
namespace {

/// The array as it lies in the file, which must outlive the tensor.
at::Tensor as_tensor(const NpyArray& array) {
  const auto view = [&](auto values, at::ScalarType type) {
    // The data is only read: torch has no tensors of constants.
    return at::from_blob(const_cast<void*>(static_cast<const void*>(values.data())), array.shape(), type);
  };
  return array.type() == NpyType::float64 ? view(array.values<double>(), at::kDouble)
                                          : view(array.values<float>(), at::kFloat);
}

/// Any number of images, `batch` at a time, so that memory does not grow with the file.
at::Tensor logits_of(models::Model& model, const at::Tensor& images, at::ScalarType type, int64_t batch) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> parts;
  for (const at::Tensor& part : images.split(batch)) parts.push_back(model.forward(part.to(type)));
  return at::cat(parts).contiguous();
}

template <class T>
void write_logits(AtomicFile& file, const at::Tensor& logits) {
  write_npy<T>(file, logits.sizes(), {logits.data_ptr<T>(), static_cast<size_t>(logits.numel())});
  file.commit();
}

void check_input(const at::Tensor& images, const std::string& file) {
  if ((images.dim() == 4 || images.dim() == 5) && images.numel() > 0) return;
  throw std::runtime_error(fmt::format("{} must hold images [B,C,H,W] or clips [B,C,T,H,W], got [{}]", file,
                                       fmt::join(images.sizes(), ",")));
}

void run(const InferArguments& a, const Globals& globals) {
  training::ModelRequest request = model_request(a.subject);
  StandardStreams streams(a.json ? "--json" : "");
  const NpyArray input(streams.input("--input", a.input));
  const at::Tensor images = as_tensor(input);
  check_input(images, a.input);
  AtomicFile output(
      streams.output("--out", a.output, ".npy"));  // says now, not after the work, that it cannot be written
  request.input = training::InputShape{images.size(1), images.size(-2), images.size(-1)};
  if (images.dim() == 5) request.input->frames = images.size(2);
  request.without_images = true;
  request.double_precision = a.dtype == "f64";
  const training::TrainedModel subject = open_subject(request, globals.quiet);
  const auto type = request.double_precision ? at::kDouble : at::kFloat;
  const at::Tensor logits = logits_of(*subject.module, images, type, a.subject.batch);
  if (request.double_precision) {
    write_logits<double>(output, logits);
  } else {
    write_logits<float>(output, logits);
  }
  const NpyType written = request.double_precision ? NpyType::float64 : NpyType::float32;
  tell_inferred(a, {subject.model, subject.attention, input.shape(), logits.sizes().vec(), npy_type_name(written)},
                globals.quiet);
  streams.finish();
}

const TorchRunner<InferArguments> infer_runner(run);

}  // namespace
}  // namespace fib::cli
