// SPDX-License-Identifier: Apache-2.0
#include "models/table/table.h"

#include <stdexcept>

#include "attention/catalogue/catalogue.h"
#include "base/nearest.h"

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
}

}  // namespace

const std::vector<Row>& table() {
  static const std::vector<Row> rows = {
      // name, kind, resolution, patch, dim, depth, heads, classes
      {"vit_tiny_patch16_224", "vit", 224, 16, 192, 12, 3, 1000},
      {"vit_small_patch16_224", "vit", 224, 16, 384, 12, 6, 1000},
      {"vit_base_patch16_224", "vit", 224, 16, 768, 12, 12, 1000},
      {"vit_large_patch16_224", "vit", 224, 16, 1024, 24, 16, 1000},
      {"deit_tiny_patch16_224", "vit", 224, 16, 192, 12, 3, 1000},
      {"deit_small_patch16_224", "vit", 224, 16, 384, 12, 6, 1000},
      {"deit_base_patch16_224", "vit", 224, 16, 768, 12, 12, 1000},
      {"vit_base_patch16_224_10cls", "vit", 224, 16, 768, 12, 12, 10},
      // For small pictures: 28 pixels in patches of 2 are the paper's 14 x 14 tokens.
      {"vit_nano_patch2_28", "vit", 28, 2, 48, 3, 6, 10},
      {"vit_micro_patch2_28", "vit", 28, 2, 96, 4, 12, 10},
      {"vit_milli_patch2_28", "vit", 28, 2, 192, 6, 12, 10},
      // For tests: milliseconds.
      {"mini_vit", "vit", 64, 8, 48, 3, 3, 10},
  };
  return rows;
}

const Row& find_row(const std::string& name) {
  std::vector<std::string> names;
  for (const Row& row : table()) {
    if (row.name == name) return row;
    names.push_back(row.name);
  }
  throw std::invalid_argument(unknown_name("model", name, names));
}

std::string classifier_of(const Row& row) {
  if (row.kind == "vit") return "head";
  throw std::logic_error("model " + row.name + " is of a kind without a classifier: " + row.kind);
}

attention::Geometry Dimensions::geometry(int64_t layer) const {
  attention::Geometry g;
  g.heads = row.heads;
  g.head_dim = g.value_dim = head_dim();
  g.cls = 1;
  g.query_grid = g.key_grid = grid();
  g.layer = layer;
  g.head_dim = attention::query_key_dim(options.attention, g);
  return g;
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
