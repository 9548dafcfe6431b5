// SPDX-License-Identifier: Apache-2.0
#include "robots/robomimic.h"

#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/stat.h>

#include <cmath>
#include <limits>

#include "base/read_file.h"
#include "files.h"

namespace fib::robots {
namespace {

using test::error_of;
using test::mentions;

RobomimicEpisode made_episode(int64_t length, double from) {
  RobomimicEpisode e;
  e.length = length;
  const auto fill = [&](std::vector<double>& values, int64_t columns) {
    for (int64_t i = 0; i < length * columns; ++i) values.push_back(from + 0.25 * static_cast<double>(i));
  };
  fill(e.actions, 7);
  fill(e.states, 32);
  fill(e.rewards, 1);
  fill(e.eef_pos, 3);
  fill(e.eef_quat, 4);
  fill(e.gripper, 2);
  for (int64_t i = 0; i < length * 84 * 84 * 3; ++i) {
    e.agentview.push_back(static_cast<uint8_t>(i % 251));
    e.eye_in_hand.push_back(static_cast<uint8_t>(i % 239));
  }
  e.model = "<mujoco/>";
  return e;
}

class Robomimic : public testing::Test {
 protected:
  void SetUp() override {
    const auto writer = write_robomimic(file_, R"({"env_name":"Lift"})");
    writer->add(made_episode(3, 1));
    writer->add(made_episode(2, 100));
    writer->finish();
  }
  /// Opens the file for a change by hand.
  template <class Change>
  void change(const Change& by) const {
    const hid_t file = H5Fopen(file_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    by(file);
    H5Fclose(file);
  }
  std::string refusal() const {
    return error_of([&] {
      const auto reader = read_robomimic(file_);
      for (size_t e = 0; e < reader->lengths().size(); ++e) {
        reader->numbers(e, "actions", 7);
        reader->numbers(e, "obs/robot0_eef_pos", 3);
        reader->images(e, "obs/agentview_image", 84);
        reader->images(e, "obs/robot0_eye_in_hand_image", 84);
      }
    });
  }
  test::TemporaryDirectory folder_;
  std::filesystem::path file_ = folder_ / "demos.hdf5";
};

TEST_F(Robomimic, files_give_back_what_was_written) {
  const auto reader = read_robomimic(file_);
  ASSERT_EQ(reader->lengths(), (std::vector<int64_t>{3, 2}));
  for (size_t e = 0; e < 2; ++e) {
    const RobomimicEpisode made = made_episode(e == 0 ? 3 : 2, e == 0 ? 1 : 100);
    EXPECT_EQ(reader->numbers(e, "actions", 7), made.actions);
    EXPECT_EQ(reader->numbers(e, "states", 32), made.states);
    EXPECT_EQ(reader->numbers(e, "obs/robot0_eef_quat", 4), made.eef_quat);
    EXPECT_EQ(reader->images(e, "obs/agentview_image", 84), made.agentview);
    EXPECT_EQ(reader->images(e, "obs/robot0_eye_in_hand_image", 84), made.eye_in_hand);
  }
  EXPECT_TRUE(refusal().empty());
}

void write_numbers(hid_t file, const char* name, std::vector<hsize_t> shape, hid_t type, const void* values) {
  const hid_t space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
  const hid_t parents = H5Pcreate(H5P_LINK_CREATE);
  H5Pset_create_intermediate_group(parents, 1);
  const hid_t set = H5Dcreate2(file, name, type, space, parents, H5P_DEFAULT, H5P_DEFAULT);
  H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
  H5Dclose(set);
  H5Pclose(parents);
  H5Sclose(space);
}

/// As robomimic's own programs leave them: contiguous, next_obs and a mask beside, images not packed.
TEST_F(Robomimic, files_of_others_are_read_too) {
  const auto other = folder_ / "image_abs.hdf5";
  const hid_t file = H5Fcreate(other.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const std::vector<double> actions(14, 0.5);
  const std::vector<float> places(6, 0.25F);
  const std::vector<uint8_t> image(size_t{2} * 84 * 84 * 3, 7);
  write_numbers(file, "data/demo_0/actions", {2, 7}, H5T_NATIVE_DOUBLE, actions.data());
  write_numbers(file, "data/demo_0/obs/robot0_eef_pos", {2, 3}, H5T_NATIVE_FLOAT, places.data());
  write_numbers(file, "data/demo_0/obs/agentview_image", {2, 84, 84, 3}, H5T_NATIVE_UINT8, image.data());
  write_numbers(file, "data/demo_0/next_obs/agentview_image", {2, 84, 84, 3}, H5T_NATIVE_UINT8, image.data());
  H5Fclose(file);
  const auto reader = read_robomimic(other);
  EXPECT_EQ(reader->lengths(), std::vector<int64_t>{2});
  EXPECT_EQ(reader->numbers(0, "actions", 7), actions);
  EXPECT_EQ(reader->numbers(0, "obs/robot0_eef_pos", 3), std::vector<double>(6, 0.25));
  EXPECT_EQ(reader->images(0, "obs/agentview_image", 84), image);
}

TEST_F(Robomimic, files_without_a_camera_are_refused) {
  change([](hid_t file) { H5Ldelete(file, "data/demo_1/obs/robot0_eye_in_hand_image", H5P_DEFAULT); });
  EXPECT_TRUE(mentions(refusal(), "data/demo_1/obs/robot0_eye_in_hand_image: not in the file"));
}

TEST_F(Robomimic, files_of_other_shapes_are_refused) {
  change([](hid_t file) {
    H5Ldelete(file, "data/demo_0/actions", H5P_DEFAULT);
    const std::vector<double> values(18, 1);
    write_numbers(file, "data/demo_0/actions", {3, 6}, H5T_NATIVE_DOUBLE, values.data());
  });
  EXPECT_TRUE(mentions(refusal(), "shape (3, 6); accepted: (3, 7)"));
}

TEST_F(Robomimic, files_with_what_is_no_number_are_refused) {
  change([](hid_t file) {
    H5Ldelete(file, "data/demo_0/actions", H5P_DEFAULT);
    std::vector<double> values(21, 1);
    values[8] = std::numeric_limits<double>::infinity();
    write_numbers(file, "data/demo_0/actions", {3, 7}, H5T_NATIVE_DOUBLE, values.data());
  });
  EXPECT_TRUE(mentions(refusal(), "row 1 holds inf; accepted: finite numbers"));
}

TEST_F(Robomimic, files_that_are_cut_short_or_none_are_refused) {
  std::filesystem::resize_file(file_, std::filesystem::file_size(file_) / 2);
  EXPECT_TRUE(mentions(refusal(), "not an HDF5 file, damaged or cut short"));
  test::write_file(file_, "demonstrations");
  EXPECT_TRUE(mentions(refusal(), "not an HDF5 file"));
  H5Fclose(H5Fcreate(file_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
  EXPECT_TRUE(mentions(refusal(), "no group data"));
}

TEST_F(Robomimic, files_whose_values_lie_in_others_are_refused) {
  const auto other = folder_ / "other.hdf5", raw = folder_ / "raw";
  std::filesystem::copy_file(file_, other);
  test::write_file(raw, std::string(3 * 7 * 8, '\0'));
  change([&](hid_t file) {
    H5Ldelete(file, "data/demo_0/actions", H5P_DEFAULT);
    H5Lcreate_external(other.c_str(), "data/demo_0/actions", file, "data/demo_0/actions", H5P_DEFAULT, H5P_DEFAULT);
  });
  EXPECT_TRUE(mentions(refusal(), "data/demo_0/actions: not in the file"));
  change([&](hid_t file) {
    H5Ldelete(file, "data/demo_0/actions", H5P_DEFAULT);
    const hsize_t sizes[] = {3, 7};
    const hid_t space = H5Screate_simple(2, sizes, nullptr), made = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(made, raw.c_str(), 0, 3 * 7 * 8);
    H5Dclose(H5Dcreate2(file, "data/demo_0/actions", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, made, H5P_DEFAULT));
    H5Pclose(made);
    H5Sclose(space);
  });
  EXPECT_TRUE(mentions(refusal(), "data/demo_0/actions: its values lie in another file"));
}

TEST_F(Robomimic, a_pipe_is_not_waited_for_and_a_missing_file_named) {
  std::filesystem::remove(file_);
  EXPECT_TRUE(mentions(refusal(), "No such file or directory"));
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  EXPECT_TRUE(mentions(refusal(), "it is not a regular file"));
  EXPECT_TRUE(mentions(test::error_of([&] { write_robomimic(file_, "{}"); }), "it exists and is not a regular file"));
}

TEST_F(Robomimic, files_that_are_not_finished_do_not_appear) {
  const auto other = folder_ / "half.hdf5";
  write_robomimic(other, "{}")->add(made_episode(1, 0));
  EXPECT_FALSE(std::filesystem::exists(other));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1);
}

}  // namespace
}  // namespace fib::robots
