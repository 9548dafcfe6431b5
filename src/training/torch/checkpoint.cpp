// SPDX-License-Identifier: Apache-2.0
#include "training/torch/checkpoint.h"

#include <torch/serialize.h>

#include <exception>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/atomic_file.h"
#include "base/json.h"

namespace fib::training {
namespace {

constexpr int64_t kFormat = 2;

torch::serialize::OutputArchive pack(const Checkpoint& c) {
  torch::serialize::OutputArchive archive;
  archive.write("format", c10::IValue(kFormat));
  archive.write("config", c10::IValue(c.config));
  archive.write("run", c10::IValue(to_json(c.run).dump()));
  archive.write("values", c.values, true);
  nlohmann::json memory = nlohmann::json::array();
  for (const auto& [name, tensor] : c.optimizer.memory) {
    memory.push_back(name);
    archive.write("optimizer." + name, tensor, true);
  }
  archive.write("optimizer", c10::IValue(memory.dump()));
  if (c.hook.defined()) archive.write("hook", c.hook, true);
  if (c.optimizer.average.defined()) archive.write("average", c.optimizer.average, true);
  return archive;
}

c10::IValue value_of(torch::serialize::InputArchive& archive, const std::string& key) {
  c10::IValue value;
  archive.read(key, value);
  return value;
}

at::Tensor tensor_of(torch::serialize::InputArchive& archive, const std::string& key) {
  at::Tensor tensor;
  archive.read(key, tensor, true);
  return tensor;
}

Checkpoint unpack(torch::serialize::InputArchive& archive) {
  if (value_of(archive, "format").toInt() != kFormat) throw std::runtime_error("it was written by another version");
  Checkpoint c;
  c.config = value_of(archive, "config").toStringRef();
  c.run = run_state_from_json(nlohmann::json::parse(value_of(archive, "run").toStringRef()));
  c.optimizer.steps = c.run.step;
  c.values = tensor_of(archive, "values");
  for (const std::string name : nlohmann::json::parse(value_of(archive, "optimizer").toStringRef()))
    c.optimizer.memory.emplace_back(name, tensor_of(archive, "optimizer." + name));
  at::Tensor average, hook;
  if (archive.try_read("hook", hook, true)) c.hook = hook;
  if (archive.try_read("average", average, true)) c.optimizer.average = average;
  return c;
}

nlohmann::json tally_json(const Tally& tally) { return {{"loss", tally.loss}, {"steps", tally.steps}}; }

Tally tally_of(const nlohmann::json& json) { return {json.at("loss"), json_integer(json, "steps")}; }

}  // namespace

nlohmann::json to_json(const RunState& p) {
  return {{"step", p.step},
          {"evaluated_epochs", p.evaluated_epochs},
          {"window", tally_json(p.window)},
          {"epoch", tally_json(p.epoch)},
          {"train_seconds", p.train_seconds},
          {"best", {{"weights", p.best.weights}, {"epoch", p.best.epoch}, {"score", p.best.score}}},
          {"log", {{"metrics", p.log.metrics}, {"events", p.log.events}}}};
}

RunState run_state_from_json(const nlohmann::json& json) {
  const auto& best = json.at("best");
  const auto& log = json.at("log");
  return {.step = json_integer(json, "step"),
          .evaluated_epochs = json_integer(json, "evaluated_epochs"),
          .window = tally_of(json.at("window")),
          .epoch = tally_of(json.at("epoch")),
          .train_seconds = json.at("train_seconds"),
          .best = {best.at("weights"), json_integer(best, "epoch"), best.at("score")},
          .log = {log.at("metrics"), log.at("events")}};
}

void save_checkpoint(const std::filesystem::path& file, const Checkpoint& checkpoint) {
  AtomicFile out(file);
  torch::serialize::OutputArchive archive = pack(checkpoint);
  // torch's writer ends the program when its sink throws, so an error waits until it is done.
  std::exception_ptr failure;
  archive.save_to([&](const void* data, size_t bytes) {
    try {
      if (!failure) out.write(data, bytes);
    } catch (...) {
      failure = std::current_exception();
    }
    return bytes;
  });
  if (failure) std::rethrow_exception(failure);
  out.commit();
}

Checkpoint load_checkpoint(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) throw std::runtime_error("there is no checkpoint '" + file.string() + "'");
  try {
    torch::serialize::InputArchive archive;
    archive.load_from(file.string());
    return unpack(archive);
  } catch (const std::exception& error) {
    const std::string text = error.what();
    throw std::runtime_error("cannot read the checkpoint '" + file.string() + "': " + text.substr(0, text.find('\n')));
  }
}

}  // namespace fib::training
