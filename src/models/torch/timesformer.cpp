// SPDX-License-Identifier: Apache-2.0
// TimeSformer with the parameter names of its authors: those of a ViT, and of attention over time beside them.
//
// Letters: B clips, T frames, N places of a frame's grid, D channels. Tokens are [B,1 + N·T,D]: the class token, then
// the frames of the first place, those of the second, …
#include <string_view>

#include "models/torch/layers.h"
#include "models/torch/model.h"

namespace fib::models {
namespace {

/// Over time, then within each frame, then each token by itself.
class DividedBlock : public torch::nn::Module {
 public:
  /// The two layers of a block.
  struct Layers {
    const AttentionLayer& temporal;
    const AttentionLayer& spatial;
  };

  DividedBlock(const Layers& layers, int64_t dim, int64_t hidden, const BlockRates& rates)
      : drop_path_(rates.drop_path) {
    const auto attention = [&](const AttentionLayer& layer) {
      return std::make_shared<SelfAttention>(SelfAttentionShape{dim}, layer, rates);
    };
    norm1_ = register_module("norm1", std::make_shared<LayerNorm>(dim));
    attn_ = register_module("attn", attention(layers.spatial));
    temporal_norm1_ = register_module("temporal_norm1", std::make_shared<LayerNorm>(dim));
    temporal_attn_ = register_module("temporal_attn", attention(layers.temporal));
    temporal_fc_ = register_module("temporal_fc", std::make_shared<Linear>(dim, dim));
    norm2_ = register_module("norm2", std::make_shared<LayerNorm>(dim));
    mlp_ = register_module("mlp", std::make_shared<Mlp>(MlpShape{dim, hidden}, rates.dropout));
  }

  at::Tensor forward(const at::Tensor& x, int64_t frames) {
    const at::Tensor cls = x.narrow(1, 0, 1);                                           // [B,1,D]
    const at::Tensor patches = over_time(x.narrow(1, 1, x.size(1) - 1), frames);        // [B,N,T,D]
    const at::Tensor seen = within_frames(cls, patches.transpose(1, 2));                // [B,T,1 + N,D]
    const at::Tensor from_frames = seen.narrow(2, 1, patches.size(1)).transpose(1, 2);  // [B,N,T,D]
    const at::Tensor y = at::cat({cls + seen.select(2, 0).mean(1, true), (patches + from_frames).flatten(1, 2)}, 1);
    return add_branch(y, drop_path(mlp_->forward(norm2_->forward(y)), drop_path_, is_training()));
  }

  const attention::MechanismPtr& temporal() const { return temporal_attn_->mechanism(); }
  const attention::MechanismPtr& spatial() const { return attn_->mechanism(); }
  Linear& temporal_fc() { return *temporal_fc_; }

 private:
  /// Patches [B,N·T,D] with what each place sees of itself in other frames.
  at::Tensor over_time(const at::Tensor& patches, int64_t T) {
    const int64_t B = patches.size(0), N = patches.size(1) / T, D = patches.size(2);
    const at::Tensor places = patches.reshape({B * N, T, D});
    const at::Tensor seen = temporal_attn_->forward(temporal_norm1_->forward(places));
    const at::Tensor branch = temporal_fc_->forward(drop_path(seen, drop_path_, is_training()));
    return (places + branch).view({B, N, T, D});
  }

  /// What a copy of the class token and the patches [B,T,N,D] see of their frame.
  at::Tensor within_frames(const at::Tensor& cls, const at::Tensor& patches) {
    const int64_t B = patches.size(0), T = patches.size(1), N = patches.size(2), D = patches.size(3);
    const at::Tensor copies = cls.unsqueeze(1).expand({B, T, 1, D});
    const at::Tensor frames = at::cat({copies, patches}, 2).view({B * T, 1 + N, D});
    const at::Tensor seen = attn_->forward(norm1_->forward(frames));
    return drop_path(seen, drop_path_, is_training()).view({B, T, 1 + N, D});
  }

  std::shared_ptr<LayerNorm> norm1_, temporal_norm1_, norm2_;
  std::shared_ptr<SelfAttention> attn_, temporal_attn_;
  std::shared_ptr<Linear> temporal_fc_;
  std::shared_ptr<Mlp> mlp_;
  double drop_path_;
};

class Timesformer final : public Model {
 public:
  explicit Timesformer(const Dimensions& dims);

  at::Tensor tokens(const at::Tensor& clips) override { return norm_->forward(encoded(clips)); }
  at::Tensor features(const at::Tensor& clips) override { return norm_->forward(encoded(clips).select(1, 0)); }
  at::Tensor classify(const at::Tensor& features) override { return head_->forward(features); }
  std::vector<attention::MechanismPtr> attentions() const override { return attentions_; }
  void set_resolution(int64_t height, int64_t width) override;
  at::Tensor adapted(const std::string& name, const at::Tensor& stored) const override;
  at::Tensor made_of(const std::string& name, const StoredTensors& stored) const override;

 private:
  void add_divided_blocks(torch::nn::ModuleListImpl& list);
  void add_joint_blocks(torch::nn::ModuleListImpl& list);
  void initialize();
  at::Tensor embed(const at::Tensor& clips);
  /// After all blocks, before the norm.
  at::Tensor encoded(const at::Tensor& clips);

