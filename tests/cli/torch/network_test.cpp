// SPDX-License-Identifier: Apache-2.0
// Two machines, played by two network namespaces with a virtual cable between them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>

#include "background.h"
#include "cli/run_fib.h"
#include "files.h"
#include "free_port.h"
#include "tiny_mnist.h"

namespace {

using fib::test::mentions;
using fib::test::read_file;
using fib::test::TemporaryDirectory;
using fib::test::wait_for;
using fib::test::wait_for_lines;

bool shell(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

/// Two namespaces, 10.77.0.1 and 10.77.0.2, each with the end of a cable as its only way out.
class Machines {
 public:
  Machines() : name_("fib" + std::to_string(::getpid())) {
    made_ = shell("ip netns add " + of(0)) && shell("ip netns add " + of(1)) &&
            shell("ip link add veth0 netns " + of(0) + " type veth peer name veth1 netns " + of(1)) && address(0) &&
            address(1);
  }
  ~Machines() {
    for (int i : {0, 1}) shell("ip netns del " + of(i));
  }
  Machines(const Machines&) = delete;
  Machines& operator=(const Machines&) = delete;

  bool made() const { return made_; }
  /// Packets take longer, and some are lost.
  bool make_bad() const {
    bool good = true;
    for (int i : {0, 1})
      good = good && shell(in(i) + "tc qdisc add dev " + end(i) + " root netem delay 5ms 1ms loss 1%");
    return good;
  }
  void pull_cable() const { shell(in(1) + "ip link set veth1 down"); }
  void plug_in() const { shell(in(1) + "ip link set veth1 up"); }

  /// fib as rank `rank` on its machine, with what it says on stderr in `log`.
  pid_t start(int rank, int port, const std::string& arguments, const std::string& log) const {
    const pid_t child = ::fork();
    if (child != 0) return child;
    const std::string command = "exec " + in(rank) +
                                "env -u GLOO_SOCKET_IFNAME WORLD_SIZE=2 LOCAL_WORLD_SIZE=1 MASTER_ADDR=10.77.0.1 "
                                "MASTER_PORT=" +
                                std::to_string(port) + " RANK=" + std::to_string(rank) + " " FIB_BINARY " " +
                                arguments + " >/dev/null 2>" + log;
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }

 private:
  std::string of(int machine) const { return name_ + (machine == 0 ? "a" : "b"); }
  std::string in(int machine) const { return "ip netns exec " + of(machine) + " "; }
  static std::string end(int machine) { return machine == 0 ? "veth0" : "veth1"; }
  bool address(int i) const {
    return shell(in(i) + "ip addr add 10.77.0." + std::to_string(i + 1) + "/24 dev " + end(i)) &&
           shell(in(i) + "ip link set " + end(i) + " up") && shell(in(i) + "ip link set lo up");
  }

  std::string name_;
  bool made_ = false;
};

const std::string kTwoMachines = R"(
[model]
model = "vit_nano_patch2_28"
dropout = 0.1
[data]
validation_fraction = 0.2
workers = 1
[optimizer]
batch = 16
[schedule]
epochs = 12
[run]
threads = 1
checkpoint_every = 2
eval_every = 12
log_every = 1
)";

class Network : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "network namespaces need root";
    if (!machines_.made()) GTEST_SKIP() << "this system gives no network namespaces, or has no ip (iproute2)";
    fib::test::write_tiny_mnist(directory_ / "data");
    fib::test::write_file(directory_ / "recipe.toml", kTwoMachines);
  }

  std::string path(const std::string& name) const { return directory_ / name; }
  std::vector<pid_t> start_both(const std::string& run, const std::string& more = "",
                                const std::string& timeout = "10") {
    const std::string arguments = "train --recipe " + path("recipe.toml") + " --data mnist:" + path("data") +
                                  " --out " + path(run) + " --peer-timeout " + timeout + " " + more;
    const int port = 29600;
    return {machines_.start(0, port, arguments, path("log0")), machines_.start(1, port, arguments, path("log1"))};
  }
  void survive_a_pulled_cable();
  std::string bytes(const std::string& file) const { return read_file(directory_ / file); }

  TemporaryDirectory directory_;
  Machines machines_;
};

/// A run of two machines, and another in which the cable is pulled for a while.
void Network::survive_a_pulled_cable() {
  for (const pid_t child : start_both("whole")) ASSERT_EQ(wait_for(child), 0) << bytes("log0") << bytes("log1");
  const auto children = start_both("cut");
  wait_for_lines(path("cut/metrics.jsonl"), 5);
  machines_.pull_cable();
  EXPECT_EQ(wait_for(children[0]), 1);
  EXPECT_EQ(wait_for(children[1]), 1);
  EXPECT_TRUE(mentions(bytes("log0"), "rank 1 was lost")) << bytes("log0");
  EXPECT_TRUE(mentions(bytes("log0"), "is saved in")) << bytes("log0");
  EXPECT_TRUE(mentions(bytes("log1"), "rank 0 was lost")) << bytes("log1");

  machines_.plug_in();
  for (const pid_t child : start_both("cut", "--resume")) ASSERT_EQ(wait_for(child), 0) << bytes("log0");
  for (const char* file : {"model.safetensors", "ema.safetensors", "metrics.jsonl"})
    EXPECT_TRUE(bytes(std::string("whole/") + file) == bytes(std::string("cut/") + file)) << file;
}

TEST_F(Network, two_machines_survive_a_pulled_cable_and_end_with_the_same_bits) { survive_a_pulled_cable(); }

TEST_F(Network, two_machines_do_so_over_a_bad_line) {
  if (!machines_.make_bad()) GTEST_SKIP() << "this system cannot delay or lose packets: it has no tc or no netem";
  survive_a_pulled_cable();
}

TEST_F(Network, a_process_whose_cable_is_pulled_answers_a_signal) {
  const auto children = start_both("run", "", "600");
  wait_for_lines(path("run/metrics.jsonl"), 3);
  machines_.pull_cable();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  for (const pid_t child : children) ::kill(child, SIGTERM);
  EXPECT_EQ(wait_for(children[0]), 143);
  EXPECT_EQ(wait_for(children[1]), 143);
  EXPECT_TRUE(mentions(bytes("log0"), "stopping:")) << bytes("log0");
  EXPECT_TRUE(mentions(bytes("log0"), "is saved in")) << bytes("log0");
}

}  // namespace
