// SPDX-License-Identifier: Apache-2.0
// The Swin transformer, with timm's parameter names: attention inside windows of w × w tokens, shifted by half a window
// in every second block.
//
// Letters besides those of layers.h: H, W rows and columns of tokens, w of a window, G windows of an image.
#include "models/torch/layers.h"
#include "models/torch/model.h"

namespace fib::models {
namespace {

/// Attention inside windows. Scores have a learned bias for each distance; in shifted windows, pairs that are no
/// neighbours in the image have -100 besides. Both are added before a mechanism chooses pairs.
class WindowAttention final : public SelfAttention {
 public:
  WindowAttention(int64_t dim, const AttentionLayer& layer, const BlockRates& rates);
  at::Tensor forward(const at::Tensor& x) override;

  /// Tokens of the whole image, and by how many of them windows are shifted.
  void set_grid(const attention::Grid& grid, int64_t shift);
  /// [G,T,T] of 0 and -100; undefined where windows are not shifted.
  const at::Tensor& mask() const { return mask_; }

 private:
  at::Tensor bias() const;

  at::Tensor table_, index_, mask_;
  attention::Grid grid_;
  int64_t window_, shift_ = 0;
};

class Swin final : public Model {
 public:
  explicit Swin(const Dimensions& dims);

  at::Tensor tokens(const at::Tensor& images) override;
  at::Tensor features(const at::Tensor& images) override { return tokens(images).mean(1); }
  at::Tensor classify(const at::Tensor& features) override { return head_->forward(features); }
  std::vector<attention::MechanismPtr> attentions() const override;
  void set_resolution(int64_t height, int64_t width) override;

 private:
  /// Four neighbours side by side become one token of twice the width.
  class PatchMerging;
  class StageModule;

  void initialize();
  void place_windows();

