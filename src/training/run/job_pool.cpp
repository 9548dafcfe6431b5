// SPDX-License-Identifier: Apache-2.0
#include "training/run/job_pool.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <map>
#include <system_error>
#include <thread>

namespace fib::training {
namespace {

/// Whether what goes to `stream` goes to the file now.
bool redirect(int stream, const char* path, int mode) {
  const int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | mode, 0666);
  return file >= 0 && dup2(file, stream) >= 0;
}

bool redirect_streams(const Job& job) {
  if (!job.log.empty() && !redirect(STDERR_FILENO, job.log.c_str(), O_APPEND)) return false;
  if (!job.output.empty()) return redirect(STDOUT_FILENO, job.output.c_str(), O_TRUNC);
  return dup2(STDERR_FILENO, STDOUT_FILENO) >= 0;
}

/// What the child does between fork and exec: only calls that are safe there.
[[noreturn]] void become(char* const* argv, const Job& job) {
  // A group of its own: Ctrl-C reaches it through the parent, once. Should the parent be killed, it saves and ends too.
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  for (int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_DFL);
  if (redirect_streams(job)) execv(argv[0], argv);
  constexpr int kCannotRun = 127;
  _exit(kCannotRun);
}

pid_t start(const Job& job) {
  std::vector<std::string> words = {std::filesystem::read_symlink("/proc/self/exe")};
  words.insert(words.end(), job.arguments.begin(), job.arguments.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "cannot start " + words.front());
  if (child == 0) become(argv.data(), job);
  return child;
}

int exit_code(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

class Pool {
 public:
  Pool(const std::vector<Job>& jobs, const PoolOptions& options) : jobs_(jobs), options_(options) {}

  /// No process is left behind, also when something is thrown.
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

  PoolOutcome run() {
    const auto width = static_cast<size_t>(options_.width);
    while (next_ < jobs_.size() || !running_.empty()) {
      if (options_.cancel.requested()) return stop();
      while (next_ < jobs_.size() && running_.size() < width) begin_next();
      collect();
    }
    return PoolOutcome::finished;
  }

 private:
  void begin_next() {
    running_[start(jobs_[next_])] = next_;
    options_.started(next_++);
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
      options_.ended(job, exit_code(status));
    }
  }

  PoolOutcome stop() {
    for (const auto& [child, job] : running_) kill(child, options_.cancel.signal());
    while (!running_.empty()) collect();
    return PoolOutcome::stopped;
  }

  const std::vector<Job>& jobs_;
  const PoolOptions& options_;
  std::map<pid_t, size_t> running_;
  size_t next_ = 0;
};

}  // namespace

PoolOutcome run_jobs(const std::vector<Job>& jobs, const PoolOptions& options) { return Pool(jobs, options).run(); }

}  // namespace fib::training
