// SPDX-License-Identifier: Apache-2.0
// Fewer tokens from block to block: ToMe merges the most similar ones (Bolya et al., 2210.09461), EViT keeps those that
// the class token attends to and fuses the others into one (Liang et al., 2202.07800). How many are left is fixed for
// each block, so that whoever runs the model can plan ahead. Between attention and MLP of a block tokens become fewer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fib::models {

struct TokenReduction {
  enum class Method { none, tome, evit };
  /// What the distance of two tokens is where attention goes by distances: that of their places among those that are
  /// left, or of the patches they come from; of a merged token that is the patch nearest to its center.
  enum class Distance { compact, original };

  Method method = Method::none;
  int64_t merged = 13;                  ///< tome: pairs in every block
  double keep = 0.7;                    ///< evit: share of the patch tokens
  std::vector<int64_t> at = {3, 6, 9};  ///< evit: the blocks where it acts, counted from 0
  Distance distance = Distance::compact;

  explicit operator bool() const { return method != Method::none; }
  friend bool operator==(const TokenReduction&, const TokenReduction&) = default;

  /// "tome:r=13", "evit:keep=0.7,at=3,6,9,distance=original"; an empty text is none. Throws std::invalid_argument with
  /// one line for anything else.
  static TokenReduction parse(const std::string& text);
  /// With every option that the method has.
  std::string to_string() const;

  /// Tokens, class tokens included, that enter each of the blocks and, last, leave the last one. Throws
  /// std::invalid_argument for a block that does not exist or that would merge more pairs than there are.
  std::vector<int64_t> tokens_by_block(int64_t tokens, int64_t class_tokens, int64_t blocks) const;
};

}  // namespace fib::models
