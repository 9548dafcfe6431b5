// SPDX-License-Identifier: Apache-2.0
#include "cli/torch/classification.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "report/table.h"

namespace fib::cli {

using report::Table;

at::Tensor preprocessed(const std::string& file, const Preprocess& options) {
  at::Tensor pixels = at::empty({3, options.crop, options.crop});
  preprocess(read_image(file), options, {pixels.data_ptr<float>(), static_cast<size_t>(pixels.numel())});
  return pixels;
}

std::vector<RankedClass> best_classes(const at::Tensor& logits, int64_t count, const std::vector<std::string>& names) {
  const at::Tensor wide = logits.to(at::kDouble);
  const at::Tensor probabilities = at::softmax(wide, 0);
  const auto [values, indices] = at::sort(wide, /*stable=*/true, 0, /*descending=*/true);
  std::vector<RankedClass> top;
  for (int64_t i = 0; i < std::min(count, logits.size(0)); ++i) {
    const int64_t index = indices[i].item<int64_t>();
    const std::string label = names.empty() ? "" : names[static_cast<size_t>(index)];
    top.push_back({index, label, probabilities[index].item<double>(), values[i].item<double>()});
  }
  return top;
}

nlohmann::ordered_json classified_json(const ClassifiedImage& image) {
  auto top = nlohmann::ordered_json::array();
  for (const RankedClass& c : image.top) {
    top.push_back({{"class", c.index},
                   {"label", c.label.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(c.label)},
                   {"probability", c.probability},
                   {"logit", c.logit}});
  }
  return {{"image", image.file}, {"top", top}};
}

std::string classified_text(const ClassifiedImage& image) {
  using enum Table::Align;
  Table table({{"", left}, {"", right}, {"", right}, {"", right}, {"", left}});
  for (const RankedClass& c : image.top) {
    table.add_row({"", fmt::format("{:.2f} %", 100 * c.probability), fmt::format("{:.3f}", c.logit),
                   std::to_string(c.index), c.label});
  }
  return printable(image.file, 200) + "\n" + table.to_string();
}

}  // namespace fib::cli
