// SPDX-License-Identifier: Apache-2.0
#include "models/torch/position.h"

#include <cmath>
#include <sstream>
#include <stdexcept>

namespace fib::models {

at::Tensor resize_positions(const at::Tensor& positions, int64_t cls, const attention::Grid& from,
                            const attention::Grid& to) {
  if (from == to) return positions;
  const at::Tensor prefix = positions.narrow(1, 0, cls);
  const at::Tensor patches = positions.narrow(1, cls, from.tokens());
  const at::Tensor grid = patches.reshape({1, from.height, from.width, -1}).permute({0, 3, 1, 2});  // [1,D,h,w]
  const at::Tensor resized = at::upsample_bicubic2d(grid.contiguous(), {to.height, to.width}, false);
  return at::cat({prefix, resized.flatten(2).transpose(1, 2)}, 1);  // [1,cls + N,D]
}

attention::Grid stored_grid(const at::Tensor& positions, int64_t cls, const attention::Grid& wanted) {
  const int64_t patches = positions.size(1) - cls;
  if (patches == wanted.tokens()) return wanted;
  const auto side = static_cast<int64_t>(std::llround(std::sqrt(static_cast<double>(std::max<int64_t>(0, patches)))));
  if (side > 0 && side * side == patches) return {side, side};
  std::ostringstream message;
  message << "position embeddings " << positions.sizes() << " are neither of a square grid nor of " << wanted.height
          << " x " << wanted.width << " patches";
  throw std::invalid_argument(message.str());
}

}  // namespace fib::models
