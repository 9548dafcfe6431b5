// SPDX-License-Identifier: Apache-2.0
#include "robots/torch/encoder.h"

namespace fib::robots {
namespace {

std::shared_ptr<ImageEncoder> image_encoder(const EncoderSize& size, int64_t crop, const AttentionSpec& attention) {
  if (!size.vit.empty()) return std::make_shared<VitEncoder>(size, crop, attention);
  auto encoder = std::make_shared<ResNetEncoder>(size);
  initialize_like_torch(*encoder);
  return encoder;
}

}  // namespace

VitEncoder::VitEncoder(const EncoderSize& size, int64_t crop, const AttentionSpec& attention)
    : side_(crop / size.patch * size.patch), standardizes_(size.quick_start) {
  model_ = register_module("vit", models::make(size.vit, encoder_options(size, crop, attention)));
  if (!size.quick_start) return;
  constexpr double kFirstPositions = 0.3;  // deviation; timm's is 0.02
  const at::NoGradGuard no_grad;
  model_->named_parameters()["pos_embed"].normal_(0, kFirstPositions);
}

at::Tensor VitEncoder::seen(const at::Tensor& images) const {
  const at::Tensor whole = images.narrow(2, 0, side_).narrow(3, 0, side_);
  return standardizes_ ? at::layer_norm(whole, whole.sizes().slice(1)) : whole;
}

at::Tensor VitEncoder::forward(const at::Tensor& images) {
  const at::Tensor tokens = model_->tokens(seen(images));
  return tokens.narrow(1, 1, tokens.size(1) - 1).mean(1);  // without the class token
}

ObservationEncoder::ObservationEncoder(const Policy& policy, const AttentionSpec& attention) : task_(policy.task) {
  for (const Observation& o : task_.observations) {
    if (!o.is_image()) continue;
    cameras_.push_back(register_module(o.name, image_encoder(policy.encoder, o.crop, attention)));
  }
}

/// The last place is never drawn, as published.
at::Tensor ObservationEncoder::cropped(const at::Tensor& images, int64_t crop) const {
  const int64_t room = images.size(2) - crop;
  if (!is_training()) return images.narrow(2, room / 2, crop).narrow(3, room / 2, crop);
  const at::Tensor places = at::randint(room, {images.size(0), 2}, at::kLong);
  const auto* place = places.data_ptr<int64_t>();
  std::vector<at::Tensor> parts;
  parts.reserve(static_cast<size_t>(images.size(0)));
  for (int64_t i = 0; i < images.size(0); ++i, place += 2) {
    const int64_t first = i * images.stride(0) + place[0] * images.stride(2) + place[1] * images.stride(3);
    parts.push_back(
        images.as_strided({images.size(1), crop, crop}, images.strides().slice(1), images.storage_offset() + first));
  }
  return at::stack(parts);
}

at::Tensor ObservationEncoder::forward(const std::vector<at::Tensor>& observations) {
  std::vector<at::Tensor> features;
  auto camera = cameras_.begin();
  for (size_t i = 0; i < task_.observations.size(); ++i) {
    const Observation& o = task_.observations[i];
    features.push_back(o.is_image() ? at::relu((*camera++)->forward(cropped(observations.at(i), o.crop)))
                                    : observations.at(i));
  }
  return at::cat(features, 1);
}

}  // namespace fib::robots
