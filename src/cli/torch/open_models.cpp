// SPDX-License-Identifier: Apache-2.0
#include "cli/torch/open_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "attention/registry.h"
#include "base/text.h"
#include "cli/output.h"

namespace fib::cli {
namespace {

using training::ModelRequest;
using training::TrainedModel;

/// As it is written after --attention; empty where nothing was said.
std::string attention_text(const AttentionArguments& a) {
  const bool shorthand = a.modified || !a.wmin.empty() || !a.wmax.empty();
  if (a.attention.empty() && !shorthand) return "";
  if (a.attention.empty())
    throw std::invalid_argument("--wmin, --wmax and --modified go with --attention, which is not given");
  const AttentionSpec spec = attention_spec(a);
  attention::check_spec(spec);
  return spec.to_string();
}

void check_channels(const char* name, const std::vector<float>& given) {
  if (given.size() <= 1 || given.size() == 3) return;
  throw std::invalid_argument(fmt::format("{} takes one number or three, R,G,B; got {}", name, given.size()));
}

/// Runs are told apart by their directories' names, or by the whole path where those agree.
void name_apart(std::vector<TrainedModel>& models, const std::vector<std::string>& paths) {
  for (size_t i = 0; i < models.size(); ++i) {
    const auto same = [&](const TrainedModel& other) { return other.name == models[i].name; };
    if (std::count_if(models.begin(), models.end(), same) > 1) models[i].name = paths[i];
  }
}

/// Lines that have been told already, of another run on the same images, are not repeated.
void tell(const TrainedModel& model, std::vector<std::string>& told) {
  std::vector<std::string> lines = model.contradictions;
  if (model.dataset) std::ranges::copy(model.dataset->info().notices, std::back_inserter(lines));
  for (const std::string& line : lines) {
    if (std::ranges::count(told, line) > 0) continue;
    say("fib: " + line);
    told.push_back(line);
  }
}

TrainedModel open_with_images(const ModelRequest& request, const ModelArguments& a) {
  if (request.run.empty() && request.data.empty())
    throw std::invalid_argument("on which images? Give --data KIND:PATH, or --run DIR, which has its own test set");
  TrainedModel model = training::open_model(request);
  model.batch = a.batch;
  return model;
}

}  // namespace

ModelRequest model_request(const ModelArguments& a) {
  if (a.runs.empty() && a.weights.empty())
    throw std::invalid_argument(
        "which model? Give --run DIR, or --weights F.safetensors (and --model, if they are of "
        "another program)");
  check_channels("--mean", a.mean);
  check_channels("--std", a.std);
  if (!a.model.empty()) models::find_row(a.model);
  ModelRequest request;
  if (!a.runs.empty()) request.run = a.runs.front();
  request.checkpoint = a.checkpoint;
  request.weights = a.weights;
  request.model = a.model;
  request.attention = attention_text(a.attention);
  request.attention_in = a.place.attention_in;
  request.attention_layers = a.place.attention_layers;
  request.tokens = a.place.tokens;
  request.data = a.data;
  request.resize = a.resize;
  request.crop = a.crop;
  request.mean = a.mean;
  request.std = a.std;
  return request;
}

TrainedModel open_model(const ModelRequest& request, bool quiet) {
  TrainedModel model = training::open_model(request);
  std::vector<std::string> told;
  if (!quiet) tell(model, told);
  return model;
}

std::vector<TrainedModel> open_models(const ModelArguments& a, bool quiet) {
  ModelRequest request = model_request(a);
  std::vector<TrainedModel> models;
  if (a.runs.empty()) models.push_back(open_with_images(request, a));
  for (const std::string& run : a.runs) {
    request.run = run;
    models.push_back(open_with_images(request, a));
  }
  name_apart(models, a.runs);
  std::vector<std::string> told;
  for (const TrainedModel& model : models)
    if (!quiet) tell(model, told);
  return models;
}

std::string inputs_text(const std::vector<TrainedModel>& models) {
  const std::string first = models.front().input_text();
  const auto same = [&](const TrainedModel& model) { return model.input_text() == first; };
  if (std::ranges::all_of(models, same)) return fmt::format("Input: {}.\n", first);
  std::string text;
  for (const TrainedModel& model : models)
    text += fmt::format("Input of {}: {}.\n", printable(model.name, kLongestQuote), model.input_text());
  return text;
}

}  // namespace fib::cli
