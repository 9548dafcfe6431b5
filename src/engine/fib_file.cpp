// SPDX-License-Identifier: Apache-2.0
#include "engine/fib_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/parse_json.h"
#include "base/printable.h"
#include "base/text.h"
#include "fibottention/pattern.h"

namespace fib::engine {
namespace {

using Json = nlohmann::json;

constexpr const char* kFormatKey = "fib_format";
constexpr const char* kProgramsKey = "fib_programs";
constexpr const char* kPrecisionKey = "fib_precision";
constexpr const char* kBatchKey = "fib_batch";
constexpr int64_t kMostSamples = 65536;
/// Vectors of floats are read from tensors without a copy.
constexpr size_t kAlignment = 64;

constexpr const char* kPrecisionNames[] = {"f32", "bf16", "int8"};
constexpr const char* kBufferKinds[] = {"input", "output", "arena", "tensor"};

// ---- Writing
// ---------------------------------------------------------------------------------------------------------

Json to_json(const Buffer& b) {
  Json json{{"kind", kBufferKinds[static_cast<size_t>(b.kind)]}, {"elements", b.elements}};
  if (b.kind == Buffer::Kind::arena) json["offset"] = b.offset;
  if (b.kind == Buffer::Kind::tensor) json["tensor"] = b.tensor;
  return json;
}

Json to_json(const Operand& o) { return {o.buffer, o.offset, o.sizes, o.strides}; }

Json to_json(const Window& w) {
  return {{"kernel", w.kernel}, {"stride", w.stride}, {"padding", w.padding}, {"groups", w.groups}};
}

Json to_json(const attention::Geometry& g) {
  Json json{{"heads", g.heads},
            {"head_dim", g.head_dim},
            {"value_dim", g.value_dim},
            {"cls", g.cls},
            {"query_grid", {g.query_grid.height, g.query_grid.width}},
            {"key_grid", {g.key_grid.height, g.key_grid.width}},
            {"bias", g.bias}};
  if (g.layer) json["layer"] = *g.layer;
  if (g.scale) json["scale"] = *g.scale;
  return json;
}

bool has_window(StepKind kind) {
  return kind == StepKind::conv2d || kind == StepKind::depthwise || kind == StepKind::max_pool2d;
}

Json to_json(const Step& s) {
  Json json{{"step", name_of(s.kind)}};
  for (size_t i = 0; i < kRoles; ++i) {
    if (s.operands[i].given()) json[name_of(static_cast<Role>(i))] = to_json(s.operands[i]);
  }
  if (s.function != Function::none) json["function"] = name_of(s.function);
  if (s.kind == StepKind::layer_norm) json["epsilon"] = s.number;
  if (has_window(s.kind)) json["window"] = to_json(s.window);
  if (s.kind == StepKind::attention) json["attention"] = s.attention, json["geometry"] = to_json(s.geometry);
  return json;
}

Json to_json(const Program& p) {
  Json buffers = Json::array(), steps = Json::array();
  for (const Buffer& b : p.buffers) buffers.push_back(to_json(b));
  for (const Step& s : p.steps) steps.push_back(to_json(s));
  return {{"input", p.sample},
          {"classes", p.classes},
          {"arena", p.arena_elements},
          {"buffers", std::move(buffers)},
          {"steps", std::move(steps)}};
}

// ---- Reading: every value is asked for by its type, and nlohmann's exceptions become one line
// --------------------------

constexpr size_t kMostListed = size_t{1} << 20;

int64_t integer(const Json& json, int64_t least, int64_t most, const char* what) {
  if (!json.is_number_integer() || json.get<int64_t>() < least || json.get<int64_t>() > most ||
      (json.is_number_unsigned() && json.get<uint64_t>() > static_cast<uint64_t>(most)))
    throw std::runtime_error(fmt::format("{} must be an integer from {} to {}", what, least, most));
  return json.get<int64_t>();
}

constexpr int64_t kMost = int64_t{1} << 40;

std::vector<int64_t> integers(const Json& json, const char* what) {
  if (!json.is_array() || json.size() > 8) throw std::runtime_error(fmt::format("{} must be up to 8 integers", what));
  std::vector<int64_t> values;
  values.reserve(json.size());
  for (const Json& item : json) values.push_back(integer(item, 0, kMost, what));
  return values;
}

std::array<int64_t, 2> two(const Json& json, const char* what) {
  const std::vector<int64_t> values = integers(json, what);
  if (values.size() != 2) throw std::runtime_error(fmt::format("{} must be two integers", what));
  return {values[0], values[1]};
}

const Json& list(const Json& json, const char* what) {
  if (!json.is_array() || json.size() > kMostListed) throw std::runtime_error(fmt::format("{} must be a list", what));
  return json;
}

Buffer buffer_of(const Json& json) {
  Buffer b;
  const auto kind = json.at("kind").get<std::string>();
  const auto* found = std::find(std::begin(kBufferKinds), std::end(kBufferKinds), kind);
  if (found == std::end(kBufferKinds)) throw std::runtime_error("no buffer is of kind " + in_quotes(kind));
  b.kind = static_cast<Buffer::Kind>(found - std::begin(kBufferKinds));
  b.elements = integer(json.at("elements"), 1, kMost, "elements");
  if (b.kind == Buffer::Kind::arena) b.offset = integer(json.at("offset"), 0, kMost, "offset");
  if (b.kind == Buffer::Kind::tensor) b.tensor = json.at("tensor").get<std::string>();
  return b;
}

Operand operand_of(const Json& json) {
  if (!json.is_array() || json.size() != 4)
    throw std::runtime_error("an operand must be [buffer, offset, sizes, strides]");
  Operand o;
  o.buffer = static_cast<int32_t>(integer(json[0], 0, static_cast<int64_t>(kMostListed), "buffer"));
  o.offset = integer(json[1], 0, kMost, "offset");
  o.sizes = integers(json[2], "sizes");
  o.strides = integers(json[3], "strides");
  return o;
}

Window window_of(const Json& json) {
  return {two(json.at("kernel"), "kernel"), two(json.at("stride"), "stride"), two(json.at("padding"), "padding"),
          integer(json.at("groups"), 1, 1 << 20, "groups")};
}

attention::Geometry geometry_of(const Json& json) {
  attention::Geometry g;
  g.heads = integer(json.at("heads"), 1, kMaxHeads, "heads");
  g.head_dim = integer(json.at("head_dim"), 1, 1 << 16, "head_dim");
  g.value_dim = integer(json.at("value_dim"), 1, 1 << 16, "value_dim");
  g.cls = integer(json.at("cls"), 0, kMaxClassTokens, "cls");
  const auto query = two(json.at("query_grid"), "query_grid"), key = two(json.at("key_grid"), "key_grid");
  for (int64_t side : {query[0], query[1], key[0], key[1]}) {
    if (side < 1 || side > (1 << 15)) throw std::runtime_error(fmt::format("a grid cannot have side {}", side));
  }
  g.query_grid = {query[0], query[1]}, g.key_grid = {key[0], key[1]};
  g.bias = json.at("bias").get<bool>();
  if (json.contains("layer")) g.layer = integer(json["layer"], 0, 1 << 20, "layer");
  if (json.contains("scale")) {
    g.scale = json["scale"].get<double>();
    if (!std::isfinite(*g.scale)) throw std::runtime_error("scale must be a number");
  }
  return g;
}

Step step_of(const Json& json) {
  Step s;
  s.kind = step_kind(json.at("step").get<std::string>());
  for (size_t i = 0; i < kRoles; ++i) {
    const auto found = json.find(name_of(static_cast<Role>(i)));
    if (found != json.end()) s.operands[i] = operand_of(*found);
  }
  if (json.contains("function")) s.function = function_named(json["function"].get<std::string>());
  if (s.kind == StepKind::layer_norm) s.number = json.at("epsilon").get<double>();
  if (has_window(s.kind)) s.window = window_of(json.at("window"));
  if (s.kind == StepKind::attention) {
    s.attention = json.at("attention").get<std::string>();
    s.geometry = geometry_of(json.at("geometry"));
  }
  return s;
}

/// The type of each tensor, whose size must be what the buffer says.
void bind_tensor(Buffer& b, std::span<const TensorView> tensors) {
  const auto found = std::ranges::find(tensors, b.tensor, &TensorView::name);
  if (found == tensors.end()) throw std::runtime_error("there is no tensor " + in_quotes(b.tensor));
  b.type = found->type;
  if (found->type != TensorType::f32 && found->type != TensorType::bf16 && found->type != TensorType::i8)
    throw std::runtime_error(fmt::format("tensor {} is {}, accepted are F32, BF16 and I8", in_quotes(b.tensor),
                                         tensor_type_name(found->type)));
  if (found->elements() != b.elements)
    throw std::runtime_error(fmt::format("tensor {} has {} values, the steps expect {}", in_quotes(b.tensor),
                                         found->elements(), b.elements));
  if (reinterpret_cast<uintptr_t>(found->bytes.data()) % kAlignment != 0)
    throw std::runtime_error(fmt::format("tensor {} is not aligned to {} bytes", in_quotes(b.tensor), kAlignment));
}

std::vector<int64_t> sample_of(const Json& json) {
  constexpr int64_t kMostChannels = 4096, kMostSide = 16384;
  std::vector<int64_t> sample = integers(json, "input");
  const auto within = [](int64_t size) { return size >= 1 && size <= kMostSide; };
  if ((sample.size() != 3 && sample.size() != 4) || sample[0] > kMostChannels || !std::ranges::all_of(sample, within))
    throw std::runtime_error("input must be channels, height and width, or channels, frames, height and width");
  return sample;
}

Program program_of(const Json& json, std::span<const TensorView> tensors) {
  Program p;
  p.sample = sample_of(json.at("input"));
  p.classes = integer(json.at("classes"), 1, 1 << 24, "classes");
  p.arena_elements = integer(json.at("arena"), 0, kMost, "arena");
  const Json &buffers = list(json.at("buffers"), "buffers"), &steps = list(json.at("steps"), "steps");
  p.buffers.reserve(buffers.size());
  p.steps.reserve(steps.size());
  for (const Json& b : buffers) p.buffers.push_back(buffer_of(b));
  for (Buffer& b : p.buffers) {
    if (b.kind == Buffer::Kind::tensor) bind_tensor(b, tensors);
  }
  for (const Json& s : steps) p.steps.push_back(step_of(s));
  check_program(p);
  return p;
}

const std::string& told(const TensorMetadata& metadata, const char* key) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) throw std::runtime_error(fmt::format("its metadata has no '{}'", key));
  return found->second;
}

