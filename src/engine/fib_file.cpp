// SPDX-License-Identifier: Apache-2.0
#include "engine/fib_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/json.h"
#include "base/text.h"
#include "engine/step_fields.h"

namespace fib::engine {
namespace {

using Json = nlohmann::json;

constexpr const char* kFormatKey = "fib_format";
constexpr const char* kProgramsKey = "fib_programs";
constexpr const char* kPrecisionKey = "fib_precision";
constexpr const char* kBatchKey = "fib_batch";
constexpr int64_t kMostSamples = 65536;
constexpr int64_t kMostTokens = 4096;  // of a call
/// Vectors of floats are read from tensors without a copy.
constexpr size_t kAlignment = 64;

constexpr const char* kPrecisionNames[] = {"f32", "bf16", "int8"};
constexpr const char* kBufferKinds[] = {"input", "output", "arena", "tensor", "state"};
static_assert(std::size(kBufferKinds) == static_cast<size_t>(Buffer::Kind::state) + 1);

/// In memory that it shares with others.
bool has_place(const Buffer& b) { return b.kind == Buffer::Kind::arena || b.kind == Buffer::Kind::state; }

// ---- Writing
// ---------------------------------------------------------------------------------------------------------

Json to_json(const Buffer& b) {
  Json json{{"kind", kBufferKinds[static_cast<size_t>(b.kind)]}, {"elements", b.elements}};
  if (has_place(b)) json["offset"] = b.offset;
  if (b.kind == Buffer::Kind::tensor) json["tensor"] = b.tensor;
  return json;
}

Json to_json(const Operand& o) {
  Json json{o.buffer, o.offset, o.sizes, o.strides};
  if (o.advance != 0) json.push_back(o.advance);
  return json;
}

/// Writes attributes into a step's object.
class FieldWriter final : public StepFields {
 public:
  explicit FieldWriter(Json& json) : json_(json) {}
  void integer(const char* name, int64_t& value, Range) override { json_[name] = value; }
  void integer(const char* name, std::optional<int64_t>& value, Range) override {
    if (value) json_[name] = *value;
  }
  void number(const char* name, double& value) override { json_[name] = value; }
  void number(const char* name, std::optional<double>& value) override {
    if (value) json_[name] = *value;
  }
  void flag(const char* name, bool& value) override { json_[name] = value; }
  void text(const char* name, std::string& value) override { json_[name] = value; }
  void pair(const char* name, std::array<int64_t, 2>& value, Range) override { json_[name] = value; }
  void lists(const char* name, std::vector<std::vector<int64_t>>& value, Range) override { json_[name] = value; }
  std::unique_ptr<StepFields> group(const char* name) override { return std::make_unique<FieldWriter>(json_[name]); }

 private:
  Json& json_;
};

Json to_json(const Step& s) {
  Json json{{"step", name_of(s.kind)}};
  for (size_t i = 0; i < kRoles; ++i) {
    if (s.operands[i].given()) json[name_of(static_cast<Role>(i))] = to_json(s.operands[i]);
  }
  if (s.function != Function::none) json["function"] = name_of(s.function);
  if (const auto fields = row_of(s.kind).fields) {
    Step copy = s;  // one list of fields reads and writes
    FieldWriter writer(json);
    fields(writer, copy);
  }
  for (const Step& inner : s.body) json["body"].push_back(to_json(inner));
  return json;
}

Json to_json(const Program& p) {
  Json buffers = Json::array(), steps = Json::array();
  for (const Buffer& b : p.buffers) buffers.push_back(to_json(b));
  for (const Step& s : p.steps) steps.push_back(to_json(s));
  Json json{{"input", p.sample},
            {"classes", p.classes},
            {"arena", p.arena_elements},
            {"buffers", std::move(buffers)},
            {"steps", std::move(steps)}};
  if (p.state_elements > 0) json["state"] = p.state_elements;
  return json;
}

// ---- Reading: every value is asked for by its type, and nlohmann's exceptions become one line
// --------------------------

constexpr size_t kMostListed = size_t{1} << 20;

int64_t read_integer(const Json& json, int64_t least, int64_t most, const char* what) {
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
  for (const Json& item : json) values.push_back(read_integer(item, 0, kMost, what));
  return values;
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
  b.elements = read_integer(json.at("elements"), 1, kMost, "elements");
  if (has_place(b)) b.offset = read_integer(json.at("offset"), 0, kMost, "offset");
  if (b.kind == Buffer::Kind::tensor) b.tensor = json.at("tensor").get<std::string>();
  return b;
}

Operand operand_of(const Json& json) {
  if (!json.is_array() || (json.size() != 4 && json.size() != 5))
    throw std::runtime_error("an operand must be [buffer, offset, sizes, strides], or these and an advance");
  Operand o;
  o.buffer = static_cast<int32_t>(read_integer(json[0], 0, static_cast<int64_t>(kMostListed), "buffer"));
  o.offset = read_integer(json[1], 0, kMost, "offset");
  o.sizes = integers(json[2], "sizes");
  o.strides = integers(json[3], "strides");
  if (json.size() == 5) o.advance = read_integer(json[4], 0, kMost, "advance");
  return o;
}

/// Reads attributes from a step's object.
class FieldReader final : public StepFields {
 public:
  explicit FieldReader(const Json& json) : json_(json) {}
  void integer(const char* name, int64_t& value, Range range) override {
    value = read_integer(json_.at(name), range.least, range.most, name);
  }
  void integer(const char* name, std::optional<int64_t>& value, Range range) override {
    if (json_.contains(name)) integer(name, value.emplace(), range);
  }
  void number(const char* name, double& value) override {
    value = json_.at(name).get<double>();
    if (!std::isfinite(value)) throw std::runtime_error(fmt::format("{} must be a number", name));
  }
  void number(const char* name, std::optional<double>& value) override {
    if (json_.contains(name)) number(name, value.emplace());
  }
  void flag(const char* name, bool& value) override { value = json_.at(name).get<bool>(); }
  void text(const char* name, std::string& value) override { value = json_.at(name).get<std::string>(); }
  void pair(const char* name, std::array<int64_t, 2>& value, Range range) override {
    const Json& list = json_.at(name);
    if (!list.is_array() || list.size() != 2) throw std::runtime_error(fmt::format("{} must be two integers", name));
    for (size_t i = 0; i < 2; ++i) value[i] = read_integer(list[i], range.least, range.most, name);
  }
  void lists(const char* name, std::vector<std::vector<int64_t>>& value, Range range) override {
    value.clear();
    size_t count = 0;
    for (const Json& inner : list(json_.at(name), name)) {
      std::vector<int64_t>& numbers = value.emplace_back();
      count += list(inner, name).size();
      if (count > kMostListed) throw std::runtime_error(fmt::format("{} must be up to {} integers", name, kMostListed));
      for (const Json& item : inner) numbers.push_back(read_integer(item, range.least, range.most, name));
    }
  }
  std::unique_ptr<StepFields> group(const char* name) override { return std::make_unique<FieldReader>(json_.at(name)); }

