// SPDX-License-Identifier: Apache-2.0
#include "cli/train_pool.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <map>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "cli/stop_signals.h"

extern char** environ;

namespace fib::cli {
namespace {

/// Output to a file, and default answers to the signals that the parent only notes.
class SpawnSettings {
 public:
  explicit SpawnSettings(const std::filesystem::path& log) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
    posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, STDERR_FILENO);
    posix_spawnattr_init(&attributes_);
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGINT);
    sigaddset(&defaults, SIGTERM);
    posix_spawnattr_setsigdefault(&attributes_, &defaults);
    // A group of its own: Ctrl-C reaches it through the parent, once.
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

pid_t start(const TrainJob& job) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  std::vector<std::string> words = {program};
  words.insert(words.end(), job.arguments.begin(), job.arguments.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const SpawnSettings settings(job.log);
  pid_t child = 0;
  const int error =
      posix_spawn(&child, program.c_str(), settings.actions(), settings.attributes(), argv.data(), environ);
  if (error != 0) throw std::runtime_error("cannot start " + program + ": " + std::generic_category().message(error));
  return child;
}

int exit_code(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

class Pool {
 public:
  Pool(const std::vector<TrainJob>& jobs, const JobStarted& started, const JobEnded& ended)
      : jobs_(jobs), started_(started), ended_(ended) {}

  /// Nobody is left behind, also when something is thrown.
  ~Pool() {
    for (const auto& [child, job] : running_) kill(child, SIGTERM);
    while (!running_.empty()) {
      const pid_t child = waitpid(-1, nullptr, 0);
      if (child < 0 && errno != EINTR) break;
      running_.erase(child);
    }
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  PoolOutcome run(size_t width) {
    while (next_ < jobs_.size() || !running_.empty()) {
      if (StopSignals::received() != 0) return stop();
      while (next_ < jobs_.size() && running_.size() < width) begin_next();
      collect();
    }
    return PoolOutcome::finished;
  }

 private:
  void begin_next() {
    running_[start(jobs_[next_])] = next_;
    started_(next_++);
  }

  /// Waits a moment, then takes note of who has ended.
  void collect() {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    int status = 0;
    for (pid_t child = 0; (child = waitpid(-1, &status, WNOHANG)) > 0;) {
      const auto found = running_.find(child);
      if (found == running_.end()) continue;
      const size_t job = found->second;
      running_.erase(found);
      ended_(job, exit_code(status));
    }
  }

  PoolOutcome stop() {
    for (const auto& [child, job] : running_) kill(child, StopSignals::received());
    while (!running_.empty()) collect();
    return PoolOutcome::stopped;
  }

  const std::vector<TrainJob>& jobs_;
  const JobStarted& started_;
  const JobEnded& ended_;
  std::map<pid_t, size_t> running_;
  size_t next_ = 0;
};

}  // namespace

PoolOutcome run_jobs(const std::vector<TrainJob>& jobs, int64_t width, const JobStarted& started,
                     const JobEnded& ended) {
  return Pool(jobs, started, ended).run(static_cast<size_t>(width));
}

}  // namespace fib::cli
