// SPDX-License-Identifier: Apache-2.0
#include "robots/zarr.h"

#include <blosc.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/checked.h"
#include "base/json.h"
#include "base/read_file.h"
#include "base/text.h"

namespace fib::robots {
namespace {

using nlohmann::json;

/// Far above the 18 MB of the demonstrations' image chunks, far below what a machine has.
constexpr int64_t kMaxChunkBytes = int64_t{64} << 20;
constexpr size_t kMaxHeaderBytes = size_t{64} << 10;
constexpr size_t kMaxDimensions = 8;

[[noreturn]] void refuse(const std::string& name, const std::string& found, const std::string& accepted) {
  throw std::runtime_error(fmt::format("{}: {}; accepted: {}", name, found, accepted));
}

json field(const json& header, const char* key, const std::string& name) {
  const auto found = header.find(key);
  if (found == header.end()) refuse(name, fmt::format("no field {}", key), "a zarr v2 array's header");
  return *found;
}

std::string shown(const json& value) { return in_quotes(value.dump(-1, ' ', true, json::error_handler_t::replace)); }

json parsed(std::string_view text, const std::string& name) {
  json header = parse_json_or_discard(text);
  if (!header.is_object()) refuse(name, "not a JSON object", "a zarr v2 array's header");
  return header;
}

std::vector<int64_t> dimensions(const json& header, const char* key, const std::string& name) {
  const json list = field(header, key, name);
  const auto positive = [](const json& v) { return v.is_number_integer() && v > 0 && v <= INT64_MAX; };
  if (!list.is_array() || list.empty() || list.size() > kMaxDimensions ||
      !std::all_of(list.begin(), list.end(), positive)) {
    refuse(name, fmt::format("{} {}", key, shown(list)), "one to eight positive integers");
  }
  return list.get<std::vector<int64_t>>();
}

ZarrType type_of(const json& header, const std::string& name) {
  const json type = field(header, "dtype", name);
  if (type == "<f4") return ZarrType::float32;
  if (type == "<i8") return ZarrType::int64;
  refuse(name, fmt::format("dtype {}", shown(type)), "<f4, <i8");
}

bool is_compressed(const json& header, const std::string& name) {
  const json compressor = field(header, "compressor", name);
  if (compressor.is_null()) return false;
  const json id = compressor.is_object() ? compressor.value("id", json()) : json();
  if (id != "blosc") refuse(name, fmt::format("compressor {}", shown(id)), "blosc or none");
  return true;
}

void require(const json& header, const char* key, const json& wanted, const std::string& name) {
  const json found = field(header, key, name);
  if (found != wanted) refuse(name, fmt::format("{} {}", key, shown(found)), wanted.dump());
}

char separator_of(const json& header, const std::string& name) {
  const json found = header.value("dimension_separator", json("."));
  if (found == "." || found == "/") return found.get<std::string>()[0];
  refuse(name, fmt::format("dimension_separator {}", shown(found)), "\".\", \"/\"");
}

void check_chunks(const ZarrHeader& header, const std::vector<int64_t>& chunks, const std::string& name) {
  const bool whole_rows =
      chunks.size() == header.shape.size() && std::equal(chunks.begin() + 1, chunks.end(), header.shape.begin() + 1);
  if (!whole_rows) {
    refuse(name, fmt::format("chunks {} of an array {}", shape_text(chunks), shape_text(header.shape)),
           "chunks of whole rows");
  }
  const auto bytes = checked_bytes(chunks, header.item_bytes());
  if (!bytes || *bytes > kMaxChunkBytes) {
    refuse(name, fmt::format("chunks {}", shape_text(chunks)), fmt::format("at most {} bytes each", kMaxChunkBytes));
  }
  if (!checked_bytes(header.shape, header.item_bytes())) {
    refuse(name, fmt::format("shape {}", shape_text(header.shape)), "a size below 2^63 bytes");
  }
}

}  // namespace

int64_t ZarrHeader::row_values() const {
  int64_t values = 1;
  for (size_t i = 1; i < shape.size(); ++i) values *= shape[i];
  return values;
}

ZarrHeader parse_zarray(std::string_view text, const std::string& name) {
  const json source = parsed(text, name);
  require(source, "zarr_format", 2, name);
  require(source, "order", "C", name);
  require(source, "filters", nullptr, name);
  ZarrHeader header;
  header.type = type_of(source, name);
  header.shape = dimensions(source, "shape", name);
  const std::vector<int64_t> chunks = dimensions(source, "chunks", name);
  check_chunks(header, chunks, name);
  header.chunk_rows = chunks.front();
  header.compressed = is_compressed(source, name);
  header.separator = separator_of(source, name);
  return header;
}

std::vector<std::byte> decode_zarr_chunk(std::span<const std::byte> file, const ZarrHeader& header,
                                         const std::string& name) {
  const auto wanted = static_cast<size_t>(header.chunk_bytes());
  size_t found = file.size();
  if (header.compressed && blosc_cbuffer_validate(file.data(), file.size(), &found) != 0) {
    refuse(name, "damaged or cut short", "a Blosc buffer");
  }
  if (found != wanted) refuse(name, fmt::format("{} bytes of values", found), fmt::format("{}", wanted));
  std::vector<std::byte> values(wanted);
  if (!header.compressed) {
    std::copy(file.begin(), file.end(), values.begin());
  } else if (blosc_decompress_ctx(file.data(), values.data(), wanted, 1) != static_cast<int>(wanted)) {
    refuse(name, "damaged, or its codec is not in this libblosc",
           fmt::format("Blosc with {}", blosc_list_compressors()));
  }
  return values;
}

ZarrArray::ZarrArray(std::filesystem::path folder, ZarrType type, std::span<const int64_t> row_shape)
    : folder_(std::move(folder)) {
  const std::filesystem::path file = folder_ / ".zarray";
  if (!std::filesystem::is_regular_file(file)) {  // a pipe would be waited for
    throw std::runtime_error(fmt::format("{}: no zarr v2 array here (no .zarray)", folder_.string()));
  }
  header_ = parse_zarray(read_file(file, kMaxHeaderBytes), file.string());
  if (header_.type != type ||
      !std::equal(header_.shape.begin() + 1, header_.shape.end(), row_shape.begin(), row_shape.end())) {
    refuse(file.string(),
           fmt::format("{} {}", header_.type == ZarrType::float32 ? "<f4" : "<i8", shape_text(header_.shape)),
           fmt::format("{} (rows{}{})", type == ZarrType::float32 ? "<f4" : "<i8", row_shape.empty() ? "" : ", ",
                       fmt::join(row_shape, ", ")));
  }
}

void ZarrArray::load_chunk(int64_t chunk) {
  if (chunk == loaded_) return;
  std::string file = fmt::format("{}", chunk);
  for (size_t i = 1; i < header_.shape.size(); ++i) file += fmt::format("{}0", header_.separator);
  const std::filesystem::path path = folder_ / file;
  if (!std::filesystem::exists(path))
    throw std::runtime_error(fmt::format("{}: chunk {} is missing", folder_.string(), file));
  chunk_ = decode_zarr_chunk(MappedFile(path).bytes(), header_, path.string());
  loaded_ = chunk;
}

template <class T>
std::vector<T> ZarrArray::read(int64_t begin, int64_t end) {
  const auto row = static_cast<size_t>(header_.row_values());
  std::vector<T> values;  // grows with the chunks that are there, whatever the header announces
  for (int64_t r = begin; r < end;) {
    load_chunk(r / header_.chunk_rows);
    const int64_t first = r % header_.chunk_rows, rows = std::min(end - r, header_.chunk_rows - first);
    const size_t before = values.size(), count = static_cast<size_t>(rows) * row;
    values.resize(before + count);
    std::memcpy(values.data() + before, chunk_.data() + static_cast<size_t>(first) * row * sizeof(T),
                count * sizeof(T));
    r += rows;
  }
  return values;
}

template std::vector<float> ZarrArray::read(int64_t, int64_t);
template std::vector<int64_t> ZarrArray::read(int64_t, int64_t);

}  // namespace fib::robots
