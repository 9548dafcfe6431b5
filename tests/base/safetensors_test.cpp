// SPDX-License-Identifier: Apache-2.0
#include "base/safetensors.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>

#include "files.h"

namespace fib {
namespace {

using test::error_of;
using test::mentions;
using test::read_file;
using test::TemporaryDirectory;
using test::write_file;

std::string with_length(const std::string& header, uint64_t length, size_t data_bytes) {
  return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + header + std::string(data_bytes, '\0');
}

std::string file_of(const std::string& header, size_t data_bytes) {
  return with_length(header, header.size(), data_bytes);
}

SafetensorsContent parse(const std::string& content) {
  return parse_safetensors(std::as_bytes(std::span(content)), "x.safetensors");
}

std::string tensors_refusal(const std::string& content) {
  const std::string message = error_of([&] { parse(content); });
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  return message;
}

std::string tensor(const std::string& name, const std::string& type, const std::string& shape,
                   const std::string& offsets) {
  return '"' + name + R"(":{"dtype":")" + type + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

template <class T>
std::span<const std::byte> bytes_of(const T& values) {
  return std::as_bytes(std::span(values));
}

TEST(Safetensors, reads_back_what_it_wrote) {
  TemporaryDirectory dir;
  const std::array weights{1.5f, -2.0f, 3.25f, 0.0f, 5.0f, 6.0f};
  const std::array<int64_t, 1> steps{7};
  const std::array<uint8_t, 3> flags{1, 0, 1};
  const std::array<TensorView, 4> tensors{TensorView{"blocks.0.w", TensorType::f32, {2, 3}, bytes_of(weights)},
                                          TensorView{"flags", TensorType::boolean, {3}, bytes_of(flags)},
                                          TensorView{"steps", TensorType::i64, {}, bytes_of(steps)},
                                          TensorView{"empty \"quoted\" é", TensorType::f16, {0, 4}, {}}};
  write_safetensors(dir / "a.safetensors", tensors, {{"format", "pt"}, {"note", "two\nlines"}});
  const SafetensorsFile file(dir / "a.safetensors");
  EXPECT_EQ(file.tensors().size(), 4u);
  EXPECT_EQ(file.metadata().at("note"), "two\nlines");
  for (const TensorView& written : tensors) {
    const TensorView* read = file.find(written.name);
    ASSERT_NE(read, nullptr) << written.name;
    EXPECT_EQ(read->type, written.type);
    EXPECT_EQ(read->shape, written.shape);
    EXPECT_TRUE(std::ranges::equal(read->bytes, written.bytes));
  }
  EXPECT_EQ(file.find("absent"), nullptr);
}

TEST(Safetensors, writes_the_same_aligned_file_in_whatever_order_the_tensors_come) {
  TemporaryDirectory dir;
  const std::array<uint8_t, 3> small{1, 2, 3};
  const std::array<double, 2> large{4.0, 5.0};
  const TensorView a{"a", TensorType::u8, {3}, bytes_of(small)}, b{"b", TensorType::f64, {2}, bytes_of(large)};
  write_safetensors(dir / "ab", std::array{a, b});
  write_safetensors(dir / "ba", std::array{b, a});
  const std::string content = read_file(dir / "ab");
  EXPECT_EQ(content, read_file(dir / "ba"));
  EXPECT_EQ(content.substr(8, 57), R"({"b":{"dtype":"F64","shape":[2],"data_offsets":[0,16]},"a)");
  const SafetensorsFile file(dir / "ab");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(file.find("b")->bytes.data()) % 8, 0u);
}

TEST(Safetensors, refuses_to_write_what_it_could_not_read) {
  TemporaryDirectory dir;
  const std::array values{1.0f, 2.0f};
  const TensorView good{"a", TensorType::f32, {2}, bytes_of(values)};
  const auto error = [&](TensorView bad) {
    return error_of([&] { write_safetensors(dir / "x", std::array{good, bad}); });
  };
  EXPECT_TRUE(mentions(error(good), "'a' given twice"));
  EXPECT_TRUE(mentions(error({"b", TensorType::f32, {3}, good.bytes}), "8 bytes do not fill F32 of shape (3,)"));
  EXPECT_TRUE(mentions(error({"__metadata__", TensorType::f32, {2}, good.bytes}), "__metadata__"));
  EXPECT_TRUE(mentions(error({"\xff", TensorType::f32, {2}, good.bytes}), "not UTF-8"));
  EXPECT_EQ(dir.entries(), 0u);
}

TEST(Safetensors, accepts_tensors_listed_in_any_order_and_padding_after_the_header) {
  const auto content = "{" + tensor("b", "F32", "[1]", "[4,8]") + "," + tensor("a", "I32", "[1]", "[0,4]") + "}   ";
  const std::string file = file_of(content, 8);
  const SafetensorsContent parsed = parse(file);
  ASSERT_EQ(parsed.tensors.size(), 2u);
  EXPECT_EQ(parsed.tensors[0].name, "a");
  EXPECT_EQ(parsed.tensors[1].name, "b");
}

TEST(Safetensors, accepts_no_tensors_at_all) {
  EXPECT_EQ(tensors_refusal(file_of("{}", 0)), "");
  EXPECT_EQ(tensors_refusal(file_of(R"({"__metadata__":{}})", 0)), "");
}

TEST(Safetensors, refuses_a_header_that_lies_about_the_file) {
  EXPECT_TRUE(mentions(tensors_refusal(""), "only 0 bytes"));
  EXPECT_TRUE(mentions(tensors_refusal("1234567"), "only 7 bytes"));
  EXPECT_TRUE(mentions(tensors_refusal(with_length("{}", 3, 0)), "header of 3 bytes is announced, the file has 10"));
  EXPECT_TRUE(mentions(tensors_refusal(with_length("{}", 100'000'001, 0)), "accepted are up to 100000000"));
  EXPECT_TRUE(mentions(tensors_refusal(with_length("{}", ~uint64_t{0}, 0)), "18446744073709551615"));
  EXPECT_TRUE(mentions(tensors_refusal("this is a text file and nothing else"), "not a safetensors file"));
}

TEST(Safetensors, reads_a_header_of_nearly_100_megabytes) {
  const std::string file = file_of("{}" + std::string(99'999'998, ' '), 0);
  EXPECT_EQ(parse(file).tensors.size(), 0u);
}

TEST(Safetensors, refuses_every_truncation) {
  const std::string whole = file_of("{" + tensor("a", "F32", "[2]", "[0,8]") + "}", 8);
  ASSERT_EQ(tensors_refusal(whole), "");
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_NE(tensors_refusal(whole.substr(0, length)), "") << length;
}

TEST(Safetensors, refuses_overlaps_holes_and_ranges_outside) {
  const auto two = [](const std::string& a, const std::string& b) {
    return "{" + tensor("a", "F32", "[2]", a) + "," + tensor("b", "F32", "[2]", b) + "}";
  };
  EXPECT_TRUE(mentions(tensors_refusal(file_of(two("[0,8]", "[4,12]"), 12)), "begins at 4, inside the one before"));
  EXPECT_TRUE(mentions(tensors_refusal(file_of(two("[0,8]", "[0,8]"), 8)), "inside the one before"));
  EXPECT_TRUE(mentions(tensors_refusal(file_of(two("[0,8]", "[9,17]"), 17)), "leaving a hole after 8"));
  EXPECT_TRUE(mentions(tensors_refusal(file_of(two("[0,8]", "[8,16]"), 15)), "outside the 15 bytes"));
  EXPECT_TRUE(mentions(tensors_refusal(file_of(two("[0,8]", "[8,16]"), 20)), "end at byte 16 of 20"));
  EXPECT_TRUE(mentions(tensors_refusal(file_of(two("[0,8]", "[16,8]"), 16)), "run backwards"));
  EXPECT_TRUE(mentions(tensors_refusal(file_of(two("[8,0]", "[0,8]"), 16)), "run backwards"));
}

TEST(Safetensors, refuses_shapes_that_do_not_fit_their_bytes) {
  const auto one = [](const std::string& type, const std::string& shape) {
    return file_of("{" + tensor("a", type, shape, "[0,8]") + "}", 8);
  };
  EXPECT_EQ(tensors_refusal(one("F32", "[2]")), "");
  EXPECT_TRUE(
      mentions(tensors_refusal(one("F32", "[3]")), "F32 of shape (3,) needs 12 bytes, data_offsets [0, 8) hold 8"));
  EXPECT_TRUE(mentions(tensors_refusal(one("F16", "[2]")), "needs 4 bytes"));
  EXPECT_TRUE(mentions(tensors_refusal(one("F32", "[4611686018427387904,2]")), "impossible shape"));
  EXPECT_TRUE(mentions(tensors_refusal(one("F32", "[18446744073709551615]")), "18446744073709551615"));
  EXPECT_TRUE(mentions(tensors_refusal(one("F32", "[-2]")), "-2"));
  EXPECT_TRUE(mentions(tensors_refusal(one("F32", "[2.0]")), "'2.0'"));
  EXPECT_TRUE(mentions(tensors_refusal(one("F8_E4M3", "[8]")), "dtype 'F8_E4M3', accepted are F64"));
}

TEST(Safetensors, refuses_keys_given_twice) {
  const std::string a = tensor("a", "F32", "[0]", "[0,0]");
  EXPECT_TRUE(mentions(tensors_refusal(file_of("{" + a + "," + a + "}", 0)), "key 'a' twice"));
  EXPECT_TRUE(mentions(tensors_refusal(file_of(R"({"__metadata__":{"k":"1","k":"2"}})", 0)), "key 'k' twice"));
  EXPECT_TRUE(
      mentions(tensors_refusal(file_of(R"({"__metadata__":{},"__metadata__":{}})", 0)), "key '__metadata__' twice"));
  EXPECT_TRUE(mentions(tensors_refusal(file_of(R"({"a":{"dtype":"F32","dtype":"F32"}})", 0)), "key 'dtype' twice"));
}

TEST(Safetensors, refuses_malformed_headers) {
  const std::array<std::string, 16> malformed{"",
                                              "{",
                                              "[]",
                                              "null",
                                              "3",
                                              R"({"a":1})",
                                              R"({"a":[]})",
                                              R"({"a":{}})",
                                              "{} {}",
                                              R"({"a":{"dtype":"F32","shape":[0]}})",
                                              R"({"a":{"dtype":3,"shape":[0],"data_offsets":[0,0]}})",
                                              R"({"a":{"dtype":"F32","shape":[[0]],"data_offsets":[0,0]}})",
                                              R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[0]}})",
                                              R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0],"more":1}})",
                                              R"({"__metadata__":{"k":1}})",
                                              "{\"\xff\":{}}"};
  for (const std::string& header : malformed)
    EXPECT_TRUE(mentions(tensors_refusal(file_of(header, 0)), "'x.safetensors': malformed safetensors header"))
        << header;
  EXPECT_NE(tensors_refusal(file_of(std::string(1'000'000, '['), 0)), "");
  EXPECT_NE(tensors_refusal(file_of(R"({"a":)" + std::string(1'000'000, '{'), 0)), "");
}

