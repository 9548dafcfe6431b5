// SPDX-License-Identifier: Apache-2.0
#include "robots/robomimic.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hdf5.h>

#include <cmath>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "base/atomic_file.h"
#include "base/system.h"

namespace fib::robots {
namespace {

using Shape = std::vector<hsize_t>;

/// Far above any demonstration, far below what a machine has.
constexpr hsize_t kMaxRows = 100'000;
constexpr hsize_t kImageSide = 84;

/// HDF5 as Debian builds it serves one thread at a time.
std::mutex& hdf5_mutex() {
  static std::mutex mutex;
  return mutex;
}

/// One of HDF5's numbers, closed by the function that fits its kind.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle(hid_t id, Close close) : id_(id), close_(close) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&&) = delete;
  operator hid_t() const { return id_; }  // NOLINT(google-explicit-constructor): HDF5's functions take the number

 private:
  hid_t id_;
  Close close_;
};

[[noreturn]] void fail(const std::string& name, const std::string& reason) {
  throw std::runtime_error(fmt::format("{}: {}", name, reason));
}

/// HDF5 prints what went wrong unless told not to; here each failure is one line of ours. And it follows links to other
/// files, which a file of others may name as it likes.
void prepare_hdf5() {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  H5Lunregister(H5L_TYPE_EXTERNAL);
}

class Reader final : public RobomimicReader {
 public:
  explicit Reader(std::string file) : name_(std::move(file)), file_(opened(name_)) {
    const Handle data(H5Gopen2(file_, "data", H5P_DEFAULT), H5Gclose);
    if (data < 0) fail(name_, "no group data; accepted: a file of robomimic");
    while (H5Lexists(data, fmt::format("demo_{}", lengths_.size()).c_str(), H5P_DEFAULT) > 0) {
      const Shape shape = shape_of(opened_data(lengths_.size(), "actions"));
      if (shape.size() != 2 || shape[0] == 0 || shape[0] > kMaxRows)
        fail(place(lengths_.size(), "actions"),
             fmt::format("shape ({}); accepted: rows of actions", fmt::join(shape, ", ")));
      lengths_.push_back(static_cast<int64_t>(shape[0]));
    }
    if (lengths_.empty()) fail(name_, "no episode data/demo_0; accepted: a file of robomimic");
  }
  ~Reader() override = default;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  const std::vector<int64_t>& lengths() const override { return lengths_; }

  std::vector<double> numbers(size_t episode, const std::string& key, int64_t columns) const override {
    const std::vector<double> values = read<double>(episode, key, {static_cast<hsize_t>(columns)}, H5T_NATIVE_DOUBLE);
    for (size_t i = 0; i < values.size(); ++i) {
      if (!std::isfinite(values[i])) {
        fail(place(episode, key),
             fmt::format("row {} holds {}; accepted: finite numbers", i / static_cast<size_t>(columns), values[i]));
      }
    }
    return values;
  }

  std::vector<uint8_t> images(size_t episode, const std::string& key, int64_t side) const override {
    const auto s = static_cast<hsize_t>(side);
    return read<uint8_t>(episode, key, {s, s, 3}, H5T_NATIVE_UINT8);
  }

