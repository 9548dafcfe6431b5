// SPDX-License-Identifier: Apache-2.0
#include "models/card.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/json.h"
#include "models/kinds.h"

namespace fib::models {
namespace {

constexpr int64_t kMaxSide = 16384;
constexpr int64_t kMaxChannels = 4096;
constexpr int64_t kMaxCrops = 3;
constexpr int64_t kMaxFrames = 4096;

/// One value of a file's metadata, and the words for it where it cannot be.
class MetadataField {
 public:
  MetadataField(const TensorMetadata& metadata, const char* key, const std::string& file) : key_(key), file_(file) {
    const auto found = metadata.find(key);
    if (found != metadata.end()) text_ = found->second;
  }

  const std::string& text() const { return text_; }

  int64_t integer(int64_t most) const {
    if (text_.empty()) return 0;
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc() || end != text_.data() + text_.size() || value < 1 || value > most)
      refuse(fmt::format("an integer from 1 to {}", most));
    return value;
  }

  std::string one_of(const std::vector<std::string>& accepted) const {
    if (text_.empty() || std::find(accepted.begin(), accepted.end(), text_) != accepted.end()) return text_;
    refuse(fmt::format("{}", fmt::join(accepted, " or ")));
  }

  std::vector<float> numbers() const {
    const auto json = parsed();
    if (json.is_null()) return {};
    if (!json.is_array()) refuse("an array of numbers");
    std::vector<float> values;
    for (const auto& item : json) {
      if (!item.is_number() || !std::isfinite(item.get<float>())) refuse("an array of numbers");
      values.push_back(item.get<float>());
    }
    return values;
  }

  std::vector<std::string> names() const {
    const auto json = parsed();
    if (json.is_null()) return {};
    if (!json.is_array()) refuse("an array of names");
    std::vector<std::string> values;
    for (const auto& item : json) {
      if (!item.is_string()) refuse("an array of names");
      values.push_back(item.get<std::string>());
    }
    return values;
  }

  std::string layers() const try { return layers_text(parse_layers(text_)); } catch (const std::invalid_argument&) {
    refuse("layers such as 0-5,9");
  }

  double ratio() const {
    const auto json = parsed();
    if (json.is_null()) return 0;
    const double value = json.is_number() ? json.get<double>() : 0;
    if (!(value > 0 && value <= 1)) refuse("a number above 0, at most 1");
    return value;
  }

  std::string tokens() const try {
    return TokenReduction::parse(text_).to_string();
  } catch (const std::invalid_argument&) {
    refuse("a reduction of tokens such as tome:r=13");
  }

  [[noreturn]] void refuse(const std::string& accepted) const {
    constexpr size_t kShown = 60;
    const std::string shown = text_.size() > kShown ? text_.substr(0, kShown) + "…" : text_;
    throw std::runtime_error(
        fmt::format("{}: {} in its metadata is '{}': accepted is {}", file_, key_, shown, accepted));
  }

 private:
  nlohmann::json parsed() const {
    if (text_.empty()) return nullptr;
    const auto json = parse_json_or_discard(text_);
    if (json.is_discarded()) refuse("JSON");
    return json;
  }

  std::string text_;
  const char* key_;
  const std::string& file_;
};

/// A model that is not in the table is somebody else's word for it.
std::string known_model(const std::string& name) {
  for (const ModelRow& row : table()) {
    if (row.name == name) return name;
  }
  return "";
}

void check_normalization(const ModelCard& card, const MetadataField& mean, const MetadataField& std) {
  const auto channels = static_cast<size_t>(card.channels);
  if (!card.mean.empty() && card.mean.size() != channels) mean.refuse(fmt::format("{} numbers", channels));
  if (!card.std.empty() && card.std.size() != channels) std.refuse(fmt::format("{} numbers", channels));
  for (float value : card.std) {
    if (!(value > 0)) std.refuse("numbers above 0");
  }
}

template <class Value>
void fill(Value& value, const Value& other) {
  if (value == Value()) value = other;
}

}  // namespace

ModelCard read_card(const TensorMetadata& metadata, const std::string& file) {
  const auto field = [&](const char* key) { return MetadataField(metadata, key, file); };
  ModelCard card;
  card.model = known_model(field("model").text());
  if (card.model.empty()) return {};
  card.attention = field("attention").text();
  card.resolution = field("resolution").integer(kMaxSide);
  card.patch = field("patch").integer(kMaxSide);
  card.pool = field("pool").one_of({"token", "mean"});
  card.channels = field("channels").integer(kMaxChannels);
  card.mean = field("mean").numbers();
  card.std = field("std").numbers();
  check_normalization(card, field("mean"), field("std"));
  card.crop_ratio = field("crop_ratio").ratio();
  card.crops = field("crops").integer(kMaxCrops);
  card.frames = field("frames").integer(kMaxFrames);
  card.sampling_rate = field("sampling_rate").integer(kMaxFrames);
  card.attention_in = field("attention_in").one_of(attention_in_names());
  card.attention_layers = field("attention_layers").layers();
  card.tokens = field("tokens").tokens();
  card.class_names = field("class_names").names();
  return card;
}

