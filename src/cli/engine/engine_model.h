// SPDX-License-Identifier: Apache-2.0
// A compiled model as commands use it: the engine, and how images become its input.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/subject_options.h"
#include "data/pipeline.h"
#include "engine/engine.h"

namespace fib::cli {

class EngineModel {
 public:
  explicit EngineModel(const std::string& file);
  /// What a person says of preprocessing goes before what the file tells.
  EngineModel(const std::string& file, const SubjectArguments& arguments);

  std::string model, attention, data;
  PipelineConfig view;
  std::string view_source = "the file";
  std::vector<std::string> class_names;

  int64_t classes() const { return program().classes; }
  const engine::FibContent& content() const { return engine_.content(); }
  /// The one for the size of the view.
  const engine::Program& program() const { return engine_.program(view.input_size, view.input_size); }
  std::string input_text() const;
  engine::Engine& engine() { return engine_; }
  /// Logits [samples, classes] of what a pipeline with this view writes: of each sample the mean over its views.
  std::vector<float> logits(std::span<const float> samples);

 private:
  engine::Engine engine_;
};

}  // namespace fib::cli