 private:
  const Json& json_;
};

Step step_of(const Json& json) {
  Step s;
  s.kind = step_kind(json.at("step").get<std::string>());
  for (size_t i = 0; i < kRoles; ++i) {
    const auto found = json.find(name_of(static_cast<Role>(i)));
    if (found != json.end()) s.operands[i] = operand_of(*found);
  }
  if (json.contains("function")) s.function = function_named(json["function"].get<std::string>());
  if (const auto fields = row_of(s.kind).fields) {
    FieldReader reader(json);
    fields(reader, s);
  }
  if (json.contains("body")) {
    for (const Json& inner : list(json["body"], "body")) s.body.push_back(step_of(inner));
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
  constexpr int64_t kMostChannels = 4096, kMostSide = 16384, kMostValues = int64_t{1} << 28;
  std::vector<int64_t> sample = integers(json, "input");
  if (sample.size() == 1 && sample[0] >= 1 && sample[0] <= kMostTokens) return sample;
  const auto within = [](int64_t size) { return size >= 1 && size <= kMostSide; };
  // A policy's numbers are many, and no side of an image.
  const bool numbers = sample.size() == 2 && sample[0] == 1 && sample[1] >= 1;
  const bool images = (sample.size() == 3 || sample.size() == 4) && sample[0] <= kMostChannels;
  if (!numbers && !(images && std::ranges::all_of(sample, within)))
    throw std::runtime_error(
        "input must be channels, height and width, or channels, frames, height and width, or a number of tokens, or 1 "
        "and a number of values");
  if (checked_product(sample) > kMostValues)
    throw std::runtime_error(
        fmt::format("an input of {} values, accepted are up to {}", fmt::join(sample, " x "), kMostValues));
  return sample;
}

Program program_of(const Json& json, std::span<const TensorView> tensors) {
  Program p;
  p.sample = sample_of(json.at("input"));
  p.classes = read_integer(json.at("classes"), 1, 1 << 24, "classes");
  p.arena_elements = read_integer(json.at("arena"), 0, kMost, "arena");
  if (json.contains("state")) p.state_elements = read_integer(json["state"], 0, kMost, "state");
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

const std::string& metadata_value(const TensorMetadata& metadata, const char* key) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) throw std::runtime_error(fmt::format("its metadata has no '{}'", key));
  return found->second;
}

void check_format(const TensorMetadata& metadata) {
  if (!metadata.contains(kFormatKey)) throw std::runtime_error("it is no compiled model; fib compile makes one");
  const std::string& text = metadata_value(metadata, kFormatKey);
  if (text != fmt::format("{}", kFibFormat))
    throw std::runtime_error(
        fmt::format("it has format {}, this program reads format {}", in_quotes(text), kFibFormat));
}

/// All are one model at several sizes: what one takes and gives holds for all.
void check_alike(const std::vector<Program>& programs) {
  if (programs.front().tokens() > 0 && std::ranges::none_of(programs, [](const Program& p) { return p.tokens() == 1; }))
    throw std::runtime_error("it takes tokens, and has no steps for one of them");
  const Program& first = programs.front();
  for (const Program& p : programs) {
    if ((p.tokens() > 0) != (first.tokens() > 0) || p.state_elements != first.state_elements)
      throw std::runtime_error("its programs differ in what they keep from call to call");
    if (p.channels() == first.channels() && p.frames() == first.frames() && p.classes == first.classes) continue;
    throw std::runtime_error("its programs differ in channels, frames or classes");
  }
}

FibContent content_of(const TensorMetadata& metadata, std::span<const TensorView> tensors) {
  check_format(metadata);
  FibContent content;
  content.precision = precision_named(metadata_value(metadata, kPrecisionKey));
  const auto batch = parse_number<int64_t>(metadata_value(metadata, kBatchKey));
  if (!batch || *batch < 1 || *batch > kMostSamples)
    throw std::runtime_error(fmt::format("its batch must be from 1 to {}", kMostSamples));
  content.most_samples = *batch;
  const Json programs = parse_json<Json>(metadata_value(metadata, kProgramsKey));
  for (const Json& p : list(programs, "programs")) content.programs.push_back(program_of(p, tensors));
  if (content.programs.empty()) throw std::runtime_error("it holds no steps");
  check_alike(content.programs);
  for (const auto& [key, value] : metadata) {
    if (key.rfind("fib_", 0) != 0) content.card.emplace(key, value);
  }
  return content;
}

/// nlohmann's message without its own numbering.
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
