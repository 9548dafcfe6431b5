// SPDX-License-Identifier: Apache-2.0
#include "training/torch/adaptation_layers.h"

#include <stdexcept>

namespace fib::training {
namespace {

using models::Block;
using models::BlockView;
using models::SelfAttention;
using BlockPtr = std::shared_ptr<Block>;

SelfAttention& attention_of(Block& block) {
  if (auto* attention = dynamic_cast<SelfAttention*>(&block.mixer())) return *attention;
  throw std::invalid_argument("adapt_ridge needs blocks of self-attention and MLP, as ViT has them; use adapt_ridge 0");
}

/// What the first block is given. A block must be given what the one before has given.
at::Tensor first_input(models::Model& model, const at::Tensor& images) {
  const BlockWatch watch(model, /*branches=*/true);
  model.forward(images);
  for (size_t i = 1; i < watch.views.size(); ++i)
    if (!watch.views[i].input.equal(watch.views[i - 1].output))
      throw std::invalid_argument("adapt_ridge needs blocks that follow one another; use adapt_ridge 0");
  return watch.views.front().input;
}

/// Tokens of some images on their way through both models.
struct Tokens {
  at::Tensor student, teacher;  ///< [B,T,D]
};

at::Tensor row_counts(const at::Tensor& tokens, int64_t cls, double class_weight) {
  at::Tensor counts = at::ones({tokens.size(0), tokens.size(1)});
  counts.narrow(1, 0, cls).fill_(class_weight);
  return counts.flatten();
}

/// Moves all tokens past attention, whose projection in the student is fitted where it is sparse.
void pass_attention(Block& student, Block& teacher, std::vector<Tokens>& batches, const RidgeSettings& settings) {
  SelfAttention& attention = attention_of(student);
  models::Linear& projection = attention.projection();
  const int64_t cls = attention.mechanism()->geometry().cls;
  Ridge ridge(projection.weight, projection.bias);
  std::vector<at::Tensor> heads;
  for (Tokens& batch : batches) {
    batch.teacher = batch.teacher + teacher.attention_branch(batch.teacher);
    heads.push_back(attention.heads(student.mixer_input(batch.student)));
    ridge.add(heads.back().flatten(0, 1), (batch.teacher - batch.student).flatten(0, 1),
              row_counts(batch.student, cls, settings.class_weight));
  }
  if (!attention.mechanism()->info().dense) {
    const Ridge::Solution fitted = ridge.solve(settings.penalty);
    projection.weight.copy_(fitted.weight);
    projection.bias.copy_(fitted.bias);
  }
  for (size_t i = 0; i < batches.size(); ++i) batches[i].student = batches[i].student + projection.forward(heads[i]);
}

void pass_mlp(Block& student, Block& teacher, std::vector<Tokens>& batches) {
  for (Tokens& batch : batches) {
    batch.teacher = batch.teacher + teacher.mlp_branch(batch.teacher);
    batch.student = batch.student + student.mlp_branch(batch.student);
  }
}

/// Mean squares of a branch, where the class tokens count as much as the patches.
at::Tensor mean_square(const at::Tensor& branch, int64_t cls) {
  const at::Tensor patches = branch.narrow(1, cls, branch.size(1) - cls).square().mean();
  return cls > 0 ? (patches + branch.narrow(1, 0, cls).square().mean()) / 2 : patches;
}

bool is_sparse(const attention::MechanismPtr& mechanism) { return !mechanism->info().dense; }

}  // namespace

std::vector<BlockPtr> blocks_of(const models::Model& model) {
  std::vector<BlockPtr> blocks;
  for (const auto& part : model.modules(/*include_self=*/false))
    if (auto block = std::dynamic_pointer_cast<Block>(part)) blocks.push_back(std::move(block));
  return blocks;
}

BlockWatch::BlockWatch(const models::Model& model, bool branches) : blocks_(blocks_of(model)) {
  views.resize(blocks_.size());
  for (size_t i = 0; i < blocks_.size(); ++i) blocks_[i]->show_to(&views[i], branches);
}

BlockWatch::~BlockWatch() {
  for (const auto& block : blocks_) block->show_to(nullptr);
}

Ridge::Ridge(const at::Tensor& weight, const at::Tensor& bias)
    : weight_(weight.detach().to(at::kDouble)),
      bias_(bias.detach().to(at::kDouble)),
      normal_(at::zeros({weight.size(1) + 1, weight.size(1) + 1}, at::kDouble)),
      right_(at::zeros({weight.size(1) + 1, weight.size(0)}, at::kDouble)) {}

void Ridge::add(const at::Tensor& inputs, const at::Tensor& wanted, const at::Tensor& counts) {
  const at::Tensor x = at::cat({inputs, at::ones({inputs.size(0), 1}, inputs.options())}, 1).to(at::kDouble);
  const at::Tensor counted = (x * counts.unsqueeze(1)).t();  // [F+1,n]
  const at::Tensor missing = wanted.to(at::kDouble) - at::addmm(bias_, x.narrow(1, 0, inputs.size(1)), weight_.t());
  normal_.add_(counted.matmul(x));
  right_.add_(counted.matmul(missing));
}

Ridge::Solution Ridge::solve(double penalty) const {
  const at::Tensor kept = penalty * normal_.diagonal().mean() * at::eye(normal_.size(0), at::kDouble);
  const at::Tensor change = at::linalg_solve(normal_ + kept, right_).t();  // [D,F+1]
  const int64_t inputs = weight_.size(1);
  return {(weight_ + change.narrow(1, 0, inputs)).to(at::kFloat), (bias_ + change.select(1, inputs)).to(at::kFloat)};
}

void fit_projections(models::Model& student, models::Model& teacher, const std::vector<at::Tensor>& images,
                     const RidgeSettings& settings, const std::function<void()>& each) {
  const at::NoGradGuard no_grad;
  const auto student_blocks = blocks_of(student), teacher_blocks = blocks_of(teacher);
  if (student_blocks.empty())
    throw std::invalid_argument(
        "adapt_ridge needs blocks of self-attention and MLP, as ViT has them; use adapt_ridge 0");
  for (const BlockPtr& block : student_blocks) attention_of(*block);
  std::vector<Tokens> batches;
  for (const at::Tensor& some : images) {
    const at::Tensor tokens = first_input(teacher, some);
    batches.push_back({tokens, tokens});
  }
  for (size_t i = 0; i < student_blocks.size(); ++i) {
    pass_attention(*student_blocks[i], *teacher_blocks[i], batches, settings);
    pass_mlp(*student_blocks[i], *teacher_blocks[i], batches);
    each();
  }
}

at::Tensor branch_distance(models::Model& student, models::Model& teacher, const at::Tensor& images) {
  BlockWatch watch(teacher, /*branches=*/true);
  {
    const at::NoGradGuard no_grad;
    teacher.forward(images);
  }
  const auto blocks = blocks_of(student);
  const auto mechanisms = student.attentions();
  if (blocks.size() != mechanisms.size())
    throw std::invalid_argument("adapt_branch_epochs needs blocks with one attention each; use adapt_branch_epochs 0");
  at::Tensor sum = at::zeros({});
  double sparse = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (!is_sparse(mechanisms[i])) continue;
    const int64_t cls = mechanisms[i]->geometry().cls;
    const at::Tensor wanted = watch.views[i].branch.to(at::kFloat);
    const at::Tensor missed = blocks[i]->attention_branch(watch.views[i].input).to(at::kFloat) - wanted;
    sum = sum + mean_square(missed, cls) / mean_square(wanted, cls).clamp_min(1e-12);
    ++sparse;
  }
  return sum / sparse;
}

}  // namespace fib::training
