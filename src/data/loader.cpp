// SPDX-License-Identifier: Apache-2.0
#include "data/loader.h"

#include <algorithm>
#include <stdexcept>
#include <thread>

#include "data/random.h"

namespace fib {
namespace {

constexpr int kReplacements = 10;

void check(const LoaderOptions& options) {
  if (options.workers < 0)
    throw std::invalid_argument("loader with " + std::to_string(options.workers) + " workers: accepted is 0 or more");
  if (options.prefetch < 1)
    throw std::invalid_argument("loader that prefetches " + std::to_string(options.prefetch) +
                                " batches: accepted is 1 or more");
  const size_t mine = options.sampler.batch / options.sampler.world;
  if (options.mix.enabled() && (mine % 2 != 0 || !options.sampler.drop_last))
    throw std::invalid_argument("mixup with " + std::to_string(mine) + " images per rank and " +
                                (options.sampler.drop_last ? "whole" : "incomplete") +
                                " batches: accepted is an even number and whole batches");
}

CounterRng stream_for(uint64_t seed, RandomUse use, uint64_t epoch, uint64_t item) {
  return CounterRng(seed, {static_cast<uint64_t>(use), epoch, item});
}

}  // namespace

int default_workers() { return std::clamp(static_cast<int>(std::thread::hardware_concurrency()) / 2, 1, 8); }

Loader::Loader(DatasetPtr dataset, Pipeline pipeline, const LoaderOptions& options)
    : dataset_(std::move(dataset)),
      pipeline_(std::move(pipeline)),
      options_(options),
      sampler_(dataset_->size(), options.sampler) {
  check(options_);
}

BatchStream Loader::epoch(uint64_t epoch, size_t first_step) const { return BatchStream(*this, epoch, first_step); }

Batch Loader::make_batch(uint64_t epoch, const std::vector<size_t>& order, size_t step) const {
  Batch batch;
  batch.epoch = epoch;
  batch.step = step;
  batch.channels = pipeline_.channels();
  batch.height = batch.width = pipeline_.input_size();
  batch.indices = sampler_.part(order, step);
  batch.labels.resize(batch.indices.size());
  batch.images.resize(batch.indices.size() * pipeline_.values());
  for (size_t slot = 0; slot < batch.indices.size(); ++slot) add_sample(batch, batch.indices[slot], slot);
  CounterRng rng = stream_for(options_.sampler.seed, RandomUse::mix, epoch, step);
  batch.mix = draw_mix(options_.mix, {batch.width, batch.height}, rng);
  return batch;
}

void Loader::add_sample(Batch& batch, size_t index, size_t slot) const {
  CounterRng rng = stream_for(options_.sampler.seed, RandomUse::sample, batch.epoch, index);
  Image image = read_or_replace(batch, index);
  pipeline_.apply(std::move(image), rng, &batch.images[slot * pipeline_.values()]);
  batch.labels[slot] = dataset_->label(index);
  batch.indices[slot] = index;
}

Image Loader::read_or_replace(Batch& batch, size_t& index) const {
  if (!options_.skip_bad) return dataset_->image(index);
  CounterRng rng = stream_for(options_.sampler.seed, RandomUse::replacement, batch.epoch, index);
  for (int attempt = 0; attempt < kReplacements; ++attempt) {
    try {
      return dataset_->image(index);
    } catch (const std::runtime_error& error) {
      batch.skipped.emplace_back(error.what());
      index = rng.below(dataset_->size());
    }
  }
  throw std::runtime_error(batch.skipped.back() + " (and " + std::to_string(kReplacements - 1) +
                           " others before it: too many to skip)");
}

}  // namespace fib
