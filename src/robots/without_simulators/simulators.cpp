// SPDX-License-Identifier: Apache-2.0
// Built instead of chipmunk/, blosc/ and worlds/ where a package is missing: every world and recording says which.
#include <stdexcept>

#include "robots/pusht.h"
#include "robots/robot.h"

namespace fib::robots {
namespace {

[[noreturn]] void refuse() {
  throw std::runtime_error("this fib was built without " FIB_ROBOTS_MISSING "; install it and build again");
}

}  // namespace

Demonstrations read_demonstrations(const std::filesystem::path&) { refuse(); }
std::vector<uint8_t> read_images(const std::filesystem::path&, const Episode&) { refuse(); }
Playback play_again(const Demonstrations&, const Episode&) { refuse(); }
std::vector<ReplayErrors> replay_all(const std::filesystem::path&, const Demonstrations&,
                                     const std::function<void()>&) {
  refuse();
}
Playback play(uint32_t, const Chooser&) { refuse(); }
std::unique_ptr<RobotWorld> open_world(const Robot&) { refuse(); }
std::unique_ptr<RobotRecording> open_recording(const Robot&, const std::string&) { refuse(); }

}  // namespace fib::robots
