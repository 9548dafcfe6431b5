// SPDX-License-Identifier: Apache-2.0
#include "base/npy.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>

#include "files.h"

namespace fib {
namespace {

using test::error_of;
using test::mentions;
using test::read_file;
using test::TemporaryDirectory;
using test::write_file;

std::string length_field(size_t value, size_t bytes) {
  std::string field;
  for (size_t i = 0; i < bytes; ++i) field += static_cast<char>(value >> (8 * i));
  return field;
}

std::string npy(const std::string& dict, size_t data_bytes, int version = 1) {
  return "\x93NUMPY" + std::string(1, static_cast<char>(version)) + std::string(1, '\0') +
         length_field(dict.size(), version == 1 ? 2 : 4) + dict + std::string(data_bytes, '\1');
}

std::string dict(const std::string& descr, const std::string& shape, const std::string& order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

std::string refusal(const std::string& content) {
  const std::string message = error_of([&] { parse_npy(std::as_bytes(std::span(content)), "x.npy"); });
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  return message;
}

template <class T>
void expect_round_trip(const std::vector<int64_t>& shape, const std::vector<T>& values) {
  TemporaryDirectory dir;
  write_npy<T>(dir / "a.npy", shape, values);
  const NpyArray array(dir / "a.npy");
  EXPECT_EQ(array.shape(), shape);
  const auto read = array.values<T>();
  ASSERT_EQ(read.size(), values.size());
  EXPECT_TRUE(values.empty() || std::memcmp(read.data(), values.data(), read.size_bytes()) == 0);
}

TEST(Npy, reads_back_what_it_wrote_bit_by_bit) {
  std::vector<float> floats(24);
  std::iota(floats.begin(), floats.end(), -3.5f);
  floats[5] = std::numeric_limits<float>::quiet_NaN();
  floats[6] = std::numeric_limits<float>::denorm_min();
  expect_round_trip<float>({2, 3, 1, 4}, floats);
  expect_round_trip<float>({24}, floats);
  expect_round_trip<double>({}, {0.1});
  expect_round_trip<double>({2, 0, 3}, {});
}

TEST(Npy, values_start_at_a_multiple_of_64_as_numpy_writes_them) {
  TemporaryDirectory dir;
  const std::vector<int64_t> shape{1, 2};
  write_npy<float>(dir / "a.npy", shape, std::array{1.0f, 2.0f});
  const std::string content = read_file(dir / "a.npy");
  EXPECT_EQ(content.size(), 128u + 8u);
  EXPECT_EQ(content.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_EQ(content.substr(10, 60), "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), } ");
  EXPECT_EQ(content[127], '\n');
}

TEST(Npy, reads_versions_one_to_three) {
  for (const int version : {1, 2, 3}) {
    const std::string content = npy(dict("<f8", "(2, 3)"), 48, version);
    const NpyHeader header = parse_npy(std::as_bytes(std::span(content)), "x.npy");
    EXPECT_EQ(header.type, NpyType::float64);
    EXPECT_EQ(header.shape, (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(header.data_begin, content.size() - 48);
  }
}

TEST(Npy, reads_keys_in_any_order_and_both_quotes) {
  EXPECT_EQ(refusal(npy(R"({"shape": (3L,), "fortran_order": False, "descr": "<f4"})", 12)), "");
}

TEST(Npy, reads_values_that_an_odd_header_leaves_misaligned) {
  TemporaryDirectory dir;
  std::string content = npy("{'descr': '<f8','fortran_order': False,'shape': (1,)}", 0);
  ASSERT_NE(content.size() % 8, 0u);
  const double value = 1.25;
  content.append(reinterpret_cast<const char*>(&value), sizeof(value));
  write_file(dir / "a.npy", content);
  EXPECT_EQ(NpyArray(dir / "a.npy").values<double>()[0], 1.25);
}

TEST(Npy, refuses_what_is_no_npy_file) {
  EXPECT_TRUE(mentions(refusal(""), "not a .npy file"));
  EXPECT_TRUE(mentions(refusal("hello world"), "begins with 'hello '"));
  EXPECT_TRUE(mentions(refusal("\x93NUMPY"), "truncated"));
  EXPECT_TRUE(mentions(refusal(npy(dict("<f4", "(1,)"), 4, 4)), "version 4, accepted are 1, 2 and 3"));
}

TEST(Npy, refuses_every_truncation) {
  for (const int version : {1, 2}) {
    const std::string whole = npy(dict("<f4", "(2, 2)"), 16, version);
    for (size_t length = 0; length < whole.size(); ++length) EXPECT_NE(refusal(whole.substr(0, length)), "") << length;
  }
  EXPECT_TRUE(mentions(refusal(npy(dict("<f4", "(2, 2)"), 15)), "(2, 2) of float32 needs 16 bytes, the file holds 15"));
}

TEST(Npy, refuses_bytes_after_the_values) {
  EXPECT_TRUE(mentions(refusal(npy(dict("<f8", "(2,)"), 17)), "1 bytes follow the 16 of shape (2,) of float64"));
}

TEST(Npy, refuses_other_types_and_orders_by_name) {
  EXPECT_TRUE(mentions(refusal(npy(dict("<i8", "(1,)"), 8)), "dtype '<i8', accepted are '<f4' (float32)"));
  EXPECT_TRUE(mentions(refusal(npy(dict("<f2", "(1,)"), 2)), "'<f2'"));
  EXPECT_TRUE(mentions(refusal(npy(dict("|O", "(1,)"), 8)), "'|O'"));
  EXPECT_TRUE(mentions(refusal(npy(dict(">f4", "(1,)"), 4)), "big-endian"));
  EXPECT_TRUE(mentions(refusal(npy(dict("<f4", "(2, 2)", "True"), 16)), "Fortran order, accepted is C order"));
  EXPECT_TRUE(
      mentions(refusal(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", 4)), "structured"));
}

TEST(Npy, refuses_absurd_shapes) {
  EXPECT_TRUE(mentions(refusal(npy(dict("<f4", "(-1,)"), 4)), "impossible shape (-1,)"));
  EXPECT_TRUE(mentions(refusal(npy(dict("<f4", "(4611686018427387904, 4)"), 4)), "impossible shape"));
  EXPECT_TRUE(mentions(refusal(npy(dict("<f4", "(0, 4611686018427387904, 4)"), 0)), "impossible shape"));
  EXPECT_TRUE(mentions(refusal(npy(dict("<f4", "(99999999999999999999,)"), 4)), "below 2^63"));
  std::string many = "(";
  for (int i = 0; i < 33; ++i) many += "1,";
  EXPECT_TRUE(mentions(refusal(npy(dict("<f4", many + ")"), 4)), "33 dimensions"));
}

TEST(Npy, refuses_malformed_headers) {
  const std::array<std::string, 12> malformed{"",
                                              "{",
                                              "{}",
                                              "[]",
                                              "{'descr': '<f4'}",
                                              "{'descr' '<f4'}",
                                              "{'descr': '<f4, 'shape': (1,)}",
                                              "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
                                              "{'descr': '<f4', 'fortran_order': False, 'shape': (1)}",
                                              "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
                                              "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
                                              "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': '1'}"};
  for (const std::string& text : malformed)
    EXPECT_TRUE(mentions(refusal(npy(text, 4)), "'x.npy': malformed .npy header")) << text;
}

TEST(Npy, gives_bytes_to_those_who_ask_for_them_alone) {
  TemporaryDirectory dir;
  const std::vector<uint8_t> bytes = {0, 7, 255, 128, 1, 2};
  write_npy<uint8_t>(dir / "bytes.npy", std::vector<int64_t>{3, 2}, bytes);
  const NpyArray array(dir / "bytes.npy", NpyAccepted::bytes);
  const auto read = array.values<uint8_t>();
  EXPECT_EQ(std::vector<uint8_t>(read.begin(), read.end()), bytes);
  EXPECT_TRUE(mentions(error_of([&] { NpyArray(dir / "bytes.npy"); }), "dtype '|u1', accepted are '<f4'"));
  write_npy<float>(dir / "floats.npy", std::vector<int64_t>{1}, std::array{1.0f});
  EXPECT_TRUE(mentions(error_of([&] { NpyArray(dir / "floats.npy", NpyAccepted::bytes); }), "accepted is '|u1'"));
}

TEST(Npy, names_missing_files_and_directories) {
  TemporaryDirectory dir;
  EXPECT_TRUE(mentions(error_of([&] { NpyArray(dir / "none.npy"); }), "none.npy': No such file"));
  EXPECT_TRUE(mentions(error_of([&] { NpyArray(dir.path()); }), "it is a directory"));
  EXPECT_TRUE(mentions(error_of([&] { NpyArray("/dev/null"); }), "not a regular file"));
}

TEST(Npy, refuses_to_write_values_that_do_not_fill_the_shape) {
  TemporaryDirectory dir;
  const std::array values{1.0f, 2.0f};
  const std::vector<int64_t> shape{3};
  EXPECT_THROW(write_npy<float>(dir / "a.npy", shape, values), std::invalid_argument);
  EXPECT_EQ(dir.entries(), 0u);
}

}  // namespace
}  // namespace fib
