// SPDX-License-Identifier: Apache-2.0
// The recorded human demonstrations of PushT: pusht_cchi_v7_replay.zarr and files of its layout.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "robots/pusht_image.h"

namespace fib::robots {

/// Rows [begin, end) of the recording.
struct Episode {
  int64_t begin = 0, end = 0;
  int64_t length() const { return end - begin; }
};

/// Episodes from where each ends; throws std::runtime_error, naming `name`, unless the ends ascend to the last row.
std::vector<Episode> episodes_from_ends(const std::vector<int64_t>& ends, int64_t rows, const std::string& name);

/// Row t: the state seen at time t and the action that followed.
struct Demonstrations {
  std::vector<PushTState> states;
  std::vector<Point> actions;
  std::vector<Episode> episodes;
};

/// "zarr:DIR" → DIR; throws std::invalid_argument for anything else.
std::filesystem::path demonstrations_folder(std::string_view source);

/// Everything but the images; throws std::runtime_error with one line for whatever is missing, damaged or of other
/// shape.
Demonstrations read_demonstrations(const std::filesystem::path& folder);

/// [length, 96, 96, 3]: the recorded images of an episode.
std::vector<uint8_t> read_images(const std::filesystem::path& folder, const Episode& episode);

}  // namespace fib::robots
