// SPDX-License-Identifier: Apache-2.0
#include "prediction/predictor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>
#include <stdexcept>

#include "base/read_file.h"
#include "base/text.h"
#include "data/folder_dataset.h"

namespace fib::prediction {

std::string ModelInfo::input_text() const {
  const int64_t shorter = shorter_side(view.input_size, view.crop_ratio);
  const std::string frame = view.views > 1 ? fmt::format("{} squares along a shorter side of {}", view.views, shorter)
                            : shorter == view.input_size ? "whole images"
                                                         : fmt::format("cut from a shorter side of {}", shorter);
  const std::string clip =
      view.clip.frames > 0 ? fmt::format("{} frames of each clip, one in {}/30 s, ", view.clip.frames, view.clip.rate)
                           : "";
  return fmt::format("{}{} x {}, {}, {}, mean {}, deviation {} (as {} say{})", clip, view.input_size, view.input_size,
                     view.channels == 1 ? "grey" : "color", frame, fmt::join(view.mean, " "), fmt::join(view.std, " "),
                     view_source, view_source.ends_with("s") ? "" : "s");
}

void Predictor::set_class_names(std::vector<std::string> names) {
  if (!names.empty() && static_cast<int64_t>(names.size()) != info_.classes)
    throw std::runtime_error(fmt::format("{} classes are named, the model has {}", names.size(), info_.classes));
  info_.class_names = std::move(names);
}

std::vector<float> Predictor::logits(std::span<const float> inputs) {
  std::vector<float> rows = forward(inputs);  // [samples·views,classes]
  const auto views = static_cast<size_t>(info_.view.views), classes = static_cast<size_t>(info_.classes);
  if (views == 1) return rows;
  std::vector<float> means(rows.size() / views);
  for (size_t i = 0; i < rows.size(); ++i) means[i / (views * classes) * classes + i % classes] += rows[i];
  for (float& mean : means) mean /= static_cast<float>(views);
  return means;
}

void check_input_shape(const std::vector<int64_t>& shape, const std::string& file) {
  if ((shape.size() == 4 || shape.size() == 5) && std::ranges::find(shape, 0) == shape.end()) return;
  throw std::runtime_error(
      fmt::format("{} must hold images [B,C,H,W] or clips [B,C,T,H,W], got [{}]", file, fmt::join(shape, ",")));
}

int64_t shorter_side(int64_t crop, double crop_ratio) {
  // An error of representation is undone: 224 / 0.875 is 256.
  return static_cast<int64_t>(std::floor(static_cast<double>(crop) / crop_ratio + 1e-9));
}

double crop_ratio_for(int64_t shorter, int64_t crop) {
  if (shorter < crop)
    throw std::invalid_argument(fmt::format("--resize must be at least the crop of {}, got {}", crop, shorter));
  // Rounding down must give the shorter side back.
  return static_cast<double>(crop) / (static_cast<double>(shorter) + 0.5);
}

std::vector<std::string> files_of(const std::vector<std::string>& named, bool clips) {
  const FileKinds& kinds = clips ? clip_files() : image_files();
  std::vector<std::string> files;
  for (const std::string& name : named) {
    std::error_code unreadable;
    if (!std::filesystem::is_directory(name, unreadable)) {
      files.push_back(name);
      continue;
    }
    std::map<std::string, size_t> skipped;
    const auto found = find_files(name, kinds, skipped);
    if (found.empty())
      throw std::runtime_error(
          fmt::format("no {} below the folder {}: read are {}", kinds.what, in_quotes(name), joined(kinds.read)));
    for (const std::filesystem::path& file : found) files.push_back(file.string());
  }
  return files;
}

std::vector<std::string> read_file_list(const std::string& list) {
  constexpr size_t kLongest = size_t{1} << 28;  // a million names take a third of it
  std::vector<std::string> files;
  std::istringstream lines(read_file(list, kLongest));
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) files.push_back(line);
  }
  if (files.empty()) throw std::runtime_error(fmt::format("the list {} names no file", in_quotes(list)));
  return files;
}

std::vector<ClassifiedImage> classify_files(Predictor& predictor, const std::vector<std::string>& files, int64_t top) {
  const ModelInfo& info = predictor.info();
  const Pipeline pipeline(info.view);
  std::vector<ClassifiedImage> results;
  std::vector<float> inputs;
  for (const std::string& file : files) {
    results.push_back({file});
    try {
      std::vector<float> pixels(pipeline.values());
      CounterRng unused(0);
      pipeline.apply(read_sample(file, info.view.clip), unused, pixels.data());
      inputs.insert(inputs.end(), pixels.begin(), pixels.end());
    } catch (const std::exception& error) {
      results.back().error = error.what();
    }
  }
  if (inputs.empty()) return results;
  const std::vector<float> logits = predictor.logits(inputs);
  std::span<const float> left = logits;
  const auto classes = static_cast<size_t>(info.classes);
  for (ClassifiedImage& result : results) {
    if (!result.error.empty()) continue;
    result.top = best_classes(left.first(classes), top, info.class_names);
    left = left.subspan(classes);
  }
  return results;
}

}  // namespace fib::prediction
