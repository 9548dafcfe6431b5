// SPDX-License-Identifier: Apache-2.0
#include "cli/torch/train_observer.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/text.h"

namespace fib::cli {

using report::grouped;

double TrainObserver::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

void TrainObserver::tell_of_evaluations() {
  const auto trained = static_cast<double>(std::max<int64_t>(1, samples_ - first_sample_));
  const double each = (seconds() - evaluations_.taken()) / trained;
  progress_->other_work(evaluations_.taken(), evaluations_.to_come(each));
}

void TrainObserver::say(const std::string& line) {
  if (progress_) progress_->say(line);
}

void TrainObserver::started(const training::RunFacts& f) {
  first_sample_ = samples_ = f.first_step * f.batch;
  begin_ = std::chrono::steady_clock::now();
  evaluations_ = training::EvaluationClock(f.evaluation_samples);
  progress_ = std::make_unique<ProgressBar>(f.samples, f.steps * f.batch, quiet_, samples_);
  say(fmt::format("{} with {}: {} parameters", f.model, f.attention, grouped(f.parameters)));
  const std::string evaluation_unit = f.evaluation_unit == f.samples ? "" : " " + f.evaluation_unit;
  say(fmt::format("{}: {} {} to train on, {}{} to choose by, {} to test", f.data, grouped(f.train_samples), f.samples,
                  grouped(f.validation_samples), evaluation_unit, grouped(f.test_samples)));
  for (const std::string& notice : f.notices) say(notice);
  if (f.world > 1) say(fmt::format("{} processes", f.world));
  if (f.first_step > 0) say(fmt::format("continuing after step {} of {}", f.first_step, f.steps));
}

void TrainObserver::stepped(const training::StepFacts& f) {
  samples_ += f.samples;
  // An evaluation begins now if it does.
  evaluations_.advance(0, seconds());
  tell_of_evaluations();
  loss_ = loss_ == 0 ? f.loss : 0.95 * loss_ + 0.05 * f.loss;
  progress_->show(samples_, fmt::format("epoch {} of {}, loss {:.3f}", f.epoch, f.epochs, loss_));
}

void TrainObserver::evaluating(const std::string& split, int64_t done, int64_t total) {
  evaluations_.advance(done, seconds());
  tell_of_evaluations();
  progress_->show(samples_, fmt::format("{}: {} of {}", split, done, total));
}

void TrainObserver::evaluated(const training::EvaluationFacts& f) {
  std::string line = fmt::format("epoch {:>3}  {:<10} {:<5}", f.epoch, f.split, f.weights);
  for (const training::Metric& metric : f.result.metrics) {
    const training::MetricStyle style = training::metric_style(metric.name);
    if (style.brief) line += fmt::format("  {} {:>{}}", style.label, metric_text(metric), style.percent ? 8 : 0);
  }
  say(line + (f.best ? "  best so far" : ""));
}

void TrainObserver::noted(const std::string& line) { say(line); }

}  // namespace fib::cli
