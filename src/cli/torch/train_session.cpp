// SPDX-License-Identifier: Apache-2.0
#include "cli/torch/train_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/read_file.h"
#include "base/text.h"
#include "cli/app.h"
#include "cli/output.h"
#include "cli/stop_signals.h"
#include "cli/torch/train_observer.h"
#include "robots/torch/cloning.h"
#include "sequences/torch/tasks.h"

namespace fib::cli {
namespace {

/// Those that prepare images among them, so that a run for which there are too few leaves nothing behind.
void use_threads(const training::Recipe& recipe) {
  use_torch_threads(recipe.run.threads, std::max<int64_t>(1, recipe.data.workers));
}

/// Others that are lost because a signal ended the waiting for them are no failure.
void end_if_stopped(const training::LostRank& error, const CancelToken& cancel) {
  if (!cancel.requested()) return;
  say(error.what());
  throw Exit{128 + cancel.signal()};
}

}  // namespace

std::vector<training::TaskRow> all_tasks() {
  std::vector<training::TaskRow> tasks = training::classification_tasks();
  for (const auto& room : {robots::cloning_tasks(), sequences::sequence_tasks()})
    tasks.insert(tasks.end(), room.begin(), room.end());
  return tasks;
}

training::Session open_session(const TrainArguments& a, const Globals& globals, CancelSource& cancel) {
  const StopSignals signals(cancel, "stopping: no step has been taken yet\n");
  try {
    return {{.out = a.out,
             .resume = a.resume,
             .threads = globals.threads_given ? globals.threads : 0,
             .base = a.base,
             .result = a.result,
             .build = version_text() + " with torch " TORCH_VERSION,
             .tasks = all_tasks(),
             .asked = [&a](const training::Recipe& base) { return recipe_of(a.recipe, base); }},
            training::Launch::from_environment(),
            {.peer_timeout = a.peer_timeout,
             .cancel = cancel.token(),
             .tell = [quiet = globals.quiet](const std::string& line) {
               if (!quiet) say(line);
             }}};
  } catch (const training::LostRank& error) {
    end_if_stopped(error, cancel.token());
    throw;
  }
}

void run_session(training::Session& session, const TrainArguments& a, CancelSource& cancel, bool quiet) {
  if (session.is_finished()) {
    if (session.is_first() && !quiet) say(fmt::format("the run in '{}' is finished: nothing was changed", a.out));
    return;
  }
  if (session.is_first() && !quiet) say_matched_pairs(a.recipe, session.recipe());
  use_threads(session.recipe());
  TrainObserver observer(quiet || !session.is_first());
  session.prepare(observer);
  // Until here there was nothing to save, and a signal ended the program at once.
  const StopSignals signals(cancel, "stopping: the step under way is finished and saved\n");
  try {
    if (session.run() == training::Trainer::Outcome::finished) return;
  } catch (const training::LostRank& error) {
    end_if_stopped(error, cancel.token());
    throw;
  }
  if (session.is_first())
    say(fmt::format("stopped after step {} of {}, saved; continue with: fib {} --out {} --resume",
                    session.trainer().state().step, session.trainer().total_steps(), a.command, shell_word(a.out)));
  throw Exit{128 + std::max(1, cancel.token().signal())};
}

void tell_again(const training::Session& session, const TrainArguments& a) {
  if (!a.json) return;
  print_json(parse_json<nlohmann::ordered_json>(read_file(session.files().root / a.result, kMaxRecordBytes)));
}

}  // namespace fib::cli
