// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/classify.h"

#include <fmt/format.h>

#include "cli/classified.h"
#include "cli/engine/engine_model.h"
#include "cli/threads.h"

namespace fib::cli {
namespace {

ClassifiedImage classify_file(EngineModel& model, const Pipeline& pipeline, const std::string& file, int64_t top) {
  ClassifiedImage result{file};
  try {
    std::vector<float> pixels(pipeline.values());
    CounterRng unused(0);
    pipeline.apply(read_sample(file, model.view.clip), unused, pixels.data());
    result.top = best_classes(model.logits(pixels), top, model.class_names);
  } catch (const std::exception& error) {
    result.error = error.what();
  }
  return result;
}

}  // namespace

void classify_with_engine(const ClassifyArguments& a, const Globals& globals) {
  use_threads(globals);
  const bool text = !a.json && !globals.quiet;
  EngineModel model(a.engine, a.subject);
  if (!a.labels.empty()) model.class_names = read_class_names(a.labels, model.classes());
  const Pipeline pipeline(model.view);
  auto json = nlohmann::ordered_json::array();
  size_t classified = 0;
  StandardStreams streams;
  for (const std::string& file : image_files(streams, a.images))
    classified += show_classified({classify_file(model, pipeline, file, a.top)}, streams, text, json);
  if (a.json) print_json(json);
  if (text)
    fmt::print("{}, {} attention, {}; input {}\n", model.model, model.attention, name_of(model.content().precision),
               model.input_text());
  check_all_classified(classified, a.images.size());
}

}  // namespace fib::cli
