// SPDX-License-Identifier: Apache-2.0
// How right a model was, batch after batch.
#pragma once

#include <torch/torch.h>

#include <cstdint>

namespace fib::cli {

class Score {
 public:
  /// Logits [B,classes] and labels [B].
  void add(const at::Tensor& logits, const at::Tensor& labels);

  int64_t images() const { return images_; }
  double top1() const { return share(top1_); }
  double top5() const { return share(top5_); }
  /// The mean cross-entropy.
  double loss() const { return loss_ / static_cast<double>(images_); }

 private:
  double share(int64_t count) const { return static_cast<double>(count) / static_cast<double>(images_); }

  int64_t images_ = 0, top1_ = 0, top5_ = 0;
  double loss_ = 0;
};

}  // namespace fib::cli
