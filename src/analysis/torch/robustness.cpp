// SPDX-License-Identifier: Apache-2.0
#include "analysis/torch/robustness.h"

#include <filesystem>

#include "data/corruptions/corruption.h"
#include "data/registry/datasets.h"
#include "training/torch/classification.h"

namespace fib::analysis {
namespace {

using training::TrainedModel;

std::string published_folder(const CorruptionSets& sets, const TrainedModel& subject) {
  if (!sets.published.empty()) return sets.published;
  const std::map<std::string, std::string> known = {{"cifar10", "CIFAR-10-C"}, {"cifar100", "CIFAR-100-C"}};
  const auto found = known.find(subject.dataset->info().name);
  if (found == known.end()) return "";
  const std::filesystem::path folder = data_root() / found->second;
  return std::filesystem::is_directory(folder) ? folder.string() : "";
}

DatasetPtr corrupted(const TrainedModel& subject, const std::string& folder, const corruptions::Corruption& c) {
  if (folder.empty()) return std::make_shared<corruptions::CorruptedDataset>(subject.dataset, c);
  return std::make_shared<corruptions::PublishedDataset>(subject.dataset, corruptions::published_file(folder, c.name),
                                                         c.severity);
}

double top1_on(const TrainedModel& subject, const DatasetPtr& images, int64_t count) {
  training::ProcessGroup alone;
  const DatasetPtr chosen = training::evenly_chosen(images, static_cast<size_t>(count));
  return training::measure_accuracy(*subject.module, *subject.loader(chosen), alone).top1;
}

}  // namespace

double Robustness::mean_of(const std::string& corruption) const {
  double sum = 0;
  for (const auto& [severity, value] : top1.at(corruption)) sum += value;
  return sum / static_cast<double>(top1.at(corruption).size());
}

double Robustness::mean_at(int64_t severity) const {
  double sum = 0;
  for (const auto& [name, by_severity] : top1) sum += by_severity.at(severity);
  return sum / static_cast<double>(top1.size());
}

double Robustness::mean() const {
  double sum = 0;
  for (const auto& [name, by_severity] : top1) sum += mean_of(name);
  return sum / static_cast<double>(top1.size());
}

Robustness measure_robustness(const TrainedModel& subject, const CorruptionSets& sets, const SetsDone& done) {
  prediction::check_labels(*subject.dataset, subject.info().classes);
  Robustness r;
  r.source = published_folder(sets, subject);
  r.images = std::min(sets.images, static_cast<int64_t>(subject.dataset->size()));
  r.clean = top1_on(subject, subject.dataset, sets.images);
  int64_t count = 0;
  for (const std::string& name : sets.corruptions) {
    for (int64_t severity : sets.severities) {
      const corruptions::Corruption c{name, static_cast<int>(severity), static_cast<uint64_t>(sets.seed)};
      r.top1[name][severity] = top1_on(subject, corrupted(subject, r.source, c), sets.images);
      if (done) done(++count, name);
    }
  }
  return r;
}

}  // namespace fib::analysis
