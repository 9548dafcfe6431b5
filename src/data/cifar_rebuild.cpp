// SPDX-License-Identifier: Apache-2.0
#include "data/cifar_rebuild.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <opencv2/imgcodecs.hpp>
#include <stdexcept>

#include "base/atomic_file.h"
#include "data/cifar.h"
#include "data/registry/packed_file.h"

namespace fib {
namespace {

std::vector<uint8_t> read_label_list(const std::filesystem::path& file, size_t expected) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error(file.string() + ": cannot be opened");
  const auto json = nlohmann::json::parse(in, nullptr, false);
  if (!json.is_array() || json.size() != expected)
    throw std::runtime_error(file.string() + ": expected a JSON list of " + std::to_string(expected) + " labels");
  std::vector<uint8_t> labels;
  for (const auto& label : json) {
    if (!label.is_number_integer() || label < 0 || label > 9)
      throw std::runtime_error(file.string() + ": entry " + std::to_string(labels.size()) + " is " + label.dump() +
                               ", accepted are 0 to 9");
    labels.push_back(label.get<uint8_t>());
  }
  return labels;
}

cv::Mat read_png(const std::filesystem::path& file) {
  cv::Mat image = cv::imread(file.string(), cv::IMREAD_COLOR);
  if (image.empty()) throw std::runtime_error(file.string() + ": cannot be read as an image");
  if (image.rows != static_cast<int>(kCifarBatch) || image.cols != static_cast<int>(kCifarPixels))
    throw std::runtime_error(file.string() + ": " + std::to_string(image.cols) + " by " + std::to_string(image.rows) +
                             " pixels, expected 1024 by 10000");
  return image;
}

/// Records of a label and the planes R, G, B; OpenCV holds a pixel as B, G, R.
std::vector<uint8_t> records(const cv::Mat& image, std::span<const uint8_t> labels) {
  std::vector<uint8_t> out;
  out.reserve(labels.size() * (1 + 3 * kCifarPixels));
  for (size_t i = 0; i < labels.size(); ++i) {
    out.push_back(labels[i]);
    const uint8_t* row = image.ptr<uint8_t>(static_cast<int>(i));
    for (size_t c = 0; c < 3; ++c)
      for (size_t p = 0; p < kCifarPixels; ++p) out.push_back(row[3 * p + 2 - c]);
  }
  return out;
}

void write_whole(const std::filesystem::path& file, const std::vector<uint8_t>& content) {
  AtomicFile out(file);
  out.write(content.data(), content.size());
  out.commit();
}

}  // namespace

std::vector<std::string> rebuild_cifar10(const std::filesystem::path& pngs, const std::filesystem::path& out) {
  const auto files = dataset_row("cifar10").files;
  const size_t training_files = files.size() - 1;
  std::vector<uint8_t> labels = read_label_list(pngs / "train_lables.json", training_files * kCifarBatch);
  const auto test_labels = read_label_list(pngs / "test_lables.json", kCifarBatch);
  labels.insert(labels.end(), test_labels.begin(), test_labels.end());
  std::filesystem::create_directories(out);
  std::vector<std::string> written;
  for (size_t f = 0; f < files.size(); ++f) {
    const std::filesystem::path target = out / files[f].name;
    const cv::Mat image = read_png(pngs / target.filename().replace_extension(".png"));
    const auto content = records(image, std::span(labels).subspan(f * kCifarBatch, kCifarBatch));
    check_md5(target, content, files[f].md5);
    write_whole(target, content);
    written.push_back(target.string());
  }
  return written;
}

}  // namespace fib
