// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <stdexcept>

#include "robots/demonstrations.h"

namespace fib::robots {

std::vector<Episode> episodes_from_ends(const std::vector<int64_t>& ends, int64_t rows, const std::string& name) {
  std::vector<Episode> episodes;
  int64_t begin = 0;
  for (const int64_t end : ends) {
    if (end <= begin) {
      throw std::runtime_error(fmt::format("{}: episode {} ends at {} and begins at {}; accepted: ends that ascend",
                                           name, episodes.size(), end, begin));
    }
    episodes.push_back({begin, end});
    begin = end;
  }
  if (begin != rows) {
    throw std::runtime_error(
        fmt::format("{}: the last episode ends at {} of {} rows; accepted: at the last", name, begin, rows));
  }
  return episodes;
}

std::filesystem::path demonstrations_folder(std::string_view source) {
  constexpr std::string_view kind = "zarr:";
  if (source.starts_with(kind) && source.size() > kind.size()) return source.substr(kind.size());
  throw std::invalid_argument(fmt::format("demonstrations '{}': accepted is zarr:DIR", source));
}

}  // namespace fib::robots
