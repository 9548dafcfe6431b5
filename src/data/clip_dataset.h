// SPDX-License-Identifier: Apache-2.0
// Videos with labels, which stay in their files until their frames are asked for. dataset_table.h declares what opens
// them.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "data/clips/clip.h"
#include "data/folder_dataset.h"

namespace fib {

class ClipDataset : public Dataset {
 public:
  ClipDataset(DatasetInfo info, std::vector<LabeledFile> clips);

  /// The frame in the middle.
  Image image(size_t index) const override;
  void for_frames(size_t index, const ClipSampling& sampling, CounterRng& rng,
                  const FrameVisitor& visit) const override;
  std::string item_name(size_t index) const override { return files_[index].string(); }

 private:
  /// What a file says of its frames is read once.
  struct Entry {
    std::once_flag read;
    ClipIndex index;
  };
  const ClipIndex& index_of(size_t index) const;

  std::vector<std::filesystem::path> files_;
  std::unique_ptr<Entry[]> entries_;
};

/// A video by its name in the Smarthome dataset.
struct SmarthomeName {
  std::string activity;
  int64_t person = 0, camera = 0;
};
/// None for another name.
std::optional<SmarthomeName> parse_smarthome_name(const std::string& file_name);

/// A video by the last two parts of its path in the Northwestern-UCLA dataset.
struct NuclaName {
  int64_t action = 0, view = 0, subject = 0;
};
std::optional<NuclaName> parse_nucla_name(const std::filesystem::path& file);

/// The lines of a list: "path label", or fields between commas of which the first is the path and the last the label.
/// `name` and the line's number are for messages; files are below `root`. Throws std::runtime_error at the first line
/// that is none or names no file.
std::vector<LabeledFile> parse_clip_list(const std::string& text, const std::string& name,
                                         const std::filesystem::path& root);

}  // namespace fib
