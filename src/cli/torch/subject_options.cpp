// SPDX-License-Identifier: Apache-2.0
#include "cli/torch/subject_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "attention/registry.h"
#include "base/printable.h"
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
void name_apart(std::vector<TrainedModel>& subjects, const std::vector<std::string>& paths) {
  for (size_t i = 0; i < subjects.size(); ++i) {
    const auto same = [&](const TrainedModel& other) { return other.name == subjects[i].name; };
    if (std::count_if(subjects.begin(), subjects.end(), same) > 1) subjects[i].name = paths[i];
  }
}

/// Lines that have been told already, of another run on the same images, are not repeated.
void tell(const TrainedModel& subject, std::vector<std::string>& told) {
  std::vector<std::string> lines = subject.contradictions;
  if (subject.dataset) std::ranges::copy(subject.dataset->info().notices, std::back_inserter(lines));
  for (const std::string& line : lines) {
    if (std::ranges::count(told, line) > 0) continue;
    say("fib: " + line);
    told.push_back(line);
  }
}

TrainedModel open_with_images(const ModelRequest& request, const SubjectArguments& a) {
  if (request.run.empty() && request.data.empty())
    throw std::invalid_argument("on which images? Give --data KIND:PATH, or --run DIR, which has its own test set");
  TrainedModel subject = training::open_model(request);
  subject.batch = a.batch;
  return subject;
}

}  // namespace

ModelRequest model_request(const SubjectArguments& a) {
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
  request.data = a.data;
  request.resize = a.resize;
  request.crop = a.crop;
  request.mean = a.mean;
  request.std = a.std;
  return request;
}

TrainedModel open_subject(const ModelRequest& request, bool quiet) {
  TrainedModel subject = training::open_model(request);
  std::vector<std::string> told;
  if (!quiet) tell(subject, told);
  return subject;
}

std::vector<TrainedModel> open_subjects(const SubjectArguments& a, bool quiet) {
  ModelRequest request = model_request(a);
  std::vector<TrainedModel> subjects;
  if (a.runs.empty()) subjects.push_back(open_with_images(request, a));
  for (const std::string& run : a.runs) {
    request.run = run;
    subjects.push_back(open_with_images(request, a));
  }
  name_apart(subjects, a.runs);
  std::vector<std::string> told;
  for (const TrainedModel& subject : subjects)
    if (!quiet) tell(subject, told);
  return subjects;
}

std::string inputs_text(const std::vector<TrainedModel>& subjects) {
  const std::string first = subjects.front().input_text();
  const auto same = [&](const TrainedModel& subject) { return subject.input_text() == first; };
  if (std::ranges::all_of(subjects, same)) return fmt::format("Input: {}.\n", first);
  std::string text;
  for (const TrainedModel& subject : subjects)
    text += fmt::format("Input of {}: {}.\n", printable(subject.name, kLongestQuote), subject.input_text());
  return text;
}

}  // namespace fib::cli
