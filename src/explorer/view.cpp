// SPDX-License-Identifier: Apache-2.0
#include "explorer/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "patterns/desiderata.h"
#include "report/pattern_drawing.h"
#include "report/pattern_summary.h"

namespace fib::explorer {
namespace {

/// The row of patterns/ under this name; null for a mechanism that is none.
const PatternInfo* pattern_named(const std::string& name) {
  for (const PatternInfo& p : pattern_registry())
    if (p.name == name) return &p;
  return nullptr;
}

Json options_json(const PatternInfo& info) {
  Json list = Json::array();
  for (const PatternOption& o : info.options)
    list.push_back({{"key", o.key}, {"default", o.default_text}, {"help", o.help}, {"words", o.words}});
  return list;
}

int64_t number_in(const Json& request, const char* key, int64_t least, int64_t most) {
  const auto found = request.find(key);
  if (found != request.end() && found->is_number_integer() && *found >= least && *found <= most) return *found;
  throw std::invalid_argument(fmt::format("{} must be a whole number from {} to {}, got {}", key, least, most,
                                          found == request.end() ? "nothing" : found->dump()));
}

attention::Geometry geometry_in(const Json& request) {
  const attention::Grid grid{number_in(request, "height", 1, kMostPatches),
                             number_in(request, "width", 1, kMostPatches)};
  if (grid.tokens() > kMostPatches)
    throw std::invalid_argument(fmt::format("at most {} patches can be drawn here, got {}; fib pattern takes more",
                                            kMostPatches, grid.tokens()));
  attention::Geometry g;
  g.query_grid = g.key_grid = grid;
  g.heads = number_in(request, "heads", 1, kMostHeads);
  g.cls = number_in(request, "cls", 0, kMostClassTokens);
  if (request.contains("layer") && !request["layer"].is_null()) g.layer = number_in(request, "layer", 0, kMaxTokens);
  return g;
}

Json cost_figures(const attention::Cost& cost) {
  return {{"pairs", cost.pairs},
          {"pruning_ratio", cost.pruning_ratio},
          {"pruning_ratio_with_cls", cost.pruning_ratio_with_cls},
          {"macs", cost.executed_macs}};
}

/// Class tokens see and are seen by all; what is listed explicitly is neither offset nor diagonal nor a neighbor.
Pixel kind_of(const SupportSet& s, int64_t head, int64_t query, int64_t key) {
  if (query < s.cls() || key < s.cls()) return Pixel::class_token;
  const SupportSet::Head& own = s.head(head);
  if (own.pairs.contains({static_cast<int32_t>(query), static_cast<int32_t>(key)})) return Pixel::listed;
  const bool offset = query == key || std::binary_search(own.offsets.begin(), own.offsets.end(), std::abs(query - key));
  return offset ? Pixel::offset : Pixel::neighbor;
}

}  // namespace

Request parse_request(const std::string& text) {
  const Json json = Json::parse(text);
  Request request{AttentionSpec::parse(json.at("attention").get<std::string>()), geometry_in(json)};
  attention::check_spec(request.spec);
  return request;
}

Json mechanisms_json() {
  Json list = Json::array();
  for (const attention::MechanismInfo& m : attention::mechanisms()) {
    const PatternInfo* pattern = pattern_named(m.name);
    list.push_back({{"name", m.name},
                    {"summary", m.summary},
                    {"pattern", pattern != nullptr},
                    {"options", options_json(pattern != nullptr ? *pattern : m)}});
  }
  return list;
}

Json cost_json(const Request& request) {
  return {{"mechanism", cost_figures(attention::cost(request.spec, request.geometry))},
          {"full", cost_figures(attention::cost({"full", {}}, request.geometry))}};
}

View::View(Request request) : request_(std::move(request)) {
  if (pattern_named(request_.spec.name) != nullptr)
    support_ = attention::layer_support(request_.spec, request_.geometry);
}

const SupportSet& View::support() const {
  if (!support_) attention::require_pattern(request_.spec);
  return *support_;
}

Json View::describe() const {
  Json pattern;
  if (support_) {
    const auto support_of = [&](int64_t layer) {
      attention::Geometry geometry = request_.geometry;
      geometry.layer = layer;
      return attention::layer_support(request_.spec, geometry);
    };
    pattern = report::pattern_json(report::summarize_pattern(request_.spec, *support_, support_of, kReachLayers));
    pattern.erase("memory_bytes");
  }
  return {{"pattern", pattern}, {"cost", cost_json(request_)}};
}

Json View::keys(int64_t query) const {
  Json heads = Json::array();
  for (int64_t h = 0; h < support().num_heads(); ++h) heads.push_back(support().keys_of_row(h, query));
  return heads;
}

Json View::head_overlap() const { return overlap(support()); }

std::vector<Pixel> View::mask(int64_t head, int64_t side) const {
  const SupportSet& s = support();
  if (side < 1 || side > kMostPixels) throw std::invalid_argument(fmt::format("a mask of {} pixels", side));
  std::vector<Pixel> image(static_cast<size_t>(side * side), Pixel::nothing);
  for (int64_t q = 0; q < s.query_tokens(); ++q) {
    for (int64_t k : s.keys_of_row(head, q)) {
      Pixel& pixel = image[static_cast<size_t>(q * side / s.query_tokens() * side + k * side / s.key_tokens())];
      pixel = std::max(pixel, kind_of(s, head, q, k));
    }
  }
  return image;
}

std::string View::svg() const {
  return report::to_svg(report::draw_pattern(report::pattern_title(request_.spec, request_.geometry.layer), support()));
}

}  // namespace fib::explorer
