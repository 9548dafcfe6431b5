// SPDX-License-Identifier: Apache-2.0
// A model's parameters and floating buffers in one piece of memory, their gradients in another. The optimizer, the
// norm, the average and the reduction over processes are then single passes over plain floats, and a checkpoint is a
// few tensors.
#pragma once

#include <torch/torch.h>

#include <span>
#include <string>
#include <vector>

namespace fib::training {

/// Where a tensor lives in the flat memory, in elements.
struct Segment {
  std::string name;
  at::Tensor tensor;  ///< the model's own
  int64_t offset = 0;
  int64_t size = 0;
  bool parameter = true;  ///< false: a buffer, such as BatchNorm's statistics
  bool trained = true;    ///< false: a buffer, or a parameter that needs no gradient
};

/// From here on the model's tensors are views of this object's memory, which outlives it as long as the model lives.
class FlatParameters {
 public:
  /// float32 on the CPU; throws std::invalid_argument naming a tensor that is neither.
  explicit FlatParameters(torch::nn::Module& model);

  /// Trained parameters in the order of registration, then buffers, then frozen parameters.
  const std::vector<Segment>& segments() const { return segments_; }
  /// Of parameters alone, without padding.
  int64_t parameters() const;
  at::Tensor buffers() { return values_.narrow(0, trained_, changing_ - trained_); }
  bool has_buffers() const { return trained_ < changing_; }

  at::Tensor& values() { return values_; }
  const at::Tensor& values() const { return values_; }
  at::Tensor& gradients() { return gradients_; }
  int64_t size() const { return values_.numel(); }
  /// Elements before this one are trained.
  int64_t trained() const { return trained_; }
  void zero_gradients() { gradients_.zero_(); }

  /// Copies a checkpoint's; throws std::invalid_argument where lengths differ.
  void restore(const at::Tensor& values);
  /// Exchanges the model's values with others of the same length, e.g. averaged ones; a second call undoes it.
  void swap_values(at::Tensor& other);

 private:
  void lay_out(torch::nn::Module& model);
  void move_in();

  std::vector<Segment> segments_;
  at::Tensor values_, gradients_;
  int64_t trained_ = 0;
  int64_t changing_ = 0;  ///< elements before this one are trained or buffers
};

/// While it lives the model has other values; null leaves its own.
class ValuesInPlace {
 public:
  ValuesInPlace(FlatParameters& parameters, at::Tensor* other) : parameters_(parameters), other_(other) { swap(); }
  ~ValuesInPlace() { swap(); }
  ValuesInPlace(const ValuesInPlace&) = delete;
  ValuesInPlace& operator=(const ValuesInPlace&) = delete;

 private:
  void swap() {
    if (other_ != nullptr) parameters_.swap_values(*other_);
  }

  FlatParameters& parameters_;
  at::Tensor* other_;
};

}  // namespace fib::training
