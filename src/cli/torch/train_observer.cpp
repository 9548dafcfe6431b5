// SPDX-License-Identifier: Apache-2.0
#include "cli/torch/train_observer.h"

#include <fmt/format.h>

#include "cli/stop_signals.h"
#include "report/words.h"

namespace fib::cli {

using report::grouped;

void TrainObserver::say(const std::string& line) {
  if (progress_) progress_->say(line);
}

void TrainObserver::started(const training::RunFacts& f) {
  images_ = f.first_step * f.batch;
  progress_ = std::make_unique<Progress>("images", f.steps * f.batch, quiet_, images_);
  say(fmt::format("{} with {}: {} parameters", f.model, f.attention, grouped(f.parameters)));
  say(fmt::format("{}: {} images to train on, {} to choose by, {} to test", f.data, grouped(f.train_images),
                  grouped(f.validation_images), grouped(f.test_images)));
  if (f.world > 1) say(fmt::format("{} processes", f.world));
  if (f.first_step > 0) say(fmt::format("continuing after step {} of {}", f.first_step, f.steps));
}

void TrainObserver::stepped(const training::StepFacts& f) {
  last_ = f;
  images_ += f.images;
  loss_ = loss_ == 0 ? f.loss : 0.95 * loss_ + 0.05 * f.loss;
  progress_->show(images_, fmt::format("epoch {} of {}, loss {:.3f}", f.epoch, f.epochs, loss_));
}

void TrainObserver::evaluating(const std::string& split, int64_t done, int64_t total) {
  progress_->show(images_, fmt::format("{}: {} of {}", split, done, total));
}

void TrainObserver::evaluated(const training::EvaluationFacts& f) {
  say(fmt::format("epoch {:>3}  {:<10} {:<5}  top-1 {:6.2f} %  loss {:.4f}{}", f.epoch, f.split, f.weights,
                  100 * f.result.top1, f.result.loss, f.best ? "  best so far" : ""));
}

void TrainObserver::noted(const std::string& line) { say(line); }

bool TrainObserver::wants_stop() { return StopSignals::received() != 0; }

}  // namespace fib::cli
