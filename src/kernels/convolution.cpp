// SPDX-License-Identifier: Apache-2.0
#include "kernels/convolution.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "base/parallel.h"
#include "kernels/tiles.h"
#include "kernels/workspace.h"

namespace fib::kernels {
namespace {

/// Images of one task: enough that clearing the scratch once for all of them costs nothing.
constexpr int64_t kTaskImages = 8;

const ConvolutionTable& convolution_table() { return convolution_of_target(chosen_target()); }

int64_t tasks_of(const ConvolutionSize& s) { return (s.images + kTaskImages - 1) / kTaskImages; }

/// `work(image)` for those of one task.
template <class Work>
void for_images(const ConvolutionSize& s, int64_t task, const Work& work) {
  for (int64_t i = task * kTaskImages; i < std::min(s.images, (task + 1) * kTaskImages); ++i) work(i);
}

/// An image with zeros around it, its lines one after the other. Between them lie r − 1 pixels of border, which are
/// computed like the others and left out when lines are copied back.
struct PaddedPlane {
  PaddedPlane(const ConvolutionSize& s, int64_t step)
      : height(s.height), width(s.width), border(s.kernel / 2), pitch(s.width + s.kernel - 1) {
    pixels = (height * pitch + step - 1) / step * step;
    size = (s.kernel - 1) * (pitch + 1) + pixels;
  }
  /// The first pixel within the border.
  int64_t inside() const { return border * (pitch + 1); }

  int64_t height, width, border, pitch;
  int64_t pixels;  ///< from the first to the last of them, whole steps
  int64_t size;    ///< that all taps can read
};

void copy_in(const PaddedPlane& p, const float* images, int64_t planes, float* into) {
  for (int64_t c = 0; c < planes; ++c) {
    for (int64_t y = 0; y < p.height; ++y) {
      std::copy_n(images + (c * p.height + y) * p.width, p.width, into + c * p.size + p.inside() + y * p.pitch);
    }
  }
}

void copy_out(const PaddedPlane& p, const PixelLines& lines, float* images) {
  for (int64_t c = 0; c < lines.count; ++c) {
    for (int64_t y = 0; y < p.height; ++y) {
      std::copy_n(lines.first + c * lines.stride + y * p.pitch, p.width, images + (c * p.height + y) * p.width);
    }
  }
}

/// Where each channel's line begins for every place of the kernel.
std::vector<int64_t> tap_begins(const PaddedPlane& p, int64_t channels, int64_t kernel) {
  std::vector<int64_t> begins;
  begins.reserve(static_cast<size_t>(channels * kernel * kernel));
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t y = 0; y < kernel; ++y)
      for (int64_t x = 0; x < kernel; ++x) begins.push_back(c * p.size + y * p.pitch + x);
  return begins;
}

/// Weights [C,K,r,r] of the convolution that gives dx: turned by half a circle.
std::vector<float> turned_weights(const ConvolutionSize& s, const float* weight) {
  const int64_t square = s.kernel * s.kernel;
  std::vector<float> turned(static_cast<size_t>(s.from * s.to * square));
  for (int64_t k = 0; k < s.to; ++k) {
    for (int64_t c = 0; c < s.from; ++c) {
      const float* from = weight + (k * s.from + c) * square;
      std::reverse_copy(from, from + square, turned.begin() + (c * s.to + k) * square);
    }
  }
  return turned;
}

/// Scratch of one thread: padded images before, padded images after, and lines of results.
struct Scratch {
  Buffer<float> x, grad, lines, sums;
};
Scratch& scratch() {
  thread_local Scratch kept;
  return kept;
}

float* cleared(Buffer<float>& buffer, int64_t count) {
  float* data = buffer.ensure(static_cast<size_t>(count));
  std::fill_n(data, count, 0.0f);
  return data;
}

/// In sixteen partial sums, which compilers keep in vectors.
float sum_of(const float* values, int64_t count) {
  float parts[16] = {};
  int64_t i = 0;
  for (; i + 16 <= count; i += 16)
    for (int64_t k = 0; k < 16; ++k) parts[k] += values[i + k];
  return std::accumulate(values + i, values + count, std::accumulate(parts, parts + 16, 0.0f));
}

/// Sums of the gradients of weights and biases over the images of each task.
struct WeightSums {
  WeightSums(const ConvolutionSize& s, int64_t tasks) : weights(s.to * s.from * s.kernel * s.kernel), biases(s.to) {
    values.resize(static_cast<size_t>(tasks * (weights + biases)));
  }
  float* of_weights(int64_t task) { return values.data() + task * (weights + biases); }
  float* of_biases(int64_t task) { return of_weights(task) + weights; }
  /// All tasks' in order, to where they are wanted.
  void add_up(int64_t tasks, float* dweight, float* dbias) {
    for (int64_t t = 1; t < tasks; ++t)
      for (int64_t i = 0; i < weights + biases; ++i) values[static_cast<size_t>(i)] += of_weights(t)[i];
    if (dweight != nullptr) std::copy_n(of_weights(0), weights, dweight);
    if (dbias != nullptr) std::copy_n(of_biases(0), biases, dbias);
  }

