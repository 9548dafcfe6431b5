// SPDX-License-Identifier: Apache-2.0
#include "sequences/torch/trained_text.h"

#include <fmt/format.h>

#include <stdexcept>

#include "base/safetensors.h"
#include "sequences/torch/text_task.h"
#include "training/run/directory.h"

namespace fib::sequences {
namespace {

/// Keeps what is written apart from all other uses of the seed.
constexpr uint64_t kWritingStream = 0x77726974;

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

Writer::Writer(TextDecoder& model, const SamplingOptions& sampling, uint64_t seed)
    : model_(model), sampling_(sampling), rng_(seed, {kWritingStream}), cache_(model.trunk().make_cache()) {}

bool Writer::places_end() const { return model_.trunk().dimensions().row.positions == Positions::learned; }

void Writer::feed(std::span<const int32_t> symbols) {
  logits_ = model_.extend(cache_, to_tensor(symbols));
  if (places_end()) seen_.insert(seen_.end(), symbols.begin(), symbols.end());
}

void Writer::read(std::span<const int32_t> symbols) {
  const auto context = static_cast<size_t>(model_.trunk().dimensions().row.context);
  while (!symbols.empty()) {
    if (places_end() && seen_.size() == context) {
      const std::vector<int32_t> later(seen_.end() - static_cast<int64_t>(context / 2), seen_.end());
      cache_.position = 0;
      seen_.clear();
      if (!later.empty()) feed(later);
    }
    const size_t count = std::min(symbols.size(), places_end() ? context - seen_.size() : context);
    feed(symbols.first(count));
    symbols = symbols.subspan(count);
  }
}

int32_t Writer::next() {
  const int32_t symbol =
      draw_symbol({logits_.data_ptr<float>(), static_cast<size_t>(logits_.numel())}, sampling_, rng_);
  read({&symbol, 1});
  return symbol;
}

}  // namespace fib::sequences
