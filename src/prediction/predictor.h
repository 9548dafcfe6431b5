// SPDX-License-Identifier: Apache-2.0
// A classifier, whatever computes it: a LibTorch model (training/torch/trained_model.h) or a compiled one
// (engine_predictor.h). What evaluates and classifies is written against this.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/npy.h"
#include "data/labels.h"
#include "data/pipeline.h"

namespace fib::prediction {

/// What a classifier is, and how an image becomes its input.
struct ModelInfo {
  std::string model = {}, attention = {};
  std::string precision = "f32";
  int64_t classes = 0;
  PipelineConfig view{};
  std::string view_source = {};               ///< where the view comes from: "the weights", "the command line"
  std::vector<std::string> class_names = {};  ///< empty: unknown

  /// "28 x 28, grey, whole images, mean 0.286, deviation 0.353 (as the weights say)"
  std::string input_text() const;
};

struct Logits {
  std::vector<int64_t> shape;  ///< [B,classes]
  std::variant<std::vector<float>, std::vector<double>> values;
};

class Predictor {
 public:
  explicit Predictor(ModelInfo info) : info_(std::move(info)) {}
  virtual ~Predictor() = default;
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;

  const ModelInfo& info() const { return info_; }
  /// Throws std::runtime_error where there are more or fewer names than classes.
  void set_class_names(std::vector<std::string> names);

  /// Logits [samples,classes] of what Pipeline(info().view) writes: of each sample the mean over its views.
  std::vector<float> logits(std::span<const float> inputs);
  /// Logits of preprocessed images [B,C,h,w] or clips [B,C,T,h,w], `batch` at a time. Throws std::runtime_error for
  /// another shape.
  virtual Logits infer(const NpyArray& input, int64_t batch) = 0;

 protected:
  /// One row of logits for each view.
  virtual std::vector<float> forward(std::span<const float> inputs) = 0;

  ModelInfo info_;
};

/// Throws std::runtime_error unless they are images [B,C,h,w] or clips [B,C,T,h,w]; `file` is for the message.
void check_input_shape(const std::vector<int64_t>& shape, const std::string& file);

/// The shorter side that an image is resized to before a square of `crop` is cut from it.
int64_t shorter_side(int64_t crop, double crop_ratio);
/// The crop ratio for which shorter_side gives `shorter`. Throws std::invalid_argument where it is below the crop.
double crop_ratio_for(int64_t shorter, int64_t crop);

/// Files as they are named, and in place of each folder all images below it, or all videos. Throws std::runtime_error
/// where a folder has none.
std::vector<std::string> files_of(const std::vector<std::string>& named, bool clips);
/// The lines of a list of files, without empty ones.
std::vector<std::string> read_file_list(const std::string& list);

/// The most probable classes of each file, `top` of them; a file that cannot be read has an error instead.
std::vector<ClassifiedImage> classify_files(Predictor& predictor, const std::vector<std::string>& files, int64_t top);

}  // namespace fib::prediction