TEST(Safetensors, messages_stay_on_one_line_whatever_a_tensor_is_called) {
  const std::string message = tensors_refusal(file_of(R"({"a\nb\u001b[31m)" + std::string(500, 'x') + R"(":1})", 0));
  EXPECT_TRUE(mentions(message, R"('a\x0ab\x1b[31mxx)"));
  EXPECT_LT(message.size(), 200u);
}

/// Every half, computed the slow way: (-1)^s · 2^(e-15) · (1 + m/1024).
double half_by_definition(unsigned half) {
  const double sign = half & 0x8000u ? -1.0 : 1.0;
  const int exponent = static_cast<int>(half >> 10 & 0x1fu);
  const double mantissa = half & 0x3ffu;
  if (exponent == 31) return mantissa == 0 ? sign * INFINITY : NAN;
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

TEST(Safetensors, widens_every_half_exactly) {
  std::vector<uint16_t> halves(65536);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i);
  const TensorView tensor{"h", TensorType::f16, {65536}, bytes_of(halves)};
  std::vector<float> values(halves.size());
  copy_values(tensor, std::span(values));
  for (unsigned i = 0; i < 65536; ++i) {
    const double expected = half_by_definition(i);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(values[i])) << i;
    } else {
      EXPECT_EQ(values[i], expected) << i;
      EXPECT_EQ(std::signbit(values[i]), (i & 0x8000u) != 0) << i;
    }
  }
}

