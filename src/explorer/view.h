// SPDX-License-Identifier: Apache-2.0
// What the page shows of one mechanism: requests and answers are JSON, so that the page needs no knowledge of any.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "attention/registry.h"

namespace fib::explorer {

using Json = nlohmann::ordered_json;

/// More than these a page cannot draw; `fib pattern` takes them.
inline constexpr int64_t kMostPatches = 4096, kMostHeads = 64, kMostClassTokens = 16;
inline constexpr int64_t kMostPixels = 4096;
/// Of the model whose reach is shown: what `fib pattern` assumes unless told.
inline constexpr int64_t kReachLayers = 12;

struct Request {
  AttentionSpec spec;
  attention::Geometry geometry;
};

/// {"attention": "NAME:key=value", "height": 14, "width": 14, "heads": 12, "cls": 1, "layer": null}. Throws
/// std::invalid_argument for what cannot be shown.
Request parse_request(const std::string& json);

/// Every mechanism of the registry: name, summary, whether its pairs follow from positions, and its options with
/// defaults, help and the words they take.
Json mechanisms_json();

/// Pairs, pruning ratio and multiplications of one layer; of full attention in the same layer too.
Json cost_json(const Request& request);

/// What a token sees in an image of the mask.
enum class Pixel : uint8_t { nothing, offset, neighbor, class_token, listed };

/// One mechanism in one layer.
class View {
 public:
  explicit View(Request request);

  /// What `fib pattern --json` prints but for the memory, which depends on the machine; null for a mechanism whose
  /// pairs do not follow from positions, and "cost" for every one.
  Json describe() const;
  /// For each head the tokens that are keys of a query, class tokens included.
  Json keys(int64_t query) const;
  Json head_overlap() const;
  /// side x side pixels of a head's mask, queries down; where pairs share a pixel the last kind of the list shows.
  std::vector<Pixel> mask(int64_t head, int64_t side) const;
  /// The file that `fib pattern --svg` writes.
  std::string svg() const;

 private:
  const SupportSet& support() const;

  Request request_;
  std::optional<SupportSet> support_;
};

}  // namespace fib::explorer
