// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <vector>

#include "robots/mujoco/model.h"

namespace fib::robots {
namespace {

constexpr size_t kHeader = 80, kTriangle = 50;

using Corner = std::array<float, 3>;
using Cell = std::array<int32_t, 3>;

struct CornerSum {
  std::array<double, 3> sum{};
  double count = 0;
};

std::vector<Corner> corners_of(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  uint32_t triangles = 0;
  if (bytes.size() >= kHeader + 4) std::memcpy(&triangles, bytes.data() + kHeader, 4);
  if (triangles == 0 || bytes.size() != kHeader + 4 + triangles * kTriangle)
    throw std::runtime_error(fmt::format("{}: not a binary STL file", file));
  std::vector<Corner> corners(size_t{3} * triangles);
  for (size_t t = 0; t < triangles; ++t)
    std::memcpy(&corners[3 * t], bytes.data() + kHeader + 4 + t * kTriangle + 12, 3 * sizeof(Corner));
  return corners;
}

Cell cell_of(const Corner& corner, double side) {
  Cell cell{};
  for (size_t k = 0; k < 3; ++k) cell[k] = static_cast<int32_t>(std::floor(corner[k] / side));
  return cell;
}

std::map<Cell, CornerSum> sums_of(const std::vector<Corner>& corners, double side) {
  std::map<Cell, CornerSum> sums;
  for (const Corner& corner : corners) {
    CornerSum& s = sums[cell_of(corner, side)];
    for (size_t k = 0; k < 3; ++k) s.sum[k] += corner[k];
    ++s.count;
  }
  return sums;
}

void append_triangle(std::string& stl, const std::array<const CornerSum*, 3>& triangle) {
  std::array<float, 12> numbers{};  // the normal stays zero: MuJoCo makes its own
  for (size_t c = 0; c < 3; ++c)
    for (size_t k = 0; k < 3; ++k)
      numbers[3 + 3 * c + k] = static_cast<float>(triangle[c]->sum[k] / triangle[c]->count);
  stl.append(reinterpret_cast<const char*>(numbers.data()), sizeof numbers);
  stl.append(2, '\0');
}

}  // namespace

std::string coarse_stl(const std::string& file, double side) {
  const std::vector<Corner> corners = corners_of(file);
  const std::map<Cell, CornerSum> sums = sums_of(corners, side);
  std::string stl(kHeader + 4, '\0');
  uint32_t triangles = 0;
  for (size_t t = 0; t < corners.size(); t += 3) {
    std::array<const CornerSum*, 3> cells{};
    for (size_t c = 0; c < 3; ++c) cells[c] = &sums.at(cell_of(corners[t + c], side));
    if (cells[0] == cells[1] || cells[1] == cells[2] || cells[0] == cells[2]) continue;
    append_triangle(stl, cells);
    ++triangles;
  }
  std::memcpy(stl.data() + kHeader, &triangles, 4);
  return stl;
}

}  // namespace fib::robots