TEST(Safetensors, widens_bfloat16_and_float64_from_misaligned_bytes) {
  const std::array<uint16_t, 5> stored{0x3fc0, 0xc000, 0x0001, 0x7f80, 0x7fc1};
  std::array<std::byte, 11> shifted{};
  std::memcpy(shifted.data() + 1, stored.data(), sizeof(stored));
  std::array<float, 5> values{};
  copy_values({"b", TensorType::bf16, {5}, std::span(shifted).subspan(1)}, std::span<float>(values));
  EXPECT_EQ(values[0], 1.5f);
  EXPECT_EQ(values[1], -2.0f);
  EXPECT_EQ(values[2], 0x1p-133f);
  EXPECT_EQ(values[3], INFINITY);
  EXPECT_TRUE(std::isnan(values[4]));
  const std::array exact{0.1, -3.0};
  std::array<double, 2> doubles{};
  copy_values({"d", TensorType::f64, {2}, bytes_of(exact)}, std::span<double>(doubles));
  EXPECT_EQ(doubles, exact);
}

TEST(Safetensors, refuses_to_convert_integers_or_into_another_length) {
  const std::array<int64_t, 2> stored{1, 2};
  std::array<float, 2> values{};
  std::array<float, 3> longer{};
  const TensorView integers{"n", TensorType::i64, {2}, bytes_of(stored)};
  EXPECT_TRUE(mentions(error_of([&] { copy_values(integers, std::span<float>(values)); }), "'n' is I64, accepted are"));
  EXPECT_TRUE(mentions(error_of([&] { copy_values(integers, std::span<float>(longer)); }), "2 values, room is for 3"));
}

TEST(Safetensors, reads_the_weights_people_have) {
  const char* path = std::getenv("FIB_VIT_WEIGHTS");
  if (path == nullptr) GTEST_SKIP() << "FIB_VIT_WEIGHTS does not name timm's vit_tiny_patch16_224 safetensors file";
  const SafetensorsFile file(path);
  EXPECT_EQ(file.tensors().size(), 152u);
  const TensorView* embedding = file.find("pos_embed");
  ASSERT_NE(embedding, nullptr);
  EXPECT_EQ(embedding->shape, (std::vector<int64_t>{1, 197, 192}));
  std::vector<float> values(197 * 192);
  copy_values(*embedding, std::span(values));
  for (const float value : values) ASSERT_TRUE(std::isfinite(value));
  TemporaryDirectory dir;
  write_safetensors(dir / "copy", file.tensors(), file.metadata());
  const SafetensorsFile copy(dir / "copy");
  for (const TensorView& original : file.tensors())
    EXPECT_TRUE(std::ranges::equal(copy.find(original.name)->bytes, original.bytes)) << original.name;
}

}  // namespace
}  // namespace fib
