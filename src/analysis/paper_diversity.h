// SPDX-License-Identifier: Apache-2.0
// The paper's table of head diversity (ViT-B, CIFAR-10, 10,000 images), in percent.
#pragma once

#include <optional>
#include <string_view>

namespace fib::analysis {

struct PaperDiversity {
  std::string_view attention;
  double min, q1, median, q3, max;
};

inline constexpr PaperDiversity kPaperDiversity[] = {
    {"full", 27.57, 37.68, 43.00, 48.85, 61.53},
    {"random", 13.68, 22.08, 29.24, 35.31, 47.74},
    {"sparse-transformer", 28.84, 38.27, 43.27, 49.65, 63.71},
    {"longformer", 34.49, 44.52, 49.26, 54.29, 65.27},
    {"bigbird", 34.15, 45.67, 51.86, 58.55, 72.08},
    {"fibottention", 41.63, 51.98, 57.34, 63.22, 75.95},
};

/// None for a mechanism that the table does not have.
inline std::optional<PaperDiversity> paper_diversity(std::string_view attention) {
  for (const PaperDiversity& row : kPaperDiversity)
    if (row.attention == attention) return row;
  return std::nullopt;
}

}  // namespace fib::analysis
