// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "analysis/torch/over_images.h"
#include "base/atomic_file.h"
#include "base/text.h"
#include "cli/commands/trained.h"
#include "cli/output.h"
#include "cli/torch/open_models.h"
#include "patterns/measured_offsets.h"
#include "report/text.h"

namespace fib::cli {
namespace {

using Layer = std::vector<std::vector<double>>;  ///< of each head the attention by distance

/// "8%" or "0.08".
double share_of(const std::string& text) {
  const bool percent = text.ends_with('%');
  const auto number = parse_number<double>(percent ? text.substr(0, text.size() - 1) : text);
  const double share = number ? *number / (percent ? 100 : 1) : 0;
  if (!(share > 0 && share <= 1))
    throw std::invalid_argument("--keep must be a share above 0 and at most 1, such as 8% or 0.08, got '" + text + "'");
  return share;
}

std::vector<Distances> of_each(const Layer& layer, int64_t pairs,
                               Distances (*choose)(std::span<const double>, int64_t)) {
  std::vector<Distances> heads;
  for (const std::vector<double>& attention : layer) heads.push_back(choose(attention, pairs));
  return heads;
}

struct Shape {
  const char* name;
  const char* what;
  std::vector<Distances> (*choose)(const Layer& layer, int64_t pairs);
};
const Shape kShapes[] = {
    {"free", "free offsets", [](const Layer& l, int64_t pairs) { return of_each(l, pairs, free_offsets); }},
    {"window", "a window", [](const Layer& l, int64_t pairs) { return of_each(l, pairs, window_offsets); }},
    {"array", "rows of the Wythoff array", [](const Layer& l, int64_t pairs) { return array_offsets(l, pairs); }}};

struct Fitted {
  std::string shape, what;
  MeasuredOffsets offsets;
  double pairs = 0;      ///< share of all pairs of patches
  double attention = 0;  ///< share of what patches give to patches
};

/// Weights may hold anything.
void check_numbers(const std::vector<Layer>& layers) {
  for (size_t l = 0; l < layers.size(); ++l)
    for (size_t h = 0; h < layers[l].size(); ++h)
      for (const double attention : layers[l][h])
        if (!std::isfinite(attention))
          throw std::runtime_error(fmt::format("the model's attention is no number in layer {}, head {}", l, h));
}

Fitted fitted(const Shape& shape, const std::vector<Layer>& layers, int64_t pairs) {
  Fitted f{shape.name, shape.what, {static_cast<int64_t>(layers.front().front().size()), layers.front().size(), {}}};
  double heads = 0, all = 0;
  for (const Layer& layer : layers) {
    f.offsets.layers.push_back({shape.choose(layer, pairs), {}});
    for (size_t h = 0; h < layer.size(); ++h, ++heads) {
      const Distances& chosen = f.offsets.layers.back().heads[h];
      f.pairs += static_cast<double>(pairs_of(chosen, f.offsets.patches));
      f.attention += kept(layer[h], chosen);
      for (const double a : layer[h]) all += a;
    }
  }
  const auto patches = static_cast<double>(f.offsets.patches);
  f.pairs /= heads * patches * patches;
  f.attention /= all;
  return f;
}

std::string fit_text(const std::vector<Fitted>& all, const FitArguments& a, int64_t images) {
  using enum report::Table::Align;
  report::Table table({{"each head sees"}, {"pairs", right}, {"attention kept", right}});
  for (const Fitted& f : all)
    table.add_row({f.what, fmt::format("{:.2f} %", 100 * f.pairs), fmt::format("{:.1f} %", 100 * f.attention)});
  return fmt::format("{}\nMeasured on {} images. {} has {}: use it as --attention offsets:{}\n", table.to_string(),
                     report::grouped(images), a.output, a.shape, a.output);
}

nlohmann::ordered_json fit_json(const std::vector<Fitted>& all, const FitArguments& a, int64_t images) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Fitted& f : all) rows.push_back({{"shape", f.shape}, {"pairs", f.pairs}, {"attention", f.attention}});
  return {{"attention", "offsets:file=" + a.output}, {"shape", a.shape}, {"images", images}, {"rows", rows}};
}

}  // namespace

void run(const FitArguments& a, const Globals& globals) {
  const double share = share_of(a.keep);
  if (a.output.find(',') != std::string::npos)
    throw std::invalid_argument("-o must have no comma, as --attention offsets:FILE divides options by them, got '" +
                                a.output + "'");
  const training::TrainedModel model = open_models(a.measured.models, globals.quiet).front();
  const DatasetPtr images = chosen_images(a.measured, model);
  std::vector<Layer> layers;
  with_progress(model, images, globals.quiet || a.measured.json, [&](const analysis::ImagesDone& done) {
    layers = analysis::attention_by_distance(model, images, done);
  });
  check_numbers(layers);
  const auto patches = static_cast<double>(layers.front().front().size());
  std::vector<Fitted> all;
  for (const Shape& shape : kShapes)
    all.push_back(fitted(shape, layers, static_cast<int64_t>(share * patches * patches)));
  for (const Fitted& f : all)
    if (f.shape == a.shape) write_file_atomically(a.output, to_text(f.offsets));
  const auto count = static_cast<int64_t>(images->size());
  if (a.measured.json)
    print_json(fit_json(all, a, count));
  else if (!globals.quiet)
    fmt::print("{}", fit_text(all, a, count));
}

}  // namespace fib::cli