void check_format(const TensorMetadata& metadata) {
  if (!metadata.contains(kFormatKey)) throw std::runtime_error("it is no compiled model; fib compile makes one");
  const std::string& text = told(metadata, kFormatKey);
  if (text != fmt::format("{}", kFibFormat))
    throw std::runtime_error(
        fmt::format("it has format {}, this program reads format {}", in_quotes(text), kFibFormat));
}

/// They are one model: whoever knows what one of them takes and gives knows it of all.
void check_alike(const std::vector<Program>& programs) {
  const Program& first = programs.front();
  for (const Program& p : programs) {
    if (p.channels() == first.channels() && p.frames() == first.frames() && p.classes == first.classes) continue;
    throw std::runtime_error("its programs differ in channels, frames or classes");
  }
}

FibContent content_of(const TensorMetadata& metadata, std::span<const TensorView> tensors) {
  check_format(metadata);
  FibContent content;
  content.precision = precision_named(told(metadata, kPrecisionKey));
  const auto batch = parse_number<int64_t>(told(metadata, kBatchKey));
  if (!batch || *batch < 1 || *batch > kMostSamples)
    throw std::runtime_error(fmt::format("its batch must be from 1 to {}", kMostSamples));
  content.most_samples = *batch;
  const Json programs = parse_json<Json>(told(metadata, kProgramsKey));
  for (const Json& p : list(programs, "programs")) content.programs.push_back(program_of(p, tensors));
  if (content.programs.empty()) throw std::runtime_error("it holds no steps");
  check_alike(content.programs);
  for (const auto& [key, value] : metadata) {
    if (key.rfind("fib_", 0) != 0) content.card.emplace(key, value);
  }
  return content;
}

