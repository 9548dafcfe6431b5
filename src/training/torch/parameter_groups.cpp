// SPDX-License-Identifier: Apache-2.0
#include "training/torch/parameter_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <regex>
#include <stdexcept>
#include <string_view>

#include "training/recipe/begin.h"

namespace fib::training {
namespace {

constexpr std::array<std::string_view, 7> kWithoutDecay = {
    "cls_token", "dist_token", "pos_embed", "time_embed", "relative_position_bias_table", "rel_pos_h", "rel_pos_w"};

std::string_view leaf_of(std::string_view name) {
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

}  // namespace

bool decays(const std::string& name, int64_t dimensions) {
  const std::string_view leaf = leaf_of(name);
  return dimensions > 1 && leaf != "bias" && std::ranges::find(kWithoutDecay, leaf) == kWithoutDecay.end();
}

/// blocks.B, layers.S.blocks.B, stages.S.blocks.B, stages.S.B, stageS.blocks.B; and between stages layers.S.downsample,
/// downsample_layers.S, stageS.patch_embed.
int64_t layer_of(const std::string& name, const std::vector<int64_t>& stages) {
  static const std::regex kBlock(R"((?:(?:layers|stages)\.(\d+)\.|stage(\d+)\.|)(?:blocks\.)?(\d+)\..*)");
  static const std::regex kBetween(R"((?:(downsample_layers\.|stage)(\d+)|layers\.(\d+)\.downsample)\..*)");
  const auto before = [&](int64_t stage) {
    return std::accumulate(stages.begin(), stages.begin() + std::min<int64_t>(stage, std::ssize(stages)), int64_t{0});
  };
  const auto number = [](const std::ssub_match& text) { return text.matched ? std::stoll(text.str()) : 0; };
  std::smatch found;
  if (std::regex_match(name, found, kBlock)) return before(number(found[1]) + number(found[2])) + number(found[3]) + 1;
  if (std::regex_match(name, found, kBetween)) {
    if (found[3].matched) return before(number(found[3]) + 1);  // follows its stage
    return number(found[2]) == 0 ? 0 : before(number(found[2])) + 1;
  }
  const std::string_view leaf = leaf_of(name);
  const bool embedding = name.starts_with("patch_embed.") || leaf == "cls_token" || leaf == "dist_token" ||
                         leaf == "pos_embed" || leaf == "time_embed";
  return embedding ? 0 : before(std::ssize(stages)) + 1;
}

int64_t freeze(torch::nn::Module& network, int64_t blocks, const std::vector<int64_t>& stages,
               const std::string& classifier) {
  const int64_t depth = std::accumulate(stages.begin(), stages.end(), int64_t{0});
  if (blocks != kAllFrozen && blocks > depth)
    throw std::invalid_argument(
        fmt::format("freeze: received {}, the model has {} blocks; accepted 1 to {}, or all", blocks, depth, depth));
  int64_t count = 0;
  for (const auto& item : network.named_parameters()) {
    const bool keeps =
        blocks == kAllFrozen ? !item.key().starts_with(classifier + ".") : layer_of(item.key(), stages) <= blocks;
    if (!keeps) continue;
    item.value().set_requires_grad(false);
    count += item.value().numel();
  }
  return count;
}

void train_what_learns(torch::nn::Module& network) {
  network.train();
  for (const auto& module : network.modules(/*include_self=*/false)) {
    const auto parameters = module->parameters();
    const auto learns = [](const at::Tensor& parameter) { return parameter.requires_grad(); };
    if (!parameters.empty() && std::ranges::none_of(parameters, learns)) module->eval();
  }
}

std::vector<Group> parameter_groups(const FlatParameters& parameters, const GroupOptions& options) {
  const int64_t depth = std::accumulate(options.stages.begin(), options.stages.end(), int64_t{0});
  std::vector<Group> groups;
  for (const Segment& segment : parameters.segments()) {
    if (!segment.trained) continue;
    const double exponent = static_cast<double>(depth + 1 - layer_of(segment.name, options.stages));
    const bool decay = options.decay_all || decays(segment.name, segment.tensor.dim());
    const Group group{.begin = segment.offset,
                      .end = segment.offset + segment.size,
                      .lr_scale = std::pow(options.layer_decay, exponent),
                      .weight_decay = decay ? options.weight_decay : 0};
    if (!groups.empty()) groups.back().end = segment.offset;
    const bool alike =
        !groups.empty() && groups.back().lr_scale == group.lr_scale && groups.back().weight_decay == group.weight_decay;
    if (alike)
      groups.back().end = group.end;
    else
      groups.push_back(group);
  }
  return groups;
}

}  // namespace fib::training
