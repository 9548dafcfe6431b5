// SPDX-License-Identifier: Apache-2.0
#include "models/table.h"

namespace fib::models {
namespace {

Row vit(const char* name, int64_t resolution, int64_t patch, const Stage& s, int64_t classes = 1000) {
  return {name, "vit", resolution, patch, s.dim, s.depth, s.heads, classes};
}

/// A row whose grid shrinks from stage to stage.
Row staged(const char* name, const char* kind, int64_t resolution, int64_t patch, std::vector<Stage> stages,
           int64_t classes = 1000) {
  Row row{name, kind, resolution, patch, stages.front().dim, 0, stages.front().heads, classes, std::move(stages)};
  for (const Stage& stage : row.stages) row.depth += stage.depth;
  row.replaced = static_cast<int64_t>(row.stages.size());
  return row;
}

/// All blocks but the last two look at positions.
Row convit(const char* name, int64_t resolution, int64_t patch, const Stage& s, int64_t classes = 1000) {
  Row row{name, "convit", resolution, patch, s.dim, s.depth, s.heads, classes};
  row.local_blocks = s.depth - 2;
  return row;
}

/// The paper puts its attention into the first two stages, where grids are largest.
Row swin(const char* name, int64_t resolution, int64_t patch, std::vector<Stage> stages, int64_t classes = 1000) {
  Row row = staged(name, "swin", resolution, patch, std::move(stages), classes);
  row.replaced = 2;
  row.window = 7;
  return row;
}

/// Stages are given by width and layout.
Row iformer(const char* name, int64_t resolution, std::vector<Stage> stages, int64_t conv_ratio, int64_t ffn_ratio,
            int64_t classes = 1000) {
  for (Stage& stage : stages) stage.depth = static_cast<int64_t>(stage.layout.size());
  Row row = staged(name, "iformer", resolution, 4, std::move(stages), classes);
  row.conv_ratio = conv_ratio;
  row.ffn_ratio = ffn_ratio;
  return row;
}

/// Its last two grids are too small for a support to differ from all pairs.
Row mini_mvitv2() {
  Row row = staged("mini_mvitv2", "mvit", 64, 4, {{16, 1, 1}, {32, 1, 2}, {64, 2, 4}, {128, 1, 8}}, 10);
  row.replaced = 2;
  return row;
}

std::vector<Row> all_rows() {
  return {
      // name, resolution, patch, {dim, depth, heads}, classes
      vit("vit_tiny_patch16_224", 224, 16, {192, 12, 3}),
      vit("vit_small_patch16_224", 224, 16, {384, 12, 6}),
      vit("vit_base_patch16_224", 224, 16, {768, 12, 12}),
      vit("vit_large_patch16_224", 224, 16, {1024, 24, 16}),
      vit("deit_tiny_patch16_224", 224, 16, {192, 12, 3}),
      vit("deit_small_patch16_224", 224, 16, {384, 12, 6}),
      vit("deit_base_patch16_224", 224, 16, {768, 12, 12}),
      vit("vit_base_patch16_224_10cls", 224, 16, {768, 12, 12}, 10),
      convit("convit_tiny", 224, 16, {192, 12, 4}),
      convit("convit_small", 224, 16, {432, 12, 9}),
      convit("convit_base", 224, 16, {768, 12, 16}),
      swin("swin_tiny_patch4_window7_224", 224, 4, {{96, 2, 3}, {192, 2, 6}, {384, 6, 12}, {768, 2, 24}}),
      swin("swin_base_patch4_window7_224", 224, 4, {{128, 2, 4}, {256, 2, 8}, {512, 18, 16}, {1024, 2, 32}}),
      iformer("iFormer_t", 224,
              {{.dim = 32, .layout = "cc"},
               {.dim = 64, .layout = "cc"},
               {.dim = 128, .layout = "ccccccpafpafpafc"},
               {.dim = 256, .layout = "pafpaf"}},
              3, 2),
      iformer("iFormer_s", 224,
              {{.dim = 32, .layout = "cc"},
               {.dim = 64, .layout = "cc"},
               {.dim = 176, .layout = "cccccccccpafpafpafc"},
               {.dim = 320, .layout = "pafpaf"}},
              4, 3),
      iformer("iFormer_m", 224,
              {{.dim = 48, .layout = "cc"},
               {.dim = 96, .layout = "cc"},
               {.dim = 192, .layout = "cccccccccpafpafpafpafc"},
               {.dim = 384, .layout = "pafpaf"}},
              4, 3),
      staged("cvt_13_224", "cvt", 224, 4, {{64, 1, 1}, {192, 2, 3}, {384, 10, 6}}),
      staged("mvitv2_small", "mvit", 224, 4, {{96, 1, 1}, {192, 2, 2}, {384, 11, 4}, {768, 2, 8}}),
      // For small pictures: 28 pixels in patches of 2 are the paper's 14 x 14 tokens.
      vit("vit_nano_patch2_28", 28, 2, {48, 3, 6}, 10),
      vit("vit_micro_patch2_28", 28, 2, {96, 4, 12}, 10),
      vit("vit_milli_patch2_28", 28, 2, {192, 6, 12}, 10),
      convit("convit_micro_patch2_28", 28, 2, {96, 5, 12}, 10),
      swin("swin_micro_patch2_window7_28", 28, 2, {{96, 4, 6}, {192, 2, 12}}, 10),
      // For tests: milliseconds.
      vit("mini_vit", 64, 8, {48, 3, 3}, 10),
      convit("mini_convit", 64, 8, {48, 4, 4}, 10),
      swin("mini_swin", 56, 2, {{24, 2, 2}, {48, 2, 4}}, 10),
      iformer("mini_iformer", 64,
              {{.dim = 8, .layout = "c"},
               {.dim = 16, .layout = "c"},
               {.dim = 24, .layout = "cpafc"},
               {.dim = 32, .layout = "paf"}},
              3, 2, 10),
      staged("mini_cvt", "cvt", 64, 4, {{8, 1, 1}, {24, 1, 3}, {48, 2, 6}}, 10),
      mini_mvitv2(),
  };
}

}  // namespace

const std::vector<Row>& table() {
  static const std::vector<Row> rows = all_rows();
  return rows;
}

}  // namespace fib::models
