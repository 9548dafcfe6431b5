// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <stdexcept>

#include "base/npy.h"
#include "cli/model_options.h"
#include "cli/torch/commands.h"
#include "models/torch/weights.h"

namespace fib::cli {
namespace {

struct InferArguments {
  ModelArguments model;
  std::string input, output, dtype = "f32";
  int64_t batch = 16;
};

void declare(CLI::App& command, InferArguments& a) {
  add_model_options(command, a.model);
  command.add_option("--input", a.input, "preprocessed pictures [B,3,H,W], float32 or float64")
      ->type_name("X.npy")
      ->required();
  command.add_option("--out", a.output, "where the logits [B,classes] go")->type_name("LOGITS.npy")->required();
  command.add_option("--dtype", a.dtype, "what is computed in and written")
      ->check(CLI::IsMember({"f32", "f64"}))
      ->type_name("f32|f64")
      ->capture_default_str();
  add_integer(command, "--batch", a.batch, {1, 65536}, "pictures computed at once")->capture_default_str();
  command.footer(
      "Pictures of another size than the model's are taken as they are: position embeddings are interpolated.\n"
      "Example: fib infer --model vit_tiny_patch16_224 --weights vit_tiny.safetensors --input x.npy --out logits.npy");
}

/// The array as it lies in the file, which must outlive the tensor.
at::Tensor as_tensor(const NpyArray& array) {
  const auto view = [&](auto values, at::ScalarType type) {
    // The data is only read: torch has no tensors of constants.
    return at::from_blob(const_cast<void*>(static_cast<const void*>(values.data())), array.shape(), type);
  };
  return array.type() == NpyType::float64 ? view(array.values<double>(), at::kDouble)
                                          : view(array.values<float>(), at::kFloat);
}

/// Any number of pictures, `batch` at a time, so that memory does not grow with the file.
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
  if (images.dim() == 4 && images.numel() > 0) return;
  throw std::runtime_error(
      fmt::format("{} must hold pictures [B,3,H,W], got [{}]", file, fmt::join(images.sizes(), ",")));
}

void run(const InferArguments& a) {
  models::Options options = model_options(a.model);
  const NpyArray input(a.input);
  const at::Tensor images = as_tensor(input);
  check_input(images, a.input);
  AtomicFile output(a.output);  // says now, not after the work, that it cannot be written
  options.channels = images.size(1);
  options.resolution = images.size(2);
  options.width = images.size(3);
  const auto type = a.dtype == "f64" ? at::kDouble : at::kFloat;
  const models::ModelPtr model =
      models::make_with_weights(a.model.model, a.model.weights, options, {.new_classifier = false, .type = type});
  model->eval();
  const at::Tensor logits = logits_of(*model, images, type, a.batch);
  if (type == at::kDouble) {
    write_logits<double>(output, logits);
  } else {
    write_logits<float>(output, logits);
  }
}

}  // namespace

void add_infer(CLI::App& command, const Globals&) {
  const auto arguments = std::make_shared<InferArguments>();
  declare(command, *arguments);
  command.callback([arguments] { run(*arguments); });
}

}  // namespace fib::cli
