// SPDX-License-Identifier: Apache-2.0
#include "models/table.h"

#include <stdexcept>

#include "attention/catalogue.h"
#include "base/nearest.h"
#include "models/kinds.h"

namespace fib::models {
namespace {

void require(bool good, const std::string& message) {
  if (!good) throw std::invalid_argument(message);
}

void check_rate(const char* what, double rate) {
  require(rate >= 0.0 && rate < 1.0, std::string(what) + " must be in [0, 1), got " + std::to_string(rate));
}

void check_at_least_one(const char* what, int64_t value) {
  require(value >= 1, std::string(what) + " must be at least 1, got " + std::to_string(value));
}

void check(const Dimensions& d) {
  check_at_least_one("patch", d.row.patch);
  check_at_least_one("classes", d.row.classes);
  check_at_least_one("channels", d.options.channels);
  require(d.height >= d.row.patch && d.width >= d.row.patch, "a picture of " + std::to_string(d.height) + " x " +
                                                                 std::to_string(d.width) + " holds no patch of " +
                                                                 std::to_string(d.row.patch));
  check_rate("dropout", d.options.dropout);
  check_rate("attention dropout", d.options.attention_dropout);
  check_rate("drop path", d.options.drop_path);
  attention::check_spec(d.options.attention);
  require(d.options.widths.empty() || d.row.kind == "vit", d.row.name + " has no pruned form: only ViT and DeiT have");
  kind_of(d.row).check(d);
  for (const AttentionLayer& layer : attention_layers(d)) attention::check_fit(layer.attention, layer.geometry);
}

}  // namespace

const Row& find_row(const std::string& name) {
  std::vector<std::string> names;
  for (const Row& row : table()) {
    if (row.name == name) return row;
    names.push_back(row.name);
  }
  throw std::invalid_argument(unknown_name("model", name, names));
}

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
