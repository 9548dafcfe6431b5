// SPDX-License-Identifier: Apache-2.0
#include "kernels/workspace.h"

#include <cstring>

#include "base/processor.h"

namespace fib::kernels {

template <class T>
bool RowCopy<T>::pays(const Rows<const T>& rows, int64_t tokens, int64_t channels) {
  const int64_t bytes = tokens * channels * static_cast<int64_t>(sizeof(T));
  // A smaller head stays in L2 wherever its rows lie. Rows 9 KB apart use a quarter of the cache's sets, and keys share
  // it with values, so that from an eighth on they would drive each other out.
  const int64_t least = caches().second / 8;
  return far_apart(rows.stride, channels) && bytes >= least && bytes <= kMaxBytes;
}

template <class T>
void RowCopy<T>::open(uint64_t call, const Rows<const T>& rows, int64_t tokens, int64_t channels, int64_t cls) {
  if (call == call_ && rows.data == from_.data && rows.stride == from_.stride && channels == channels_) return;
  call_ = call, from_ = rows, channels_ = channels;
  buffer_.ensure(static_cast<size_t>(tokens * channels));
  copy(0, cls);
  begin_ = end_ = cls;
}

template <class T>
Rows<const T> RowCopy<T>::require(int64_t begin, int64_t end) {
  if (begin > end_ || end < begin_ || begin_ == end_) {
    copy(begin, end);
    begin_ = begin, end_ = end;
  } else {
    if (begin < begin_) copy(begin, begin_), begin_ = begin;
    if (end > end_) copy(end_, end), end_ = end;
  }
  return {buffer_.data(), channels_};
}

template <class T>
void RowCopy<T>::copy(int64_t begin, int64_t end) {
  for (int64_t t = begin; t < end; ++t) {
    std::memcpy(buffer_.data() + t * channels_, from_.row(t), static_cast<size_t>(channels_) * sizeof(T));
  }
}

template class RowCopy<float>;
template class RowCopy<double>;

}  // namespace fib::kernels
