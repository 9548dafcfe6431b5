// SPDX-License-Identifier: Apache-2.0
#include "data/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <variant>

#include "base/rng.h"
#include "base/system.h"

namespace fib {
namespace {

constexpr int kReplacements = 10;

void check(const LoaderOptions& options) {
  if (options.workers < 0 || options.workers > kMaxWorkers)
    throw std::invalid_argument(
        fmt::format("loader with {} workers: accepted is 0 to {}", options.workers, kMaxWorkers));
  if (options.prefetch < 1)
    throw std::invalid_argument(
        fmt::format("loader that prefetches {} batches: accepted is 1 or more", options.prefetch));
  const size_t mine = options.sampler.batch / options.sampler.world;
  if (options.mix.enabled() && (mine % 2 != 0 || !options.sampler.drop_last))
    throw std::invalid_argument(
        fmt::format("mixup with {} images per rank and {} batches: accepted is an even number and whole batches", mine,
                    options.sampler.drop_last ? "whole" : "incomplete"));
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
  batch.frames = pipeline_.config().clip.frames;
  batch.views = pipeline_.views();
  batch.indices = sampler_.part(order, step);
  batch.labels.resize(batch.indices.size());
  batch.images.resize(batch.indices.size() * pipeline_.values());
  for (size_t slot = 0; slot < batch.indices.size(); ++slot) add_sample(batch, batch.indices[slot], slot);
  CounterRng rng = stream_for(options_.sampler.seed, RandomUse::mix, epoch, step);
  batch.mix = draw_mix(options_.mix, {batch.width, batch.height}, rng);
  return batch;
}

void Loader::add_sample(Batch& batch, size_t index, size_t slot) const {
  const size_t drawn = index + sampler_.repetition(batch.step, slot) * dataset_->size();
  CounterRng rng = stream_for(options_.sampler.seed, RandomUse::sample, batch.epoch, drawn);
  read_or_replace(batch, index, rng, &batch.images[slot * pipeline_.values()]);
  batch.labels[slot] = dataset_->label(index);
  batch.indices[slot] = index;
}

void Loader::read(size_t index, CounterRng& rng, float* out) const {
  dataset_->for_frames(index, pipeline_.config().clip, rng,
                       [&](size_t number, Image frame) { pipeline_.apply_frame(std::move(frame), number, rng, out); });
}

void Loader::read_or_replace(Batch& batch, size_t& index, CounterRng& rng, float* out) const {
  if (!options_.skip_bad) return read(index, rng, out);
  CounterRng others = stream_for(options_.sampler.seed, RandomUse::replacement, batch.epoch, index);
  for (int attempt = 0; attempt < kReplacements; ++attempt) {
    try {
      return read(index, rng, out);
    } catch (const std::runtime_error& error) {
      batch.skipped.emplace_back(error.what());
      index = others.below(dataset_->size());
    }
  }
  throw std::runtime_error(
      fmt::format("{} (and {} others before it: too many to skip)", batch.skipped.back(), kReplacements - 1));
}

/// Workers take steps from a counter and put their results into a map, where the consumer finds them in order.
struct BatchStream::Shared {
  using Result = std::variant<Batch, std::exception_ptr>;

  Shared(const Loader& l, uint64_t e, size_t first_step)
      : loader(l),
        epoch(e),
        order(l.sampler_.order(e)),
        end(l.steps_per_epoch()),
        next_made(first_step),
        next_given(first_step) {}

  /// Waits for room, then reserves a step; none when there is no more to do.
  std::optional<size_t> take_step() {
    std::unique_lock lock(mutex);
    const auto prefetch = static_cast<size_t>(loader.options_.prefetch);
    changed.wait(lock, [&] { return stopped || next_made >= end || next_made < next_given + prefetch; });
    if (stopped || next_made >= end) return std::nullopt;
    return next_made++;
  }

  void put(size_t step, Result result) {
    const std::lock_guard lock(mutex);
    ready.emplace(step, std::move(result));
    changed.notify_all();
  }

  Result make(size_t step) const {
    try {
      return loader.make_batch(epoch, order, step);
    } catch (...) {
      return std::current_exception();
    }
  }

  void work() {
    while (const auto step = take_step()) put(*step, make(*step));
  }

  /// The result of the next step, waited for.
  Result take_result() {
    if (workers.empty()) return make(next_given++);
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return ready.contains(next_given); });
    Result result = std::move(ready.extract(next_given++).mapped());
    changed.notify_all();
    return result;
  }

  /// All of them or none: without one of its workers a stream would still end, but slower than was asked for.
  void start(int count) try {
    while (static_cast<int>(workers.size()) < count) workers.push_back(start_unnamed_thread([this] { work(); }));
  } catch (const std::exception& error) {  // of the system, or for want of memory
    const size_t started = workers.size();
    stop();
    throw std::runtime_error(
        fmt::format("cannot start {} loader threads: after {} the system said '{}'", count, started, error.what()));
  }

  void stop() {
    {
      const std::lock_guard lock(mutex);
      stopped = true;
    }
    changed.notify_all();
    for (std::thread& worker : workers) worker.join();
    workers.clear();
  }

  const Loader& loader;
  const uint64_t epoch;
  const std::vector<size_t> order;
  const size_t end;

  std::mutex mutex;
  std::condition_variable changed;
  size_t next_made, next_given;
  bool stopped = false;
  std::map<size_t, Result> ready;
  std::vector<std::thread> workers;
};

BatchStream::BatchStream(const Loader& loader, uint64_t epoch, size_t first_step)
    : shared_(std::make_unique<Shared>(loader, epoch, first_step)) {
  shared_->start(loader.options_.workers);
}

BatchStream::BatchStream(BatchStream&&) noexcept = default;

BatchStream::~BatchStream() {
  if (shared_) shared_->stop();
}

std::optional<Batch> BatchStream::next() {
  if (shared_->stopped || shared_->next_given >= shared_->end) return std::nullopt;
  Shared::Result result = shared_->take_result();
  if (auto* batch = std::get_if<Batch>(&result)) return std::move(*batch);
  shared_->stop();
  std::rethrow_exception(std::get<std::exception_ptr>(result));
}

}  // namespace fib
