// SPDX-License-Identifier: Apache-2.0
// What a thread keeps between tiles: scratch, and copies of a head's rows where reading them in place is slow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "base/system.h"
#include "kernels/call.h"
#include "kernels/panel.h"

namespace fib::kernels {

/// Aligned memory that only grows and is never initialised: scratch of one thread, kept between calls because fresh
/// pages cost more than the work done in them.
template <class T>
class Buffer {
 public:
  T* ensure(size_t count) {
    if (count > capacity_) grow(count);
    return data_.get();
  }
  T* data() const { return data_.get(); }

 private:
  static constexpr size_t kAlignment = 128;
  struct Free {
    void operator()(T* p) const { std::free(p); }
  };
  void grow(size_t count) {
    data_.reset();
    capacity_ = 0;
    const size_t bytes = (count * sizeof(T) * 5 / 4 + kAlignment) / kAlignment * kAlignment;
    data_.reset(static_cast<T*>(allocate_aligned(kAlignment, bytes)));
    capacity_ = bytes / sizeof(T);
  }
  std::unique_ptr<T, Free> data_;
  size_t capacity_ = 0;
};

/// A contiguous copy of rows of one (sample, head), grown as the tiles advance through the head. In a packed
/// [B,T,3,H,d] consecutive rows are kilobytes apart, every one on a page of its own, and each is read once per offset.
template <class T>
class RowCopy {
 public:
  /// More than this per thread is not copied; the rows are then read in place.
  static constexpr int64_t kMaxBytes = int64_t{8} << 20;

  static bool pays(const Rows<const T>& rows, int64_t tokens, int64_t channels);

  /// Begins anew, with the class tokens' rows, unless these rows are the ones already open.
  void open(uint64_t call, const Rows<const T>& rows, int64_t tokens, int64_t channels, int64_t cls);
  /// Copies what is missing of rows [begin, end) and gives all that is there, addressed by token.
  Rows<const T> require(int64_t begin, int64_t end);

 private:
  void copy(int64_t begin, int64_t end);
  uint64_t call_ = 0;
  Rows<const T> from_;
  int64_t channels_ = 0, begin_ = 0, end_ = 0;
  Buffer<T> buffer_;
};

template <class T>
struct Workspace {
  Panel panel;
  Buffer<T> scores, products, weights;                    ///< [strips, lanes]
  Buffer<T> loose_scores, loose_products, loose_weights;  ///< [loose], padded to whole vectors
  Buffer<T> lane_values;                                  ///< a few vectors of per-row values
  Buffer<T> class_rows;                                   ///< [lanes, channels]
  Buffer<T> class_delta;                                  ///< [cls]
  RowCopy<T> copies[2];
};

}  // namespace fib::kernels
