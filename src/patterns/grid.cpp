// SPDX-License-Identifier: Apache-2.0
#include "patterns/grid.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace fib {
namespace {

const char* const kNeighborsKey = "grid";
const char* const kSummariesKey = "summaries";

/// Steps are listed in memory, some sixty bytes each in each head: at most a gibibyte of them. More means than these
/// would be no summary, and fewer keep every count of pairs within 64 bits.
constexpr int64_t kMostSteps = int64_t{1} << 24, kMostSummaries = 4096;

PatchGrid square_grid(const OptionValues& options, const std::string& key, int64_t patches) {
  const auto side = static_cast<int64_t>(std::llround(std::sqrt(static_cast<double>(patches))));
  if (side * side == patches) return {side, side};
  throw std::invalid_argument("attention " + options.mechanism() + ": " + key + " needs patches on a grid, and " +
                              std::to_string(patches) + " are no square: its height and width must be given");
}

/// The grid that an option works on.
PatchGrid grid_for(const OptionValues& options, const std::string& key, const PatternGeometry& g) {
  if (options.has("class") && options.choice("class") == "drawn")
    options.refuse(key, "none where class tokens are drawn like patches");
  const PatchGrid grid = g.grid ? *g.grid : square_grid(options, key, g.patches);
  const int64_t longest = std::max({grid.height, grid.width, grid.frames});
  if (std::min({grid.height, grid.width, grid.frames}) >= 1 && longest <= kMaxTokens &&
      grid.height * grid.width <= kMaxTokens && grid.tokens() == g.patches)
    return grid;
  throw std::invalid_argument("a grid of " + std::to_string(grid.height) + " x " + std::to_string(grid.width) +
                              (grid.frames == 1 ? "" : " x " + std::to_string(grid.frames)) + " does not hold " +
                              std::to_string(g.patches) + " patches");
}

void check_steps(const OptionValues& options, const PatchGrid& grid, int64_t size, int64_t heads) {
  const auto along = [size](int64_t side) { return static_cast<double>(std::min(size, 2 * side - 1)); };
  const double steps = along(grid.height) * along(grid.width) * along(grid.frames) * static_cast<double>(heads);
  if (steps <= static_cast<double>(kMostSteps)) return;
  options.refuse(kNeighborsKey, "so small that the heads list at most " + std::to_string(kMostSteps) + " neighbors");
}

}  // namespace

std::vector<GridOffset> grid_neighbors(const PatchGrid& grid, int64_t size) {
  const int64_t far = size / 2, row = grid.width * grid.frames;
  // A step must begin and end inside a side of the grid.
  const auto range = [](int64_t step, int64_t side, int64_t unit) {
    return PeriodicRange{side * unit, std::max<int64_t>(0, -step) * unit, (side - std::max<int64_t>(0, step)) * unit};
  };
  std::vector<GridOffset> steps;
  for (int64_t y = 0; y <= std::min(far, grid.height - 1); ++y) {
    for (int64_t x = -std::min(far, grid.width - 1); x <= std::min(far, grid.width - 1); ++x) {
      for (int64_t t = -std::min(far, grid.frames - 1); t <= std::min(far, grid.frames - 1); ++t) {
        const int64_t offset = y * row + x * grid.frames + t;
        if (offset > 0) steps.push_back({offset, range(x, grid.width, grid.frames), range(t, grid.frames, 1)});
      }
    }
  }
  return steps;
}

int64_t Tiling::tile_of(int64_t patch) const {
  // The last tile that begins at the place or before it.
  const auto along = [](int64_t place, int64_t n, int64_t side) { return ((place + 1) * n - 1) / side; };
  const int64_t place = patch / grid.frames;
  const int64_t row = along(place / grid.width, tiles.height, grid.height);
  const int64_t column = along(place % grid.width, tiles.width, grid.width);
  return (row * tiles.width + column) * tiles.frames + along(patch % grid.frames, tiles.frames, grid.frames);
}

int64_t Tiling::size(int64_t tile) const {
  const auto along = [](int64_t i, int64_t n, int64_t side) { return (i + 1) * side / n - i * side / n; };
  const int64_t place = tile / tiles.frames;
  return along(place / tiles.width, tiles.height, grid.height) * along(place % tiles.width, tiles.width, grid.width) *
         along(tile % tiles.frames, tiles.frames, grid.frames);
}

std::vector<PatternOption> grid_options() {
  return {{kNeighborsKey, "none", "K: its K x K neighbors on the grid and itself, too, none across the image's edge"},
          {kSummariesKey, "none", "RxC: the means of keys and values over R x C tiles of the image, too"}};
}

void add_neighbors(std::vector<HeadPattern>& heads, const OptionValues& options, const PatternGeometry& geometry) {
  if (!options.has(kNeighborsKey)) return;
  const std::vector<int64_t> size = options.sides(kNeighborsKey);
  if (size.empty()) return;
  if (size.size() != 1 || size[0] % 2 == 0) options.refuse(kNeighborsKey, "none or an odd number");
  const PatchGrid grid = grid_for(options, kNeighborsKey, geometry);
  check_steps(options, grid, size[0], geometry.heads);
  const std::vector<GridOffset> neighbors = grid_neighbors(grid, size[0]);
  for (HeadPattern& head : heads) {
    head.neighbors = neighbors;
    head.diagonal = true;
  }
}

double neighbors_at_most(const OptionValues& options, const PatternGeometry& geometry) {
  if (!options.has(kNeighborsKey)) return 0;
  const std::vector<int64_t> size = options.sides(kNeighborsKey);
  if (size.empty()) return 0;
  const PatchGrid grid = grid_for(options, kNeighborsKey, geometry);
  const auto along = [&](int64_t side) { return static_cast<double>(std::min(size[0], side)); };
  return along(grid.height) * along(grid.width) * along(grid.frames);
}

std::optional<Tiling> summaries_of(const OptionValues& options, const PatternGeometry& geometry) {
  if (!options.has(kSummariesKey)) return std::nullopt;
  const std::vector<int64_t> tiles = options.sides(kSummariesKey);
  if (tiles.empty()) return std::nullopt;
  if (tiles.size() == 1) options.refuse(kSummariesKey, "none, RxC, or RxCxT where places have frames");
  if (geometry.causal) options.refuse(kSummariesKey, "none where a support is causal (a mean holds tokens to come)");
  const PatchGrid grid = grid_for(options, kSummariesKey, geometry);
  const Tiling tiling{grid,
                      {std::min(tiles[0], grid.height), std::min(tiles[1], grid.width),
                       std::min(tiles.size() == 3 ? tiles[2] : 1, grid.frames)}};
  if (tiling.count() > kMostSummaries)
    options.refuse(kSummariesKey, "none or at most " + std::to_string(kMostSummaries) + " tiles");
  return tiling;
}

}  // namespace fib