TensorMetadata to_metadata(const ModelCard& card) {
  TensorMetadata metadata{{"format", "pt"}};
  const auto tell = [&](const char* key, const std::string& text, bool told) {
    if (told) metadata[key] = text;
  };
  tell("model", card.model, !card.model.empty());
  tell("attention", card.attention, !card.attention.empty());
  tell("resolution", std::to_string(card.resolution), card.resolution > 0);
  tell("patch", std::to_string(card.patch), card.patch > 0);
  tell("pool", card.pool, !card.pool.empty());
  tell("channels", std::to_string(card.channels), card.channels > 0);
  tell("mean", fmt::format("[{}]", fmt::join(card.mean, ", ")), !card.mean.empty());
  tell("std", fmt::format("[{}]", fmt::join(card.std, ", ")), !card.std.empty());
  tell("crop_ratio", fmt::format("{}", card.crop_ratio), card.crop_ratio > 0);
  tell("crops", fmt::format("{}", card.crops), card.crops > 1 || card.frames > 0);
  tell("frames", fmt::format("{}", card.frames), card.frames > 0);
  tell("sampling_rate", fmt::format("{}", card.sampling_rate), card.sampling_rate > 0);
  tell("attention_in", card.attention_in, !card.attention_in.empty());
  tell("attention_layers", card.attention_layers, !card.attention_layers.empty());
  tell("tokens", card.tokens, !card.tokens.empty());
  using Handler = nlohmann::json::error_handler_t;
  tell("class_names", nlohmann::json(card.class_names).dump(-1, ' ', false, Handler::replace),
       !card.class_names.empty());
  return metadata;
}

ModelCard completed(ModelCard card, const ModelCard& from) {
  fill(card.model, from.model);
  fill(card.attention, from.attention);
  fill(card.resolution, from.resolution);
  fill(card.patch, from.patch);
  fill(card.pool, from.pool);
  fill(card.channels, from.channels);
  fill(card.mean, from.mean);
  fill(card.std, from.std);
  fill(card.crop_ratio, from.crop_ratio);
  fill(card.crops, from.crops);
  fill(card.frames, from.frames);
  fill(card.sampling_rate, from.sampling_rate);
  fill(card.attention_in, from.attention_in);
  fill(card.attention_layers, from.attention_layers);
  fill(card.tokens, from.tokens);
  fill(card.class_names, from.class_names);
  return card;
}

ModelCard published_card(const ModelRow& row, int64_t channels) {
  ModelCard card;
  card.model = row.name;
  card.attention = "full";
  card.resolution = row.resolution;
  card.patch = row.patch;
  card.channels = channels;
  const auto first = [channels](const std::array<float, 3>& values) {
    return std::vector<float>(values.begin(), values.begin() + std::min<int64_t>(channels, 3));
  };
  card.mean = first(row.normalization.mean);
  card.std = first(row.normalization.std);
  card.crop_ratio = row.crop_ratio;
  card.crops = row.frames > 0 ? 3 : 0;
  card.sampling_rate = row.frames > 0 ? 32 : 0;
  return card;
}

namespace {

/// Blocks 0, 1, 2, … that the file has parameters of.
int64_t stored_blocks(const SafetensorsFile& weights) {
  const auto has = [&](int64_t block) {
    const std::string prefix = fmt::format("blocks.{}.", block);
    return std::ranges::any_of(weights.tensors(), [&](const TensorView& t) { return t.name.starts_with(prefix); });
  };
  int64_t count = 0;
  while (has(count)) ++count;
  return count;
}

bool is_shaped_like(const ModelRow& row, const SafetensorsFile& weights) {
  const TensorView* stem = weights.find(row.kind->stem);
  const TensorView* head = weights.find(std::string(row.kind->classifier) + ".weight");
  if (stem == nullptr || head == nullptr || stem->shape.size() != 4 || head->shape.size() != 2) return false;
  const bool clips = weights.find("time_embed") != nullptr;
  const int64_t last = row.stages.empty() ? row.dim : row.stages.back().dim;
  if (stem->shape[0] != row.dim || head->shape[1] != last || clips != (row.frames > 0)) return false;
  return !row.stages.empty() || (stem->shape[2] == row.patch && stored_blocks(weights) == row.depth);
}

}  // namespace

std::vector<std::string> models_shaped_like(const SafetensorsFile& weights) {
  std::vector<std::string> names;
  for (const ModelRow& row : table())
    if (is_shaped_like(row, weights)) names.push_back(row.name);
  return names;
}

Options options_of(const ModelCard& card) {
  const auto told = [](int64_t value) { return value == 0 ? std::nullopt : std::optional(value); };
  Options options;
  if (!card.attention.empty()) options.attention = AttentionSpec::parse(card.attention);
  options.resolution = told(card.resolution);
  options.patch = told(card.patch);
  if (card.channels > 0) options.channels = card.channels;
  options.frames = told(card.frames);
  if (!card.attention_in.empty()) options.attention_in = attention_in_of(card.attention_in);
  options.attention_layers = parse_layers(card.attention_layers);
  options.tokens = TokenReduction::parse(card.tokens);
  if (card.pool == "mean") options.pool = Pool::mean;
  return options;
}

}  // namespace fib::models
