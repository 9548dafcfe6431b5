// SPDX-License-Identifier: Apache-2.0
// Neighbors and tiles against coordinates.
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <set>
#include <stdexcept>

#include "fibottention/pattern.h"

namespace fib {
namespace {

constexpr PatchGrid kGrids[] = {{1, 1},  {1, 9},  {9, 1},    {2, 2},    {3, 4},    {14, 14},
                                {5, 17}, {16, 3}, {3, 4, 5}, {2, 2, 2}, {4, 1, 6}, {1, 5, 3}};

struct Place {
  int64_t y, x, t;
};

Place place_of(const PatchGrid& g, int64_t patch) {
  return {patch / g.frames / g.width, patch / g.frames % g.width, patch % g.frames};
}

bool are_near(const PatchGrid& g, int64_t a, int64_t b, int64_t size) {
  const Place p = place_of(g, a), q = place_of(g, b);
  return std::max({std::abs(p.y - q.y), std::abs(p.x - q.x), std::abs(p.t - q.t)}) <= size / 2;
}

SupportSet support_on(const PatchGrid& grid, const std::string& text, int64_t cls, bool causal = false) {
  return make_support(AttentionSpec::parse(text),
                      {.patches = grid.tokens(), .cls = cls, .heads = 3, .causal = causal, .grid = grid});
}

TEST(Neighbors, are_the_patches_at_most_half_the_size_away_along_each_side) {
  for (const PatchGrid& grid : kGrids) {
    for (int64_t size : {1, 3, 5, 9}) {
      for (bool causal : {false, true}) {
        const SupportSet s = support_on(grid, "random:ratio=1,grid=" + std::to_string(size), 2, causal);
        int64_t pairs = 0;
        for (int64_t a = 0; a < grid.tokens(); ++a) {
          for (int64_t b = 0; b < grid.tokens(); ++b) {
            const bool near = are_near(grid, a, b, size) && !(causal && b > a);
            pairs += near ? 1 : 0;
            ASSERT_EQ(s.contains(0, {static_cast<int32_t>(2 + a), static_cast<int32_t>(2 + b)}), near) << a << " " << b;
          }
        }
        EXPECT_EQ(s.patch_pairs(0), pairs);
        EXPECT_EQ(s.neighbor_pairs(0), pairs - grid.tokens());
      }
    }
  }
}

/// Four million patches and 65,000 steps: walking over the patches for each would take minutes.
TEST(Neighbors, are_counted_without_a_walk_over_the_patches) {
  constexpr int64_t kFar = 20;
  const auto along = [](int64_t side) {  // ordered pairs on a line, each with itself
    int64_t pairs = 0;
    for (int64_t step = -kFar; step <= kFar; ++step) pairs += side - std::abs(step);
    return pairs;
  };
  const SupportSet s =
      make_support(AttentionSpec::parse("random:ratio=1,grid=41"),
                   {.patches = int64_t{1} << 22, .cls = 0, .heads = 1, .grid = PatchGrid{128, 128, 256}});
  EXPECT_EQ(s.patch_pairs(0), along(128) * along(128) * along(256));
}

TEST(Neighbors, have_columns_of_whole_frames) {
  HeadPattern head;
  head.neighbors = {{5, {12, 0, 8}, {4, 0, 3}}};
  EXPECT_EQ(SupportSet(24, 0, {head}).num_heads(), 1);
  head.neighbors = {{5, {12, 0, 8}, {5, 0, 3}}};
  EXPECT_THROW(SupportSet(24, 0, {head}), std::invalid_argument);
}

TEST(Neighbors, join_a_mechanisms_pairs_and_no_pair_is_counted_twice) {
  for (const PatchGrid& grid : {PatchGrid{6, 7}, PatchGrid{3, 4, 5}}) {
    for (const char* text : {"local:w=9", "fibottention:wmin=3,wmax=20", "bigbird:w=1,random=30"}) {
      const SupportSet own = support_on(grid, text, 1), with = support_on(grid, std::string(text) + ",grid=3", 1);
      for (int64_t h = 0; h < own.num_heads(); ++h) {
        int64_t pairs = 0;
        for (int32_t q = 1; q < own.query_tokens(); ++q) {
          const std::vector<int64_t> row = with.keys_of_row(h, q);
          EXPECT_EQ(std::set<int64_t>(row.begin(), row.end()).size(), row.size());
          for (int32_t k = 1; k < own.key_tokens(); ++k) {
            const bool expected = own.contains(h, {q, k}) || are_near(grid, q - 1, k - 1, 3);
            EXPECT_EQ(with.contains(h, {q, k}), expected);
            pairs += expected ? 1 : 0;
          }
        }
        EXPECT_EQ(with.patch_pairs(h), pairs);
      }
    }
  }
}

TEST(Neighbors, take_memory_by_the_offset_and_not_by_the_pair) {
  const PatchGrid large{1024, 1024};
  EXPECT_LT(support_on(large, "fibottention:wmin=5,wmax=65,grid=3,summaries=4x4", 1).memory_bytes(), 10000);
}

TEST(Tiles, cut_the_grid_into_parts_that_differ_by_a_row_and_a_column_at_most) {
  for (const PatchGrid& grid : kGrids) {
    for (const PatchGrid& wanted : {PatchGrid{1, 1}, PatchGrid{2, 3}, PatchGrid{4, 4}, PatchGrid{3, 2, 2}}) {
      const Tiling t{grid,
                     {std::min(wanted.height, grid.height), std::min(wanted.width, grid.width),
                      std::min(wanted.frames, grid.frames)}};
      std::vector<int64_t> sizes(static_cast<size_t>(t.count()));
      for (int64_t p = 0; p < grid.tokens(); ++p) ++sizes.at(static_cast<size_t>(t.tile_of(p)));
      for (int64_t i = 0; i < t.count(); ++i) {
        EXPECT_EQ(sizes[static_cast<size_t>(i)], t.size(i));
        EXPECT_GT(t.size(i), 0);
      }
      for (int64_t p = 1; p < grid.tokens(); ++p) {
        const Place a = place_of(grid, p - 1), b = place_of(grid, p);
        if (a.y != b.y || a.x != b.x) continue;
        EXPECT_LE(t.tile_of(p) - t.tile_of(p - 1), 1);
      }
    }
  }
  const Tiling uneven{{5, 1}, {3, 1}};
  EXPECT_EQ((std::vector<int64_t>{uneven.size(0), uneven.size(1), uneven.size(2)}), (std::vector<int64_t>{1, 2, 2}));
}

TEST(Tiles, are_pairs_of_every_patch_in_every_head) {
  const SupportSet own = support_on({10, 14}, "fibottention:wmin=5,wmax=65", 1);
  const SupportSet with = support_on({10, 14}, "fibottention:wmin=5,wmax=65,summaries=4x3", 1);
  EXPECT_EQ(with.summary_pairs(), 140 * 12);
  EXPECT_EQ(with.patch_pairs(), own.patch_pairs() + 3 * 140 * 12);
  EXPECT_EQ(with.pairs(), own.pairs() + 3 * 140 * 12);
  EXPECT_TRUE(with.empty_rows(0).empty());
}

TEST(Tiles, are_never_more_than_patches) {
  const SupportSet s = support_on({1, 5}, "local:summaries=4x4", 0);
  EXPECT_EQ(s.summaries()->tiles, (PatchGrid{1, 4}));
}

TEST(GridOptions, take_a_square_where_no_grid_is_given) {
  const SupportSet s = make_support(AttentionSpec::parse("local:grid=3,summaries=2x2"), {.patches = 49});
  EXPECT_EQ(s.summaries()->grid, (PatchGrid{7, 7}));
}

void expect_refusal(const std::string& text, const PatternGeometry& geometry, const std::string& part) {
  try {
    make_support(AttentionSpec::parse(text), geometry);
    ADD_FAILURE() << text << " was accepted";
  } catch (const std::invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
  }
}

TEST(GridOptions, refuse_in_one_line_what_is_no_grid) {
  expect_refusal("local:grid=3", {.patches = 50}, "50 are no square");
  expect_refusal("local:grid=3", {.patches = 50, .grid = PatchGrid{5, 9}}, "5 x 9 does not hold 50");
  expect_refusal("local:grid=2", {.patches = 49}, "none or an odd number, got '2'");
  expect_refusal("local:grid=3x3", {.patches = 49}, "none or an odd number, got '3x3'");
  expect_refusal("local:grid=-1", {.patches = 49}, "got '-1'");
  expect_refusal("local:summaries=4", {.patches = 49}, "RxC");
  expect_refusal("local:summaries=0x4", {.patches = 49}, "got '0x4'");
  expect_refusal("local:summaries=1x2x3x4", {.patches = 49}, "got '1x2x3x4'");
  expect_refusal("local:summaries=2x2", {.patches = 49, .causal = true}, "causal");
  expect_refusal("random:class=drawn,grid=3", {.patches = 49}, "class tokens are drawn");
  expect_refusal("local:grid=99999", {.patches = 1 << 20, .grid = PatchGrid{1024, 1024}}, "at most 16777216 neighbors");
  expect_refusal("local:summaries=99x99", {.patches = 1 << 20, .grid = PatchGrid{1024, 1024}}, "at most 4096 tiles");
  expect_refusal("full:grid=3", {.patches = 49}, "no options");
}

}  // namespace
}  // namespace fib
