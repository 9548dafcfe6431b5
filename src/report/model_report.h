// SPDX-License-Identifier: Apache-2.0
// What commands say of a model: its answers, its accuracy and its speed, whatever computes it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/benchmarks.h"
#include "prediction/accuracy.h"
#include "report/plot.h"

namespace fib::report {

// ---- fib classify and fib eval

/// How images become the input of a model, and what says so.
nlohmann::ordered_json input_json(const prediction::ModelInfo& info);

nlohmann::ordered_json classified_json(const ClassifiedImage& image);
std::string classified_text(const ClassifiedImage& image);
/// "image,rank,class,label,probability,logit", and the lines of an image below it, as RFC 4180 writes them.
std::string classified_csv_header();
std::string classified_csv(const ClassifiedImage& image);
/// "vit_tiny_patch16_224, full attention; input 224 x 224, …"
std::string model_line(const prediction::ModelInfo& info);

struct EvaluationReport {
  const prediction::ModelInfo& model;
  std::string data;
  prediction::Accuracy accuracy;
};
nlohmann::ordered_json evaluation_json(const EvaluationReport& report);
std::string evaluation_text(const EvaluationReport& report);

// ---- fib bench model

struct ModelBenchReport {
  std::string machine;
  int64_t threads = 1;
  std::vector<bench::ModelBenchRow> rows;
};

nlohmann::ordered_json model_bench_json(const ModelBenchReport& report);
std::string model_bench_text(const ModelBenchReport& report);
/// Time and memory against the resolution, two panels for each pass.
LinePlot model_bench_plot(const ModelBenchReport& report);

}  // namespace fib::report