  int64_t weights, biases;
  std::vector<float> values;
};

/// The gradient of one call, task by task.
class Backward {
 public:
  Backward(const ConvolutionSize& s, const ConvolutionBackward& call)
      : size_(s),
        call_(call),
        table_(convolution_table()),
        plane_(s, table_.step),
        x_taps_(tap_begins(plane_, s.from, s.kernel)),
        grad_taps_(tap_begins(plane_, s.to, s.kernel)),
        turned_(turned_weights(s, call.weight)),
        sums_(s, tasks_of(s)) {}

  void run() {
    parallel_tasks(tasks_of(size_), [&](int64_t task) { images(task); });
    sums_.add_up(tasks_of(size_), call_.dweight, call_.dbias);
  }

 private:
  void images(int64_t task) {
    Scratch& own = scratch();
    float* x = cleared(own.x, size_.from * plane_.size);
    float* grad = cleared(own.grad, size_.to * plane_.size);
    const int64_t lanes = table_.lanes;
    float* sums = cleared(own.sums, sums_.weights * lanes);
    for_images(size_, task, [&](int64_t i) {
      copy_in(plane_, call_.grad_out + i * size_.to * size_.height * size_.width, size_.to, grad);
      if (call_.dx != nullptr) inputs(i, grad, own);
      if (call_.dbias != nullptr) biases(i, sums_.of_biases(task));
      if (call_.dweight == nullptr) return;
      copy_in(plane_, call_.x + i * size_.from * size_.height * size_.width, size_.from, x);
      table_.correlate({x, x_taps_.data(), static_cast<int64_t>(x_taps_.size())},
                       {grad + plane_.inside(), size_.to, plane_.size, plane_.pixels}, sums);
    });
    for (int64_t w = 0; w < sums_.weights; ++w) sums_.of_weights(task)[w] = sum_of(sums + w * lanes, lanes);
  }

  void inputs(int64_t image, const float* grad, Scratch& own) {
    const PixelLines lines{own.lines.ensure(static_cast<size_t>(size_.from * plane_.pixels)), size_.from, plane_.pixels,
                           plane_.pixels};
    table_.convolve({grad, grad_taps_.data(), static_cast<int64_t>(grad_taps_.size())}, turned_.data(), nullptr, lines);
    copy_out(plane_, lines, call_.dx + image * size_.from * size_.height * size_.width);
  }

  void biases(int64_t image, float* sums) {
    const int64_t pixels = size_.height * size_.width;
    for (int64_t k = 0; k < size_.to; ++k) sums[k] += sum_of(call_.grad_out + (image * size_.to + k) * pixels, pixels);
  }

  const ConvolutionSize size_;
  const ConvolutionBackward call_;
  const ConvolutionTable& table_;
  const PaddedPlane plane_;
  const std::vector<int64_t> x_taps_, grad_taps_;
  const std::vector<float> turned_;
  WeightSums sums_;
};

}  // namespace

void convolution_forward(const ConvolutionSize& s, const ConvolutionForward& call) {
  const ConvolutionTable& table = convolution_table();
  const PaddedPlane plane(s, table.step);
  const std::vector<int64_t> taps = tap_begins(plane, s.from, s.kernel);
  const int64_t pixels = s.height * s.width;
  parallel_tasks(tasks_of(s), [&](int64_t task) {
    float* x = cleared(scratch().x, s.from * plane.size);
    const PixelLines lines{scratch().lines.ensure(static_cast<size_t>(s.to * plane.pixels)), s.to, plane.pixels,
                           plane.pixels};
    for_images(s, task, [&](int64_t i) {
      copy_in(plane, call.x + i * s.from * pixels, s.from, x);
      table.convolve({x, taps.data(), static_cast<int64_t>(taps.size())}, call.weight, call.bias, lines);
      copy_out(plane, lines, call.out + i * s.to * pixels);
    });
  });
}

void convolution_backward(const ConvolutionSize& s, const ConvolutionBackward& call) { Backward(s, call).run(); }

}  // namespace fib::kernels
