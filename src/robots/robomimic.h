// SPDX-License-Identifier: Apache-2.0
// Recorded episodes of an arm in robomimic's HDF5 files: data/demo_0, data/demo_1, … each with actions, states,
// rewards, dones and obs/NAME. What reads and writes them is part of the library of robots/arm.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace fib::robots {

/// T rows. Numbers are row by row.
struct RobomimicEpisode {
  int64_t length = 0;
  std::vector<double> actions;                     ///< [T, 7], absolute
  std::vector<double> states;                      ///< [T, S]
  std::vector<double> rewards;                     ///< [T]
  std::vector<uint8_t> agentview, eye_in_hand;     ///< [T, 84, 84, 3]
  std::vector<double> eef_pos, eef_quat, gripper;  ///< [T, 3], [T, 4], [T, 2]
  std::string model;                               ///< of the simulator
};

class RobomimicReader {
 public:
  virtual ~RobomimicReader() = default;
  /// Of each episode.
  virtual const std::vector<int64_t>& lengths() const = 0;
  /// [T, columns] of "actions" or "obs/NAME"; throws std::runtime_error with one line for what is missing, of other
  /// shape or not finite.
  virtual std::vector<double> numbers(size_t episode, const std::string& key, int64_t columns) const = 0;
  /// [T, side, side, 3].
  virtual std::vector<uint8_t> images(size_t episode, const std::string& key, int64_t side) const = 0;
};

class RobomimicWriter {
 public:
  virtual ~RobomimicWriter() = default;
  virtual void add(const RobomimicEpisode& episode) = 0;
  /// Without it the file does not appear.
  virtual void finish() = 0;
};

/// Throws std::runtime_error with one line for a file that is none of robomimic's, or damaged.
std::unique_ptr<RobomimicReader> read_robomimic(const std::filesystem::path& file);
/// `environment` is the JSON text of the attribute env_args.
std::unique_ptr<RobomimicWriter> write_robomimic(const std::filesystem::path& file, const std::string& environment);

}  // namespace fib::robots