  std::shared_ptr<PatchEmbed> patch_embed_;
  std::vector<std::shared_ptr<StageModule>> stages_;
  std::shared_ptr<LayerNorm> norm_;
  std::shared_ptr<Linear> head_;
};

constexpr double kSwinEps = 1e-5;
constexpr double kFar = -100.0;

/// [B,H,W,C] -> [B·G,w·w,C], windows and the tokens inside in reading order.
at::Tensor to_windows(const at::Tensor& x, int64_t w) {
  const int64_t B = x.size(0), H = x.size(1), W = x.size(2), C = x.size(3);
  return x.view({B, H / w, w, W / w, w, C}).permute({0, 1, 3, 2, 4, 5}).reshape({-1, w * w, C});
}

/// The inverse: [B·G,w·w,C] -> [B,H,W,C].
at::Tensor from_windows(const at::Tensor& x, int64_t w, const attention::Grid& grid) {
  const int64_t H = grid.height, W = grid.width, C = x.size(2);
  return x.view({-1, H / w, W / w, w, w, C}).permute({0, 1, 3, 2, 4, 5}).reshape({-1, H, W, C});
}

/// Row of the table for each pair of a window: (dr + w - 1)(2w - 1) + dc + w - 1, [T,T].
at::Tensor position_index(int64_t w) {
  const at::Tensor place = at::arange(w * w, at::kLong);
  const at::Tensor row = place.div(w, "floor"), column = place.remainder(w);
  const auto distance = [w](const at::Tensor& at) { return at.unsqueeze(1) - at.unsqueeze(0) + w - 1; };
  return distance(row) * (2 * w - 1) + distance(column);
}

/// Which third of a rolled axis a token came from: what the roll brings together was not together before.
at::Tensor regions(int64_t size, int64_t window, int64_t shift) {
  const at::Tensor place = at::arange(size, at::kLong);
  return place.ge(size - window).to(at::kLong) + place.ge(size - shift).to(at::kLong);
}

at::Tensor shift_mask(const attention::Grid& grid, int64_t window, int64_t shift) {
  const at::Tensor region =
      3 * regions(grid.height, window, shift).unsqueeze(1) + regions(grid.width, window, shift).unsqueeze(0);  // [H,W]
  const at::Tensor ids = to_windows(region.view({1, grid.height, grid.width, 1}), window).squeeze(2);          // [G,T]
  return ids.unsqueeze(1).ne(ids.unsqueeze(2)).to(at::kFloat) * kFar;  // [G,T,T]
}

WindowAttention::WindowAttention(int64_t dim, const AttentionLayer& layer, const BlockRates& rates)
    : SelfAttention({dim}, layer, rates), window_(layer.geometry.query_grid.width) {
  const int64_t span = 2 * window_ - 1;
  table_ = register_parameter("relative_position_bias_table", at::empty({span * span, layer.geometry.heads}));
  // timm's state dict has it. It is not what is computed with: a module's to(double) does not spare integers.
  register_buffer("relative_position_index", position_index(window_));
  index_ = position_index(window_).flatten();
}

void WindowAttention::set_grid(const attention::Grid& grid, int64_t shift) {
  const at::NoGradGuard no_grad;
  grid_ = grid;
  shift_ = shift;
  if (shift == 0) return;
  const at::Tensor mask = shift_mask(grid, window_, shift).to(table_.options());
  if (mask_.defined()) {
    mask_.set_data(mask);  // what is registered stays registered
  } else {
    mask_ = mask;
  }
}

/// [1,H,T,T], or [G,H,T,T] in shifted windows.
at::Tensor WindowAttention::bias() const {
  const int64_t T = window_ * window_;
  const at::Tensor positions = table_.index_select(0, index_).view({1, T, T, -1}).permute({0, 3, 1, 2});
  return shift_ == 0 ? positions : positions + mask_.unsqueeze(1);
}

at::Tensor WindowAttention::forward(const at::Tensor& x) {
  const at::Tensor image = x.view({x.size(0), grid_.height, grid_.width, x.size(2)});
  const at::Tensor rolled = shift_ == 0 ? image : image.roll({-shift_, -shift_}, {1, 2});
  const at::Tensor mixed = from_windows(attend(to_windows(rolled, window_), bias()), window_, grid_);
  return (shift_ == 0 ? mixed : mixed.roll({shift_, shift_}, {1, 2})).view(x.sizes());
}

class Swin::PatchMerging : public torch::nn::Module {
 public:
  explicit PatchMerging(int64_t dim) {
    norm_ = register_module("norm", std::make_shared<LayerNorm>(4 * dim, kSwinEps));
    reduction_ = register_module("reduction", std::make_shared<Linear>(4 * dim, 2 * dim, false));
  }

  /// [B,H·W,C] -> [B,H·W/4,2C]; neighbours in the order of columns: above left, below left, above right, below right.
  at::Tensor forward(const at::Tensor& x, const attention::Grid& grid) const {
    const int64_t B = x.size(0), H = grid.height, W = grid.width, C = x.size(2);
    const at::Tensor neighbours =
        x.view({B, H / 2, 2, W / 2, 2, C}).permute({0, 1, 3, 4, 2, 5}).reshape({B, H * W / 4, 4 * C});
    return reduction_->forward(norm_->forward(neighbours));
  }

 private:
  std::shared_ptr<LayerNorm> norm_;
  std::shared_ptr<Linear> reduction_;
};

class Swin::StageModule : public torch::nn::Module {
 public:
  explicit StageModule(bool last, int64_t dim) {
    list_ = register_module("blocks", std::make_shared<torch::nn::ModuleListImpl>());
    if (!last) downsample_ = register_module("downsample", std::make_shared<PatchMerging>(dim));
  }

  void add(const AttentionLayer& layer, int64_t dim, const BlockRates& rates) {
    attentions_.push_back(std::make_shared<WindowAttention>(dim, layer, rates));
    blocks_.push_back(std::make_shared<Block>(MlpShape{dim, 4 * dim}, attentions_.back(), rates, kSwinEps));
    list_->push_back(blocks_.back());
  }

