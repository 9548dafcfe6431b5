// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/export.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/atomic_file.h"
#include "cli/output.h"
#include "cli/standard_streams.h"
#include "cli/torch/subject_options.h"
#include "engine/onnx/export.h"
#include "engine/torch/record.h"
#include "report/words.h"

namespace fib::cli {
namespace {

engine::AttentionForm form_of(const std::string& name) {
  if (name == "gather") return engine::AttentionForm::gather;
  return name == "mask" ? engine::AttentionForm::mask : engine::AttentionForm::smaller;
}

void run(const ExportArguments& a, const Globals& globals) {
  training::ModelRequest request = model_request(a.subject);
  StandardStreams streams;
  const std::string out = streams.output("--out", a.output, ".onnx");
  check_ending("--out", out, ".onnx");
  check_writable(out);
  request.crop = a.resolution;
  request.without_images = true;
  const training::TrainedModel subject = open_subject(request, globals.quiet);
  engine::OnnxOptions options;
  options.opset = a.opset;
  options.attention = form_of(a.attention_as);
  options.metadata = {{"model", subject.model}, {"attention", subject.attention}, {"input", subject.input_text()}};
  engine::write_onnx(engine::record(*subject.module), out, options);
  say_written(out, globals.quiet || streams.output_used(),
              fmt::format("({} with {}, {})", subject.model, subject.attention,
                          report::bytes(static_cast<int64_t>(std::filesystem::file_size(out)))));
  streams.finish();
}

const TorchRunner<ExportArguments> export_runner(run);

}  // namespace
}  // namespace fib::cli
