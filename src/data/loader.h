// SPDX-License-Identifier: Apache-2.0
// Batches for a model, prepared by worker threads while it computes. What is in a batch depends on (seed, epoch, step)
// and the dataset; the number of workers, their speed and the step an epoch is entered at change nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/pipeline.h"
#include "data/sampler.h"
#include "data/transforms/mixup.h"

namespace fib {

/// B images, or B clips. An object of its own: its memory may be kept.
struct Batch {
  uint64_t epoch = 0;
  size_t step = 0;
  int channels = 0, height = 0, width = 0;
  int frames = 0;                    ///< of a clip; 0 of images
  int views = 1;                     ///< that a sample is shown in
  std::vector<float> images;         ///< B × views × channels × frames × height × width
  std::vector<int64_t> labels;       ///< B
  std::vector<size_t> indices;       ///< B, where each came from in the dataset
  Mix mix;                           ///< decided, not applied: see mix_images and mixed_targets
  std::vector<std::string> skipped;  ///< what could not be read and was replaced, with the reason

  size_t size() const { return labels.size(); }
};

struct LoaderOptions {
  SamplerOptions sampler;
  MixOptions mix;
  int workers = 1;        ///< threads; 0 prepares batches in the thread that asks for them
  int prefetch = 4;       ///< batches that may lie ready or be under way
  bool skip_bad = false;  ///< replace an unreadable image by another one, drawn by (seed, epoch, index), and say so
};

/// More threads than any machine needs to read images.
inline constexpr int kMaxWorkers = 1024;

/// Half of the cores, at most eight: the others compute.
int default_workers();

class BatchStream;

class Loader {
 public:
  /// Throws std::invalid_argument for options that do not fit together.
  Loader(DatasetPtr dataset, Pipeline pipeline, const LoaderOptions& options);

  size_t steps_per_epoch() const { return sampler_.steps_per_epoch(); }
  const Dataset& dataset() const { return *dataset_; }
  const Pipeline& pipeline() const { return pipeline_; }

  /// Begins an epoch, at any of its steps. The loader must outlive the stream.
  BatchStream epoch(uint64_t epoch, size_t first_step = 0) const;

 private:
  friend class BatchStream;
  Batch make_batch(uint64_t epoch, const std::vector<size_t>& order, size_t step) const;
  void add_sample(Batch& batch, size_t index, size_t slot) const;
  void read(size_t index, CounterRng& rng, float* out) const;
  void read_or_replace(Batch& batch, size_t& index, CounterRng& rng, float* out) const;

  DatasetPtr dataset_;
  Pipeline pipeline_;
  LoaderOptions options_;
  Sampler sampler_;
};

/// The rest of an epoch, in order. Its destructor stops the workers.
class BatchStream {
 public:
  /// Throws std::runtime_error where the system grants fewer threads than the loader's workers.
  BatchStream(const Loader& loader, uint64_t epoch, size_t first_step);
  ~BatchStream();
  BatchStream(BatchStream&&) noexcept;
  BatchStream& operator=(BatchStream&&) = delete;

  /// None after the last batch. What a worker threw is thrown here, once, in place of the batch it was making; the
  /// stream ends with it.
  std::optional<Batch> next();

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

}  // namespace fib