  /// Every second block is shifted, unless one window is the whole image.
  void set_grid(const attention::Grid& grid, int64_t window) {
    grid_ = grid;
    const bool one_window = std::min(grid.height, grid.width) <= window;
    for (size_t i = 0; i < blocks_.size(); ++i) {
      const bool known = attentions_[i]->mask().defined();
      attentions_[i]->set_grid(grid, i % 2 == 0 || one_window ? 0 : window / 2);
      const at::Tensor& mask = attentions_[i]->mask();
      if (mask.defined() && !known) blocks_[i]->register_buffer("attn_mask", mask);  // timm's place for it
    }
  }

  at::Tensor forward(at::Tensor x) {
    for (const auto& block : blocks_) x = block->forward(x);
    return downsample_ ? downsample_->forward(x, grid_) : x;
  }

  const std::vector<std::shared_ptr<WindowAttention>>& attentions() const { return attentions_; }

 private:
  std::shared_ptr<torch::nn::ModuleListImpl> list_;
  std::vector<std::shared_ptr<Block>> blocks_;
  std::vector<std::shared_ptr<WindowAttention>> attentions_;
  std::shared_ptr<PatchMerging> downsample_;
  attention::Grid grid_;
};

Swin::Swin(const Dimensions& dims) : Model(dims) {
  const ModelRow& row = dims.row;
  patch_embed_ =
      register_module("patch_embed", std::make_shared<PatchEmbed>(dims.options.channels, row.dim, row.patch, kSwinEps));
  const auto list = register_module("layers", std::make_shared<torch::nn::ModuleListImpl>());
  const std::vector<AttentionLayer> layers = attention_layers(dims);
  int64_t depth = 0;
  for (const Stage& stage : row.stages) {
    stages_.push_back(std::make_shared<StageModule>(&stage == &row.stages.back(), stage.dim));
    for (int64_t i = 0; i < stage.depth; ++i, ++depth) {
      stages_.back()->add(layers[static_cast<size_t>(depth)], stage.dim, rates_of(dims.options, depth, row.depth));
    }
    list->push_back(stages_.back());
  }
  norm_ = register_module("norm", std::make_shared<LayerNorm>(row.stages.back().dim, kSwinEps));
  head_ = register_module("head", std::make_shared<Linear>(row.stages.back().dim, row.classes));
  place_windows();
  if (dims.options.initialize) initialize();
}

void Swin::initialize() {
  const at::NoGradGuard no_grad;
  initialize_like_timm(*this);
  for (auto& item : named_parameters()) {
    if (item.key().ends_with("relative_position_bias_table")) item.value().normal_(0.0, 0.02);
  }
}

void Swin::place_windows() {
  attention::Grid grid = dimensions().grid();
  for (const auto& stage : stages_) {
    stage->set_grid(grid, dimensions().row.window);
    grid = {grid.height / 2, grid.width / 2};
  }
}

at::Tensor Swin::tokens(const at::Tensor& images) {
  check_input(images);
  at::Tensor x = at::dropout(patch_embed_->forward(images), dimensions().options.dropout, is_training());
  for (const auto& stage : stages_) x = stage->forward(x);
  return norm_->forward(x);
}

std::vector<attention::MechanismPtr> Swin::attentions() const {
  std::vector<attention::MechanismPtr> list;
  for (const auto& stage : stages_) {
    for (const auto& attention : stage->attentions()) list.push_back(attention->mechanism());
  }
  return list;
}

void Swin::set_resolution(int64_t height, int64_t width) {
  take_dimensions(resized(dimensions(), height, width));
  place_windows();
}

}  // namespace

ModelPtr make_swin(const Dimensions& dims) { return std::make_shared<Swin>(dims); }

}  // namespace fib::models
