// SPDX-License-Identifier: Apache-2.0
#include "models/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "attention/registry.h"
#include "base/nearest.h"
#include "base/text.h"
#include "models/kinds.h"

namespace fib::models {
namespace {

void require(bool good, const std::string& message) {
  if (!good) throw std::invalid_argument(message);
}

void check_rate(const char* what, double rate) {
  require(rate >= 0.0 && rate < 1.0, fmt::format("{} must be in [0, 1), got {}", what, rate));
}

void check_at_least_one(const char* what, int64_t value) {
  require(value >= 1, fmt::format("{} must be at least 1, got {}", what, value));
}

std::vector<std::string> prunable_kinds() {
  std::vector<std::string> names;
  for (const Kind* kind : kKinds) {
    if (kind->prunable) names.emplace_back(kind->name);
  }
  return names;
}

constexpr int64_t kMostLayers = 4096;  // more than any model has; a text of few digits must not cost memory

[[noreturn]] void refuse_layers(const std::string& text) {
  throw std::invalid_argument(
      fmt::format("layers {}: accepted are numbers from 0 to {} and ranges of them, such as 0-5,9", in_quotes(text),
                  kMostLayers - 1));
}

/// "5" or "2-5".
std::pair<int64_t, int64_t> parse_range(const std::string& part, const std::string& text) {
  const size_t dash = part.find('-');
  const auto first = parse_number<int64_t>(part.substr(0, dash));
  const auto last = dash == std::string::npos ? first : parse_number<int64_t>(part.substr(dash + 1));
  if (!first || !last || *first < 0 || *last < *first || *last >= kMostLayers) refuse_layers(text);
  return {*first, *last};
}

void check_layers(const Dimensions& d) {
  const std::vector<AttentionLayer> layers = attention_layers(d);
  const auto numbered = [](int64_t number) {
    return [number](const AttentionLayer& layer) { return layer.geometry.layer == number; };
  };
  for (const int64_t wanted : d.options.attention_layers) {
    require(std::ranges::any_of(layers, numbered(wanted)),
            fmt::format("{} has attention in layers {} to {}, got {}", d.row.name, *layers.front().geometry.layer,
                        *layers.back().geometry.layer, wanted));
  }
}

/// A row says of which kind it is by standing in that kind's list.
std::vector<ModelRow> all_rows() {
  std::vector<ModelRow> rows;
  for (const Kind* kind : kKinds) {
    for (ModelRow& row : kind->rows()) {
      row.kind = kind;
      rows.push_back(std::move(row));
    }
  }
  const auto earlier = [](const ModelRow& a, const ModelRow& b) { return a.group < b.group; };
  std::stable_sort(rows.begin(), rows.end(), earlier);
  return rows;
}

void check_frames(const Dimensions& d) {
  if (d.takes_clips()) return check_at_least_one("frames", d.frames());
  require(!d.options.frames, fmt::format("{} takes images: it has no frames, got {}", d.row.name, d.frames()));
  require(d.options.attention_in == AttentionIn::spatial,
          fmt::format("{} takes images: attention_in = {} is for models that take clips", d.row.name,
                      to_string(d.options.attention_in)));
}

void check(const Dimensions& d) {
  check_at_least_one("patch", d.row.patch);
  check_at_least_one("classes", d.row.classes);
  check_at_least_one("channels", d.options.channels);
  require(d.height >= d.row.patch && d.width >= d.row.patch,
          fmt::format("an image of {} x {} holds no patch of {}", d.height, d.width, d.row.patch));
  check_rate("dropout", d.options.dropout);
  check_rate("attention dropout", d.options.attention_dropout);
  check_rate("drop path", d.options.drop_path);
  attention::check_spec(d.options.attention);
  require(d.options.widths.empty() || d.row.kind->prunable,
          fmt::format("{} has no pruned form: those that have are {}", d.row.name, fmt::join(prunable_kinds(), ", ")));
  require(!d.options.tokens || d.row.kind->reduces_tokens,
          fmt::format("{}: its tokens cannot become fewer, got tokens {}", d.row.name, d.options.tokens.to_string()));
  check_frames(d);
  if (d.row.kind->check != nullptr) d.row.kind->check(d);
  check_layers(d);
  for (const AttentionLayer& layer : attention_layers(d)) attention::check_fit(layer.attention, layer.geometry);
}

}  // namespace

const std::vector<ModelRow>& table() {
  static const std::vector<ModelRow> rows = all_rows();
  return rows;
}

const std::vector<std::string>& attention_in_names() {
  static const std::vector<std::string> names = {"spatial", "temporal", "both", "joint"};
  return names;
}

std::string to_string(AttentionIn where) { return attention_in_names()[static_cast<size_t>(where)]; }

AttentionIn attention_in_of(const std::string& word) {
  const auto& names = attention_in_names();
  const auto found = std::find(names.begin(), names.end(), word);
  if (found == names.end()) throw std::invalid_argument(unknown_name("place of attention", word, names));
  return static_cast<AttentionIn>(found - names.begin());
}

std::vector<int64_t> parse_layers(const std::string& text) {
  std::vector<int64_t> layers;
  for (size_t begin = 0; begin < text.size();) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    const auto [first, last] = parse_range(text.substr(begin, comma - begin), text);
    for (int64_t layer = first; layer <= last; ++layer) layers.push_back(layer);
    begin = comma + 1;
    if (begin == text.size()) refuse_layers(text);  // it ends with a comma
  }
  std::ranges::sort(layers);
  layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
  return layers;
}

std::string layers_text(const std::vector<int64_t>& layers) {
  std::string text;
  for (size_t i = 0; i < layers.size(); ++i) {
    const size_t first = i;
    while (i + 1 < layers.size() && layers[i + 1] == layers[i] + 1) ++i;
    text += fmt::format("{}{}", text.empty() ? "" : ",", layers[first]);
    if (i > first) text += fmt::format("-{}", layers[i]);
  }
  return text;
}

std::vector<int64_t> Dimensions::sample_shape() const {
  if (takes_clips()) return {options.channels, frames(), height, width};
  return {options.channels, height, width};
}

const ModelRow& find_row(const std::string& name) { return find_named(table(), "model", name, &ModelRow::name); }

Dimensions dimensions(const std::string& name, const Options& options) {
  Dimensions d{find_row(name), options, 0, 0};
  d.row.patch = options.patch.value_or(d.row.patch);
  d.row.classes = options.classes.value_or(d.row.classes);
  return resized(d, options.resolution.value_or(d.row.resolution),
                 options.width.value_or(options.resolution.value_or(d.row.resolution)));
}

Dimensions resized(const Dimensions& dims, int64_t height, int64_t width) {
  Dimensions d = dims;
  d.height = height;
  d.width = width;
  check(d);
  return d;
}

}  // namespace fib::models
