// SPDX-License-Identifier: Apache-2.0
// A ViT without the channels whose masks are zero.
#pragma once

#include <vector>

#include "models/torch/vit.h"

namespace fib::training {

/// Computes what the masked model does, with fewer channels. Throws std::invalid_argument where a block has none left.
models::ModelPtr compressed(const models::Vit& model, const std::vector<models::ChannelMasks>& masks);

}  // namespace fib::training
