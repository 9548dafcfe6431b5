// SPDX-License-Identifier: Apache-2.0
// A small recording in the layout of the published demonstrations, made with our own simulator.
#pragma once

#include <blosc.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "files.h"
#include "robots/pusht.h"

namespace fib::test {

template <class T>
std::string raw_bytes(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

inline std::string blosc_bytes(const std::string& raw, size_t item) {
  std::string packed(raw.size() + BLOSC_MAX_OVERHEAD, '\0');
  const int size =
      blosc_compress_ctx(5, BLOSC_BITSHUFFLE, item, raw.size(), raw.data(), packed.data(), packed.size(), "zstd", 0, 1);
  packed.resize(static_cast<size_t>(size));
  return packed;
}

/// The header of an array that is one chunk longer than it need be, as at the end of real ones.
inline nlohmann::json zarr_header(const std::string& type, std::vector<int64_t> shape, int64_t chunk_rows) {
  std::vector<int64_t> chunks = shape;
  chunks[0] = chunk_rows;
  return {
      {"zarr_format", 2}, {"order", "C"},   {"filters", nullptr}, {"fill_value", 0},
      {"dtype", type},    {"shape", shape}, {"chunks", chunks},   {"compressor", {{"id", "blosc"}, {"cname", "zstd"}}}};
}

template <class T>
void write_zarr(const std::filesystem::path& folder, const std::string& type, const std::vector<int64_t>& row_shape,
                std::vector<T> values, int64_t chunk_rows) {
  int64_t row = 1;
  std::vector<int64_t> shape = {0};
  for (const int64_t n : row_shape) row *= n, shape.push_back(n);
  shape[0] = static_cast<int64_t>(values.size()) / row;
  std::filesystem::create_directories(folder);
  write_file(folder / ".zarray", zarr_header(type, shape, chunk_rows).dump());
  const int64_t chunks = (shape[0] + chunk_rows - 1) / chunk_rows;
  values.resize(static_cast<size_t>(chunks * chunk_rows * row));
  for (int64_t c = 0; c < chunks; ++c) {
    std::string name = std::to_string(c);
    for (size_t i = 0; i < row_shape.size(); ++i) name += ".0";
    const std::span<const T> part(values.data() + c * chunk_rows * row, static_cast<size_t>(chunk_rows * row));
    write_file(folder / name, blosc_bytes(raw_bytes(part), sizeof(T)));
  }
}

/// Two episodes of 12 and 7 steps, in chunks of 5 rows; the agent pushes the T in the first.
inline void write_recording(const std::filesystem::path& folder) {
  std::vector<float> states, actions, images;
  robots::PushT world;
  for (const int length : {12, 7}) {
    world.start_from({{250, 150}, {{256, 200}, 0.3F}});
    for (int t = 0; t < length; ++t) {
      const robots::PushTState s = world.state();
      for (const double v : {s.agent.x, s.agent.y, s.block.position.x, s.block.position.y, s.block.angle})
        states.push_back(static_cast<float>(v));
      for (const uint8_t v : robots::draw_image(world.scene())) images.push_back(v);
      const robots::Point target{250, 150 + 10.0 * t};
      actions.insert(actions.end(), {static_cast<float>(target.x), static_cast<float>(target.y)});
      world.step(target);
    }
  }
  write_zarr<float>(folder / "data" / "state", "<f4", {5}, states, 5);
  write_zarr<float>(folder / "data" / "action", "<f4", {2}, actions, 5);
  write_zarr<float>(folder / "data" / "img", "<f4", {96, 96, 3}, images, 5);
  write_zarr<int64_t>(folder / "meta" / "episode_ends", "<i8", {}, {12, 19}, 4);
}

}  // namespace fib::test