/// nlohmann's words for what is wrong, without its own numbering.
std::string plain(const Json::exception& error) {
  const std::string text = error.what();
  const size_t end = text.find("] ");
  return printable(end == std::string::npos ? text : text.substr(end + 2), 200);
}

}  // namespace

const char* name_of(Precision precision) { return kPrecisionNames[static_cast<size_t>(precision)]; }

Precision precision_named(const std::string& name) {
  const auto* found = std::find(std::begin(kPrecisionNames), std::end(kPrecisionNames), name);
  if (found != std::end(kPrecisionNames)) return static_cast<Precision>(found - std::begin(kPrecisionNames));
  throw std::invalid_argument(
      fmt::format("a precision is one of {}, got {}", fmt::join(kPrecisionNames, ", "), in_quotes(name)));
}

FibContent read_fib_metadata(const TensorMetadata& metadata, std::span<const TensorView> tensors,
                             const std::string& name) {
  const auto refuse = [&](const std::string& why) -> FibContent {
    throw std::runtime_error(fmt::format("cannot run '{}': {}", name, why));
  };
  try {
    return content_of(metadata, tensors);
  } catch (const Json::exception& error) {
    return refuse("its steps are malformed, " + plain(error));
  } catch (const std::invalid_argument& error) {
    return refuse(error.what());
  } catch (const std::runtime_error& error) {
    return refuse(error.what());
  }
}

void write_fib(const std::filesystem::path& file, const FibContent& content, std::span<const TensorView> tensors) {
  Json programs = Json::array();
  for (const Program& p : content.programs) programs.push_back(to_json(p));
  TensorMetadata metadata = content.card;
  metadata[kFormatKey] = fmt::format("{}", kFibFormat);
  metadata[kPrecisionKey] = name_of(content.precision);
  metadata[kBatchKey] = fmt::format("{}", content.most_samples);
  metadata[kProgramsKey] = programs.dump();
  write_safetensors(file, tensors, metadata);
}

}  // namespace fib::engine
