// SPDX-License-Identifier: Apache-2.0
// Every dataset that is known by name, and what opens it. A new one is a row here; one whose files are laid out in a
// way of their own also brings its opener, declared here and defined in a file of src/data.
#pragma once

#include <algorithm>
#include <memory>

#include "data/registry/datasets.h"

namespace fib {

class Dataset;
using DatasetPtr = std::shared_ptr<const Dataset>;

/// What an opener is asked for. The folder has all files of the row.
struct DatasetRequest {
  const DatasetRow& row;
  const std::filesystem::path& folder;
  DatasetPart part;
  bool verify;  ///< compare checksums too
  DataOptions options = {};
};

DatasetPtr open_idx(const DatasetRequest& wanted);
DatasetPtr open_cifar10(const DatasetRequest& wanted);
/// The fine labels; names come from fine_label_names.txt where it lies beside the data.
DatasetPtr open_cifar100(const DatasetRequest& wanted);
/// As its archive unpacks: wnids.txt, words.txt, train/<wnid>/images, val/images and val/val_annotations.txt. Classes
/// are the wnids in alphabetical order; every image has the box of its object.
DatasetPtr open_tiny_imagenet(const DatasetRequest& wanted);
/// train/ and val/ (or test/) with a folder per class, labels of both parts are those of train/. Without train/ the
/// folder itself is what is tested on; where it is trained on, or its options say how, a seeded share of each class is
/// held out to test on.
DatasetPtr open_image_folder(const DatasetRequest& wanted);

/// Videos below train/ and val/ (or test/) with a folder per class; without train/ a seeded share of each class is held
/// out to test on. These four have a validation part of their own or answer with none.
DatasetPtr open_clip_folder(const DatasetRequest& wanted);
/// A line for each video: "path label", or "path,pose,label" as the published code writes them.
DatasetPtr open_clip_list(const DatasetRequest& wanted);
/// Names such as Cook.Cleandishes_p02_r00_v02_c03.mp4 tell activity, person and camera.
DatasetPtr open_smarthome(const DatasetRequest& wanted);
/// Names such as a01/v02_s03_e00.avi tell action, view and subject.
DatasetPtr open_nucla(const DatasetRequest& wanted);

struct KnownDataset {
  DatasetRow row;
  DatasetPtr (*open)(const DatasetRequest&);
};

inline constexpr DatasetFile kFashionFiles[] = {
    {"train-images-idx3-ubyte", "f4a8712d7a061bf5bd6d2ca38dc4d50a", true},
    {"train-labels-idx1-ubyte", "9018921c3c673c538a1fc5bad174d6f9", true},
    {"t10k-images-idx3-ubyte", "8181f5470baa50b63fa0f6fddb340f0a", true},
    {"t10k-labels-idx1-ubyte", "15d484375f8d13e6eb1aabb0c3f46965", true},
};
inline constexpr DatasetFile kMnistFiles[] = {
    {"train-images-idx3-ubyte", "6bbc9ace898e44ae57da46a324031adb", true},
    {"train-labels-idx1-ubyte", "a25bea736e30d166cdddb491f175f624", true},
    {"t10k-images-idx3-ubyte", "2646ac647ad5339dbf082846283269ea", true},
    {"t10k-labels-idx1-ubyte", "27ae3e4e09519cfbb04c329615203637", true},
};
inline constexpr DatasetFile kCifar10Files[] = {
    {"data_batch_1.bin", "5dd7e06a14cb22eb9f671a540d1b7c25"}, {"data_batch_2.bin", "5ea93a67294ea407fff1d09f752e9692"},
    {"data_batch_3.bin", "942cd6a4bcdd0dd3c604fbe906cb4421"}, {"data_batch_4.bin", "ae636b3ba5c66a11e91e8cb52e771fcb"},
    {"data_batch_5.bin", "53f37980c15c3d472c316c40844f3f0d"}, {"test_batch.bin", "803d5f7f4d78ea53de84dbe85f74fb6d"},
};
inline constexpr DatasetFile kCifar100Files[] = {
    {"train.bin", "6172c7755cfe09b2fe270c85cebc1b15"},
    {"test.bin", "4499cfba6c016c1be1438163640a0898"},
};
inline constexpr DatasetFile kTinyImagenetFiles[] = {
    {"wnids.txt", ""}, {"train", ""}, {"val/images", ""}, {"val/val_annotations.txt", ""}};
inline constexpr DatasetFile kImagenetFiles[] = {{"train", ""}, {"val", ""}};

inline constexpr std::string_view kFashionClasses[] = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
                                                       "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};
inline constexpr std::string_view kDigits[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
inline constexpr std::string_view kCifar10Classes[] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                                       "dog",      "frog",       "horse", "ship", "truck"};

inline constexpr std::string_view kSplitOptions[] = {"test", "seed"};
inline constexpr std::string_view kListOptions[] = {"root", "test_list", "test", "seed"};
inline constexpr std::string_view kSmarthomeOptions[] = {"split"};
inline constexpr std::string_view kNuclaOptions[] = {"test_subjects", "test_views"};

/// TimeSformer's.
inline constexpr std::array<float, 3> kClipMean = {.45F, .45F, .45F}, kClipStd = {.225F, .225F, .225F};
inline constexpr std::array<float, 3> kImagenetMean = {.485F, .456F, .406F}, kImagenetStd = {.229F, .224F, .225F};

/// Eleven of eighteen persons, or five of seven cameras.
inline double smarthome_trained_share(const DataOptions& options) {
  const auto split = options.find("split");
  return split != options.end() && split->second == "cv2" ? 5.0 / 7 : 11.0 / 18;
}

/// Of ten subjects or three views those that are not tested on.
inline double nucla_trained_share(const DataOptions& options) {
  const auto left = [&](const char* key, double all) {
    const auto tested = options.find(key);
    if (tested == options.end()) return 1.0;
    return std::max(0.0, 1 - static_cast<double>(1 + std::ranges::count(tested->second, ',')) / all);
  };
  return left("test_subjects", 10) * left("test_views", 3);
}

/// Means and deviations of the CIFARs are the published code's, ImageNet's are timm's. Only constants are taken from
/// this table where nothing is opened, so such a program needs none of the openers.
inline constexpr KnownDataset kKnownDatasets[] = {
    {.row = {.name = "fashion-mnist",
             .what = "60,000 + 10,000 grey images of clothes, 28x28, 10 classes",
             .how_to_get = "apt-get install dataset-fashion-mnist",
             .folder = "fashion-mnist",
             .installed = "/usr/share/datasets/fashion-mnist",
             .files = kFashionFiles,
             .class_names = kFashionClasses,
             .classes = 10,
             .training_images = 60'000,
             .image_size = 28,
             .channels = 1,
             .mean = {.2860F},
             .std = {.3530F}},
     .open = open_idx},
    {.row = {.name = "mnist",
             .what = "60,000 + 10,000 grey images of digits, 28x28, 10 classes",
             .how_to_get = "scripts/get-data.sh mnist",
             .folder = "mnist",
             .files = kMnistFiles,
             .class_names = kDigits,
             .classes = 10,
             .training_images = 60'000,
             .image_size = 28,
             .channels = 1,
             .mean = {.1307F},
             .std = {.3081F},
             .may_mirror = false},
     .open = open_idx},
    {.row = {.name = "cifar10",
             .what = "50,000 + 10,000 color images, 32x32, 10 classes",
             .how_to_get = "scripts/get-data.sh cifar10",
             .folder = "cifar-10-batches-bin",
             .files = kCifar10Files,
             .class_names = kCifar10Classes,
             .classes = 10,
             .training_images = 50'000,
             .image_size = 32,
             .mean = {.4914F, .4822F, .4465F},
             .std = {.2023F, .1994F, .2010F}},
     .open = open_cifar10},
    {.row = {.name = "cifar100",
             .what = "50,000 + 10,000 color images, 32x32, 100 classes",
             .how_to_get = "scripts/get-data.sh cifar100",
             .folder = "cifar-100-binary",
             .files = kCifar100Files,
             .classes = 100,
             .training_images = 50'000,
             .image_size = 32,
             .mean = {.5071F, .4865F, .4409F},
             .std = {.2009F, .1984F, .2023F}},
     .open = open_cifar100},
    {.row = {.name = "tiny-imagenet",
             .what = "100,000 + 10,000 color images, 64x64, 200 classes, with a box around each object",
             .how_to_get = "http://cs231n.stanford.edu/tiny-imagenet-200.zip, unpacked",
             .folder = "tiny-imagenet-200",
             .files = kTinyImagenetFiles,
             .classes = 200,
             .training_images = 100'000,
             .image_size = 64,
             .mean = {.4802F, .4481F, .3975F},
             .std = {.2770F, .2691F, .2821F}},
     .open = open_tiny_imagenet},
    {.row = {.name = "imagenet",
             .what =
                 "ILSVRC 2012: 1,281,167 + 50,000 color images, 1000 classes; train/ and val/ with a folder per class",
             .how_to_get = "https://image-net.org (after registration), validation images sorted into class folders",
             .folder = "imagenet",
             .files = kImagenetFiles,
             .classes = 1000,
             .training_images = 1'281'167,
             .mean = kImagenetMean,
             .std = kImagenetStd},
     .open = open_image_folder},
    {.row = {.name = "folder",
             .what = "any image folder: train/ and val/ with a folder per class, or class folders alone, of which "
                     "training holds out ?test=SHARE (0.2) of each class by ?seed=N (0)",
             .how_to_get = "folder:PATH",
             .mean = kImagenetMean,
             .std = kImagenetStd,
             .divided_on_demand = true,
             .options = kSplitOptions},
     .open = open_image_folder},
    {.row = {.name = "clips",
             .what = "any folder of videos: train/ and val/ with a folder per class, or class folders alone, of which "
                     "?test=SHARE (0.2) of each class is held out by ?seed=N (0)",
             .how_to_get = "clips:PATH",
             .mean = kClipMean,
             .std = kClipStd,
             .clips = true,
             .options = kSplitOptions},
     .open = open_clip_folder},
    {.row = {.name = "clip-list",
             .what =
                 "a file with lines 'path label' or 'path,pose,label', below ?root=DIR; ?test_list=FILE, or a share "
                 "held out as with clips",
             .how_to_get = "clip-list:FILE",
             .mean = kClipMean,
             .std = kClipStd,
             .clips = true,
             .is_list = true,
             .options = kListOptions},
     .open = open_clip_list},
    {.row = {.name = "smarthome",
             .what = "Toyota Smarthome, trimmed: daily activities, ?split=cs (31 classes, persons divided) or cv2 (19 "
                     "classes, cameras divided)",
             .how_to_get = "https://project.inria.fr/toyotasmarthome (after registration)",
             .folder = "smarthome",
             .all_images = 16'115,
             .trained_share = smarthome_trained_share,
             .mean = kClipMean,
             .std = kClipStd,
             .clips = true,
             .options = kSmarthomeOptions},
     .open = open_smarthome},
    {.row = {.name = "nucla",
             .what = "Northwestern-UCLA Multiview Action 3D: ten actions, aNN/vNN_sNN_eNN.avi; ?test_subjects=9,10 or "
                     "?test_views=3",
             .how_to_get = "https://wangjiangb.github.io/my_data.html",
             .folder = "nucla",
             .classes = 10,
             .all_images = 1'494,
             .trained_share = nucla_trained_share,
             .mean = kClipMean,
             .std = kClipStd,
             .clips = true,
             .options = kNuclaOptions},
     .open = open_nucla},
};

}  // namespace fib
