// SPDX-License-Identifier: Apache-2.0
#include "sequences/torch/trained_text.h"

#include <fmt/format.h>

#include <stdexcept>

#include "base/safetensors.h"
#include "sequences/torch/text_task.h"
#include "training/run/directory.h"

namespace fib::sequences {
namespace {

at::Tensor to_tensor(std::span<const int32_t> symbols) {
  return at::tensor(at::ArrayRef<int32_t>(symbols.data(), symbols.size()), at::kInt).to(at::kLong);
}

}  // namespace

std::filesystem::path weights_of_run(const std::filesystem::path& run, const training::Recipe& recipe,
                                     const std::string& task) {
  if (recipe.run.task != task)
    throw std::invalid_argument(
        fmt::format("the run in '{}' learned {}; accepted: a run of the task {}", run.string(), recipe.run.task, task));
  const training::RunFiles files{run};
  for (const auto& file : {files.best(), files.ema(), files.model()})
    if (std::filesystem::exists(file)) return file;
  throw std::runtime_error(fmt::format("the run in '{}' has no weights yet", run.string()));
}

void check_parameters(const SafetensorsFile& file, const std::string& model, int64_t wanted) {
  int64_t stored = 0;
  for (const TensorView& tensor : file.tensors()) stored += tensor.elements();
  if (stored != wanted)
    throw std::runtime_error(
        fmt::format("the weights do not fit {}: it has {} parameters, the file {}", model, wanted, stored));
}

void load_parameters(torch::nn::Module& module, const SafetensorsFile& file, const std::string& model) {
  const at::NoGradGuard no_grad;
  for (const auto& item : module.named_parameters()) {
    const TensorView* stored = file.find(item.key());
    if (stored == nullptr || at::IntArrayRef(stored->shape) != item.value().sizes()) {
      throw std::runtime_error(fmt::format("the weights do not fit {}: {} is {}", model, item.key(),
                                           stored == nullptr ? "missing" : "of another shape"));
    }
    copy_values(*stored, std::span(item.value().data_ptr<float>(), static_cast<size_t>(item.value().numel())));
  }
}

TrainedText open_text(const std::filesystem::path& run) {
  TrainedText opened{.recipe = training::RunFiles{run}.recipe(), .weights = {}, .model = nullptr};
  const training::Recipe& recipe = opened.recipe;
  const std::filesystem::path path = weights_of_run(run, recipe, "text");
  opened.weights = path.filename();
  const SafetensorsFile file(path);
  const TextSource source = text_source(recipe.data.source);
  const auto told = file.metadata().find("vocabulary");
  opened.vocabulary =
      Vocabulary::parse(source.options.symbols, told == file.metadata().end() ? std::string_view() : told->second);
  const DecoderDimensions dims = decoder_of(recipe, source.context);
  check_parameters(file, recipe.model.name, decoder_parameters(dims, opened.vocabulary.size()));
  opened.model = std::make_shared<TextDecoder>(dims, opened.vocabulary.size());
  load_parameters(*opened.model, file, recipe.model.name);
  opened.model->eval();
  return opened;
}

std::span<const float> CachedDecoder::read(std::span<const int32_t> tokens) {
  logits_ = model_.extend(cache_, to_tensor(tokens));
  return {logits_.data_ptr<float>(), static_cast<size_t>(logits_.numel())};
}

int64_t CachedDecoder::most_positions() const {
  const DecoderRow& row = model_.trunk().dimensions().row;
  return row.positions == Positions::learned ? row.context : 0;
}

}  // namespace fib::sequences