  at::Tensor cls_token_, pos_embed_, time_embed_;
  std::shared_ptr<PatchEmbed> patch_embed_;
  std::vector<std::shared_ptr<DividedBlock>> divided_;  // these or those
  std::vector<std::shared_ptr<Block>> joint_;
  std::vector<attention::MechanismPtr> attentions_;
  std::shared_ptr<LayerNorm> norm_;
  std::shared_ptr<Linear> head_;
};

Timesformer::Timesformer(const Dimensions& dims) : Model(dims) {
  const ModelRow& row = dims.row;
  cls_token_ = register_parameter("cls_token", at::empty({1, 1, row.dim}));
  pos_embed_ = register_parameter("pos_embed", at::empty({1, 1 + dims.grid().tokens(), row.dim}));
  time_embed_ = register_parameter("time_embed", at::empty({1, dims.frames(), row.dim}));
  patch_embed_ =
      register_module("patch_embed", std::make_shared<PatchEmbed>(dims.options.channels, row.dim, row.patch));
  const auto blocks = register_module("blocks", std::make_shared<torch::nn::ModuleListImpl>());
  if (dims.options.attention_in == AttentionIn::joint) {
    add_joint_blocks(*blocks);
  } else {
    add_divided_blocks(*blocks);
  }
  norm_ = register_module("norm", std::make_shared<LayerNorm>(row.dim));
  head_ = register_module("head", std::make_shared<Linear>(row.dim, row.classes));
  if (dims.options.initialize) initialize();
}

void Timesformer::add_divided_blocks(torch::nn::ModuleListImpl& list) {
  const Dimensions& d = dimensions();
  const std::vector<AttentionLayer> layers = attention_layers(d);
  for (size_t i = 0; i < layers.size(); i += 2) {
    const BlockRates rates = rates_of(d.options, static_cast<int64_t>(i / 2), d.row.depth);
    const DividedBlock::Layers both{layers[i], layers[i + 1]};
    divided_.push_back(std::make_shared<DividedBlock>(both, d.row.dim, d.hidden(), rates));
    list.push_back(divided_.back());
    attentions_.push_back(divided_.back()->temporal());
    attentions_.push_back(divided_.back()->spatial());
  }
}

void Timesformer::add_joint_blocks(torch::nn::ModuleListImpl& list) {
  const Dimensions& d = dimensions();
  for (const AttentionLayer& layer : attention_layers(d)) {
    const BlockRates rates = rates_of(d.options, static_cast<int64_t>(joint_.size()), d.row.depth);
    const auto attn = std::make_shared<SelfAttention>(SelfAttentionShape{d.row.dim}, layer, rates);
    joint_.push_back(std::make_shared<Block>(MlpShape{d.row.dim, d.hidden()}, attn, rates));
    list.push_back(joint_.back());
    attentions_.push_back(attn->mechanism());
  }
}

/// As its authors begin: what attention over time finds counts nothing at first, and all frames are the same time.
void Timesformer::initialize() {
  const at::NoGradGuard no_grad;
  initialize_like_timm(*this);
  cls_token_.normal_(0.0, 0.02);
  pos_embed_.normal_(0.0, 0.02);
  time_embed_.zero_();
  for (const auto& block : divided_) block->temporal_fc().weight.zero_();
}

at::Tensor Timesformer::embed(const at::Tensor& clips) {
  check_input(clips);
  const int64_t B = clips.size(0), T = clips.size(2), N = dimensions().grid().tokens();
  const at::Tensor frames = clips.transpose(1, 2).flatten(0, 1);                         // [B·T,C,h,w]
  const at::Tensor placed = patch_embed_->forward(frames) + pos_embed_.narrow(1, 1, N);  // [B·T,N,D]
  const at::Tensor over_places = placed.view({B, T, N, -1}).transpose(1, 2);             // [B,N,T,D]
  const at::Tensor timed = (over_places + time_embed_.unsqueeze(1)).flatten(1, 2);       // [B,N·T,D]
  const at::Tensor cls = (cls_token_ + pos_embed_.narrow(1, 0, 1)).expand({B, -1, -1});
  return at::dropout(at::cat({cls, timed}, 1), dimensions().options.dropout, is_training());  // [B,1 + N·T,D]
}

at::Tensor Timesformer::encoded(const at::Tensor& clips) {
  at::Tensor x = embed(clips);
  for (const auto& block : divided_) x = block->forward(x, dimensions().frames());
  for (const auto& block : joint_) x = block->forward(x);
  return x;
}

void Timesformer::set_resolution(int64_t height, int64_t width) {
  const attention::Grid before = dimensions().grid();
  take_dimensions(resized(dimensions(), height, width));
  const at::NoGradGuard no_grad;
  pos_embed_.set_data(resize_positions(pos_embed_, 1, before, dimensions().grid()));
  pos_embed_.mutable_grad() = at::Tensor();
}

at::Tensor Timesformer::adapted(const std::string& name, const at::Tensor& stored) const {
  if (stored.dim() != 3 || stored.size(2) != dimensions().row.dim) return stored;
  const attention::Grid grid = dimensions().grid();
  if (name == "pos_embed") return resize_positions(stored, 1, stored_grid(stored, 1, grid), grid);
  if (name == "time_embed") return resize_positions(stored, 0, {1, stored.size(1)}, {1, dimensions().frames()});
  return stored;
}

/// Of weights for images: attention over time begins as attention over places does, and counts nothing at first.
at::Tensor Timesformer::made_of(const std::string& name, const StoredTensors& stored) const {
  if (stored("time_embed").defined()) return {};
  const auto parameters = named_parameters();
  const at::Tensor* own = parameters.find(name);
  const bool silent = name == "time_embed" || name.find(".temporal_fc.") != std::string::npos;
  if (silent && own != nullptr) return at::zeros(own->sizes());
  constexpr std::string_view kPrefix = "temporal_";
  const size_t at = name.find(kPrefix);
  return at == std::string::npos ? at::Tensor() : stored(std::string(name).erase(at, kPrefix.size()));
}

}  // namespace

ModelPtr make_timesformer(const Dimensions& dims) { return std::make_shared<Timesformer>(dims); }

}  // namespace fib::models
