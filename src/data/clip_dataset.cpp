// SPDX-License-Identifier: Apache-2.0
#include "data/clip_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

#include "base/nearest.h"
#include "base/read_file.h"
#include "base/text.h"
#include "data/open_dataset.h"

namespace fib {
namespace fs = std::filesystem;
namespace {

DatasetPtr make_clips(const DatasetRequest& wanted, std::vector<LabeledFile> clips, std::vector<std::string> names,
                      int64_t classes) {
  if (classes < 2)
    throw std::runtime_error(
        fmt::format("{}: one class is nothing to tell apart, accepted are two or more", wanted.folder.string()));
  if (clips.empty())
    throw std::runtime_error(fmt::format("{}: no clip is left to {} on", wanted.folder.string(),
                                         wanted.part == DatasetPart::train ? "train" : "test"));
  DatasetInfo info = info_of(wanted.row, wanted.folder);
  info.classes = classes;
  if (static_cast<int64_t>(names.size()) == classes) info.class_names = std::move(names);
  return std::make_shared<ClipDataset>(std::move(info), std::move(clips));
}

/// A clip whose name says who does what, and where it is seen from.
struct NamedClip {
  fs::path file;
  std::string activity;
  int64_t group = 0;  ///< of the person, or of the camera: what the split divides
};

struct Division {
  std::set<int64_t> train, validation;  ///< groups; all others are tested on
  std::set<int64_t> test = {};          ///< where it is not all others
};

bool belongs(const Division& division, DatasetPart part, int64_t group) {
  if (part == DatasetPart::train) return division.train.contains(group);
  if (part == DatasetPart::validation) return division.validation.contains(group);
  if (!division.test.empty()) return division.test.contains(group);
  return !division.train.contains(group) && !division.validation.contains(group);
}

DatasetPtr divided_clips(const DatasetRequest& wanted, const std::vector<NamedClip>& clips,
                         const std::vector<std::string>& activities, const Division& division) {
  std::vector<LabeledFile> part;
  for (const NamedClip& clip : clips) {
    const auto label = std::ranges::find(activities, clip.activity);
    if (label != activities.end() && belongs(division, wanted.part, clip.group))
      part.push_back({clip.file, label - activities.begin()});
  }
  return make_clips(wanted, std::move(part), activities, static_cast<int64_t>(activities.size()));
}

/// Every video below the folder that has such a name.
template <class Parse>
std::vector<NamedClip> named_clips(const DatasetRequest& wanted, const char* pattern, const Parse& parse) {
  std::map<std::string, size_t> skipped;
  std::vector<NamedClip> clips;
  for (const fs::path& file : find_files(wanted.folder, clip_files(), skipped)) {
    if (auto clip = parse(file)) clips.push_back(*std::move(clip));
  }
  if (clips.empty())
    throw std::runtime_error(fmt::format("{}: no video is called like {}", wanted.folder.string(), pattern));
  return clips;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// Walks through the parts of a file's name; once one is not there, none is.
class NameScanner {
 public:
  explicit NameScanner(std::string_view rest) : rest_(rest) {}

  NameScanner& word(std::string_view text) { return take(rest_.starts_with(text) ? text.size() : 0); }

  /// One to four digits.
  NameScanner& number(int64_t& value) {
    const size_t digits = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    if (digits >= 1 && digits <= 4) value = parse_number<int64_t>(std::string(rest_.substr(0, digits))).value_or(0);
    return take(digits <= 4 ? digits : 0);
  }

  bool good() const { return good_; }
  bool at_end() const { return good_ && rest_.empty(); }

 private:
  NameScanner& take(size_t length) {
    good_ = good_ && length > 0;
    rest_.remove_prefix(length);
    return *this;
  }

  std::string_view rest_;
  bool good_ = true;
};

// The activities of Smarthome, as its authors list them, and those that all of its cameras see.

const std::vector<std::string>& smarthome_activities() {
  static const std::vector<std::string> names = {"Cook.Cleandishes",
                                                 "Cook.Cleanup",
                                                 "Cook.Cut",
                                                 "Cook.Stir",
                                                 "Cook.Usestove",
                                                 "Cutbread",
                                                 "Drink.Frombottle",
                                                 "Drink.Fromcan",
                                                 "Drink.Fromcup",
                                                 "Drink.Fromglass",
                                                 "Eat.Attable",
                                                 "Eat.Snack",
                                                 "Enter",
                                                 "Getup",
                                                 "Laydown",
                                                 "Leave",
                                                 "Makecoffee.Pourgrains",
                                                 "Makecoffee.Pourwater",
                                                 "Maketea.Boilwater",
                                                 "Maketea.Insertteabag",
                                                 "Pour.Frombottle",
                                                 "Pour.Fromcan",
                                                 "Pour.Fromkettle",
                                                 "Readbook",
                                                 "Sitdown",
                                                 "Takepills",
                                                 "Uselaptop",
                                                 "Usetablet",
                                                 "Usetelephone",
                                                 "Walk",
                                                 "WatchTV"};
  return names;
}

const std::vector<std::string>& smarthome_cross_view_activities() {
  static const std::vector<std::string> names = {
      "Cutbread",        "Drink.Frombottle", "Drink.Fromcan", "Drink.Fromcup", "Drink.Fromglass",
      "Eat.Attable",     "Eat.Snack",        "Enter",         "Getup",         "Leave",
      "Pour.Frombottle", "Pour.Fromcan",     "Readbook",      "Sitdown",       "Takepills",
      "Uselaptop",       "Usetablet",        "Usetelephone",  "Walk"};
  return names;
}

std::set<int64_t> number_set(const DatasetRequest& wanted, const char* key) {
  std::set<int64_t> numbers;
  std::istringstream items(option_or(wanted, key, ""));
  for (std::string item; std::getline(items, item, ',');) {
    const auto number = parse_number<int64_t>(item);
    if (!number || *number < 1) refuse_option(wanted, key, item, "numbers from 1, such as 9,10");
    numbers.insert(*number);
  }
  return numbers;
}

}  // namespace

ClipDataset::ClipDataset(DatasetInfo info, std::vector<LabeledFile> clips)
    : Dataset(std::move(info), labels_of(clips)), entries_(std::make_unique<Entry[]>(clips.size())) {
  files_.reserve(clips.size());
  for (LabeledFile& clip : clips) files_.push_back(std::move(clip.file));
}

const ClipIndex& ClipDataset::index_of(size_t index) const {
  Entry& entry = entries_[index];
  std::call_once(entry.read, [&] { entry.index = index_clip(files_[index]); });
  return entry.index;
}

Image ClipDataset::image(size_t index) const {
  const ClipIndex& clip = index_of(index);
  const size_t middle = clip.frames() / 2;
  return std::move(read_frames(files_[index], clip, {&middle, 1}).front());
}

void ClipDataset::for_frames(size_t index, const ClipSampling& sampling, CounterRng& rng,
                             const FrameVisitor& visit) const {
  const ClipIndex& clip = index_of(index);
  fib::for_frames(files_[index], clip, choose_frames(clip, sampling, rng), visit);
}

DatasetPtr open_clip_folder(const DatasetRequest& wanted) {
  if (wanted.part == DatasetPart::validation) return nullptr;
  const bool divided = fs::is_directory(wanted.folder / "train");
  ImageFolder listed = divided ? list_image_part(wanted.folder, wanted.part, clip_files())
                               : list_image_folder(wanted.folder, clip_files());
  if (listed.num_labels > 1 && !divided)
    listed.images = seeded_part(wanted, std::move(listed.images), listed.num_labels);
  return make_clips(wanted, std::move(listed.images), std::move(listed.classes), listed.num_labels);
}

std::vector<LabeledFile> parse_clip_list(const std::string& text, const std::string& name, const fs::path& root) {
  std::vector<LabeledFile> clips;
  std::istringstream lines(text);
  size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const auto refuse = [&](const std::string& reason) {
      throw std::runtime_error(fmt::format("{}:{}: {}", name, number, reason));
    };
    line.erase(line.find_last_not_of(" \t\r") + 1);
    if (line.empty()) continue;
    const char* const separator = line.find(',') != std::string::npos ? "," : " \t";
    const size_t first = line.find_first_of(separator), last = line.find_last_of(separator);
    if (first == std::string::npos) refuse("accepted is 'path label' or 'path,pose,label'");
    const auto label = parse_number<int64_t>(std::string_view(line).substr(last + 1));
    if (!label || *label < 0 || *label >= kMaxClasses)
      refuse(fmt::format("label '{}', accepted are 0 to {}", printable(line.substr(last + 1), 60), kMaxClasses - 1));
    // Where fields are separated by spaces, all before the last belongs to the path.
    const fs::path file = root / line.substr(0, *separator == ',' ? first : line.find_last_not_of(" \t", last) + 1);
    if (!fs::is_regular_file(file)) refuse(fmt::format("no file '{}'", printable(file.string(), 200)));
    clips.push_back({file, *label});
  }
  return clips;
}

DatasetPtr open_clip_list(const DatasetRequest& wanted) {
  if (wanted.part == DatasetPart::validation) return nullptr;
  const fs::path& list = wanted.folder;
  const fs::path root = option_or(wanted, "root", list.parent_path().string());
  const auto read = [&](const fs::path& file) {
    return parse_clip_list(read_file(file, kMaxRecordBytes), file.string(), root);
  };
  std::vector<LabeledFile> clips = read(list), tested;
  const std::string test_list = option_or(wanted, "test_list", "");
  if (!test_list.empty()) tested = read(list.parent_path() / test_list);
  int64_t classes = 0;
  for (const auto* part : {&clips, &tested})
    for (const LabeledFile& clip : *part) classes = std::max(classes, clip.label + 1);
  if (clips.empty()) throw std::runtime_error(list.string() + ": it names no clips");
  if (test_list.empty() && classes > 1)
    clips = seeded_part(wanted, std::move(clips), classes);
  else if (wanted.part == DatasetPart::test)
    clips = std::move(tested);
  return make_clips(wanted, std::move(clips), {}, classes);
}

std::optional<SmarthomeName> parse_smarthome_name(const std::string& file_name) {
  constexpr size_t kLongestActivity = 64;
  SmarthomeName name{file_name.substr(0, file_name.find('_')), 0, 0};
  const bool named = std::ranges::all_of(name.activity, [](char c) { return c == '.' || is_letter(c); });
  if (!named || name.activity.empty() || name.activity.size() > kLongestActivity) return std::nullopt;
  int64_t repetition = 0, view = 0;
  NameScanner scan(std::string_view(file_name).substr(name.activity.size()));
  scan.word("_p").number(name.person).word("_r").number(repetition).word("_v").number(view);
  return scan.word("_c").number(name.camera).word(".").good() ? std::optional(name) : std::nullopt;
}

DatasetPtr open_smarthome(const DatasetRequest& wanted) {
  const std::string split = option_or(wanted, "split", "cs");
  if (split != "cs" && split != "cv2") refuse_option(wanted, "split", split, "cs or cv2");
  const bool by_person = split == "cs";
  if (by_person && wanted.part == DatasetPart::validation) return nullptr;
  const auto clips = named_clips(wanted, "Cook.Cleandishes_p02_r00_v02_c03.mp4", [&](const fs::path& file) {
    const auto name = parse_smarthome_name(file.filename().string());
    if (!name) return std::optional<NamedClip>();
    return std::optional(NamedClip{file, name->activity, by_person ? name->person : name->camera});
  });
  // The published divisions: of 18 persons, 11 are trained on; of 7 cameras, all but the fifth and the second.
  if (by_person)
    return divided_clips(wanted, clips, smarthome_activities(), {{3, 4, 6, 7, 9, 12, 13, 15, 17, 19, 25}, {}});
  return divided_clips(wanted, clips, smarthome_cross_view_activities(), {{1, 3, 4, 6, 7}, {5}, {2}});
}

std::optional<NuclaName> parse_nucla_name(const fs::path& file) {
  const std::string folder = file.parent_path().filename().string(), name = file.filename().string();
  NuclaName found{0, 0, 0};
  int64_t episode = 0;
  NameScanner in_folder(folder), in_name(name);
  in_folder.word("a").number(found.action);
  in_name.word("v").number(found.view).word("_s").number(found.subject).word("_e").number(episode).word(".");
  return in_folder.at_end() && in_name.good() ? std::optional(found) : std::nullopt;
}

DatasetPtr open_nucla(const DatasetRequest& wanted) {
  static const std::map<int64_t, std::string> kActions = {{1, "pick up with one hand"},
                                                          {2, "pick up with two hands"},
                                                          {3, "drop trash"},
                                                          {4, "walk around"},
                                                          {5, "sit down"},
                                                          {6, "stand up"},
                                                          {8, "donning"},
                                                          {9, "doffing"},
                                                          {11, "throw"},
                                                          {12, "carry"}};
  if (wanted.part == DatasetPart::validation) return nullptr;
  const std::set<int64_t> subjects = number_set(wanted, "test_subjects"), views = number_set(wanted, "test_views");
  if (subjects.empty() == views.empty())
    throw std::invalid_argument(
        "nucla: whom is it tested on? Give ?test_subjects=9,10 or ?test_views=3 after its path");
  const auto clips = named_clips(wanted, "a01/v02_s03_e00.avi", [&](const fs::path& file) {
    const auto name = parse_nucla_name(file);
    if (!name || !kActions.contains(name->action)) return std::optional<NamedClip>();
    return std::optional(NamedClip{file, kActions.at(name->action), views.empty() ? name->subject : name->view});
  });
  Division division{{}, {}, views.empty() ? subjects : views};
  for (const NamedClip& clip : clips)
    if (!division.test.contains(clip.group)) division.train.insert(clip.group);
  std::vector<std::string> actions;
  actions.reserve(kActions.size());
  for (const auto& [number, name] : kActions) actions.push_back(name);
  return divided_clips(wanted, clips, actions, division);
}

}  // namespace fib
