// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

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
    data_.reset(static_cast<T*>(std::aligned_alloc(kAlignment, bytes)));
    if (!data_) throw std::bad_alloc();
    capacity_ = bytes / sizeof(T);
  }
  std::unique_ptr<T, Free> data_;
  size_t capacity_ = 0;
};

}  // namespace fib::kernels
