// SPDX-License-Identifier: Apache-2.0
// classify, eval and infer with LibTorch: the model that was asked for, and then what commands/predict.cpp does.
#include "cli/commands/trained.h"
#include "cli/torch/open_models.h"

namespace fib::cli {

using training::TorchPredictor;
using training::TrainedModel;

void run(const ClassifyArguments& a, const Globals& globals) {
  training::ModelRequest request = model_request(a.model);
  request.without_images = true;
  const TrainedModel model = open_model(request, globals.quiet);
  TorchPredictor predictor(model);
  classify(predictor, a, globals);
}

void run(const EvalArguments& a, const Globals& globals) {
  const TrainedModel model = open_models(a.model, globals.quiet).front();
  TorchPredictor predictor(model);
  evaluate(predictor, model.dataset, model.data, a, globals);
}

void run(const InferArguments& a, const Globals& globals) {
  training::ModelRequest request = model_request(a.model);
  request.without_images = true;
  request.double_precision = a.dtype == "f64";
  TrainedModel model;
  infer(a, globals, [&](const std::vector<int64_t>& shape) {
    request.input = training::InputShape{shape[1], shape[shape.size() - 2], shape.back()};
    if (shape.size() == 5) request.input->frames = shape[2];
    model = open_model(request, globals.quiet);
    return std::make_unique<TorchPredictor>(model);
  });
}

}  // namespace fib::cli