 private:
  static Handle opened(const std::string& name) {
    const std::lock_guard lock(hdf5_mutex());
    prepare_hdf5();
    Handle file(H5Fopen(name.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    if (file < 0) fail(name, "not an HDF5 file, damaged or cut short");
    return file;
  }

  std::string place(size_t episode, const std::string& key) const {
    return fmt::format("{}: data/demo_{}/{}", name_, episode, key);
  }

  Handle opened_data(size_t episode, const std::string& key) const {
    Handle set(H5Dopen2(file_, fmt::format("data/demo_{}/{}", episode, key).c_str(), H5P_DEFAULT), H5Dclose);
    if (set < 0) fail(place(episode, key), "not in the file");
    const Handle made(H5Dget_create_plist(set), H5Pclose);
    if (H5Pget_external_count(made) != 0 || H5Pget_layout(made) == H5D_VIRTUAL)
      fail(place(episode, key), "its values lie in another file; accepted: in this one");
    return set;
  }

  static Shape shape_of(hid_t set) {
    const Handle space(H5Dget_space(set), H5Sclose);
    Shape shape(static_cast<size_t>(std::max(0, H5Sget_simple_extent_ndims(space))));
    H5Sget_simple_extent_dims(space, shape.data(), nullptr);
    return shape;
  }

  template <class T>
  std::vector<T> read(size_t episode, const std::string& key, const Shape& row, hid_t type) const {
    const std::lock_guard lock(hdf5_mutex());
    const Handle set = opened_data(episode, key);
    Shape wanted{static_cast<hsize_t>(lengths_[episode])};
    wanted.insert(wanted.end(), row.begin(), row.end());
    if (const Shape shape = shape_of(set); shape != wanted) {
      fail(place(episode, key),
           fmt::format("shape ({}); accepted: ({})", fmt::join(shape, ", "), fmt::join(wanted, ", ")));
    }
    const Handle stored(H5Dget_type(set), H5Tclose);
    const H5T_class_t kind = H5Tget_class(stored);
    if (kind != H5T_INTEGER && (kind != H5T_FLOAT || type == H5T_NATIVE_UINT8))
      fail(place(episode, key), type == H5T_NATIVE_UINT8 ? "accepted: bytes" : "accepted: numbers");
    hsize_t count = 1;
    for (const hsize_t n : wanted) count *= n;
    std::vector<T> values(count);
    if (H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0)
      fail(place(episode, key), "damaged or cut short");
    return values;
  }

  std::string name_;
  Handle file_;
  std::vector<int64_t> lengths_;
};

class Writer final : public RobomimicWriter {
 public:
  Writer(const std::string& target, const std::string& environment)
      : target_(target), name_(target), file_(created(name_)) {
    const std::lock_guard lock(hdf5_mutex());
    const Handle data = group("data");
    write_text(data, "env_args", environment);
  }
  ~Writer() override = default;
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void add(const RobomimicEpisode& e) override {
    const std::lock_guard lock(hdf5_mutex());
    const std::string name = fmt::format("data/demo_{}", episodes_++);
    const auto rows = static_cast<hsize_t>(e.length);
    const Handle demo = group(name), obs = group(name + "/obs");
    write_integer(demo, "num_samples", e.length);
    write_text(demo, "model_file", e.model);
    write(name + "/actions", H5T_NATIVE_DOUBLE, {rows, 7}, e.actions.data());
    write(name + "/states", H5T_NATIVE_DOUBLE, {rows, e.states.size() / rows}, e.states.data());
    write(name + "/rewards", H5T_NATIVE_DOUBLE, {rows}, e.rewards.data());
    std::vector<int64_t> dones(static_cast<size_t>(e.length), 0);
    dones.back() = 1;
    write(name + "/dones", H5T_NATIVE_INT64, {rows}, dones.data());
    write(name + "/obs/agentview_image", H5T_NATIVE_UINT8, {rows, kImageSide, kImageSide, 3}, e.agentview.data());
    write(name + "/obs/robot0_eye_in_hand_image", H5T_NATIVE_UINT8, {rows, kImageSide, kImageSide, 3},
          e.eye_in_hand.data());
    write(name + "/obs/robot0_eef_pos", H5T_NATIVE_DOUBLE, {rows, 3}, e.eef_pos.data());
    write(name + "/obs/robot0_eef_quat", H5T_NATIVE_DOUBLE, {rows, 4}, e.eef_quat.data());
    write(name + "/obs/robot0_gripper_qpos", H5T_NATIVE_DOUBLE, {rows, 2}, e.gripper.data());
    total_ += e.length;
  }

  void finish() override {
    const std::lock_guard lock(hdf5_mutex());
    {
      const Handle data(H5Gopen2(file_, "data", H5P_DEFAULT), H5Gclose);
      write_integer(data, "total", total_);
    }
    check(H5Fflush(file_, H5F_SCOPE_GLOBAL));
    name_.commit();
  }

 private:
  static Handle created(const AtomicName& name) {
    const std::lock_guard lock(hdf5_mutex());
    prepare_hdf5();
    Handle file(H5Fcreate(name.temporary().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    if (file < 0) fail(name.target(), "cannot be made");
    return file;
  }

  void check(herr_t result) const {
    if (result < 0 || refused_by_test(SystemRequest::write)) fail(target_, "cannot be written");
  }

  Handle group(const std::string& name) const {
    Handle made(H5Gcreate2(file_, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
    if (made < 0) fail(target_, "cannot be written");
    return made;
  }

  void write_text(hid_t place, const char* name, const std::string& text) const {
    const Handle type(H5Tcopy(H5T_C_S1), H5Tclose), space(H5Screate(H5S_SCALAR), H5Sclose);
    check(H5Tset_size(type, H5T_VARIABLE));
    check(H5Tset_cset(type, H5T_CSET_UTF8));
    const Handle made(H5Acreate2(place, name, type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    const char* const pointer = text.c_str();
    check(H5Awrite(made, type, &pointer));
  }

  void write_integer(hid_t place, const char* name, int64_t value) const {
    const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
    const Handle made(H5Acreate2(place, name, H5T_NATIVE_INT64, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    check(H5Awrite(made, H5T_NATIVE_INT64, &value));
  }

  /// Images are packed, a row of the array in each chunk: a simulated room compresses to a third.
  void write(const std::string& name, hid_t type, const Shape& shape, const void* values) const {
    const Handle space(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr), H5Sclose);
    const Handle layout(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    check(H5Pset_obj_track_times(layout, false));  // the same episodes give the same file
    if (shape.size() == 4) {
      Shape chunk = shape;
      chunk.front() = 1;
      check(H5Pset_chunk(layout, static_cast<int>(chunk.size()), chunk.data()));
      check(H5Pset_deflate(layout, 1));
    }
    const Handle set(H5Dcreate2(file_, name.c_str(), type, space, H5P_DEFAULT, layout, H5P_DEFAULT), H5Dclose);
    check(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
  }

  std::string target_;
  AtomicName name_;  ///< outlives the file that HDF5 has open
  Handle file_;
  int64_t episodes_ = 0, total_ = 0;
};

}  // namespace
}  // namespace fib::robots

extern "C" fib::robots::RobomimicReader* fib_read_robomimic(const char* file) { return new fib::robots::Reader(file); }

extern "C" fib::robots::RobomimicWriter* fib_write_robomimic(const char* file, const char* environment) {
  return new fib::robots::Writer(file, environment);
}
