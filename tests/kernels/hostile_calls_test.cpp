// SPDX-License-Identifier: Apache-2.0
// Calls of the C interface that mean no well: each is refused with one line, and nothing is read or written.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "fibottention/fibottention.h"

namespace {

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

/// Two samples, two heads of five tokens and three channels, to be spoiled in one place.
struct CCall {
  CCall() {
    const fib_geometry geometry{4, 1, 2, -1, 0, 0, 0, 0};
    EXPECT_EQ(fib_pattern_from_spec("local", &geometry, &pattern), FIB_OK);
    fib_attention_init(&call);
    call.batch = 2, call.dim = call.value_dim = 3;
    call.q = array(0), call.k = array(1), call.v = array(2);
  }
  ~CCall() { fib_pattern_free(pattern); }
  CCall(const CCall&) = delete;
  CCall& operator=(const CCall&) = delete;

  fib_array array(size_t i) { return {memory.data() + i * 60, 30, 15, 3}; }
  fib_status forward() { return fib_attention_forward(pattern, &call, out, lse.data()); }
  fib_status backward() { return fib_attention_backward(pattern, &call, out, lse.data(), grad_out, &gradients); }

  std::vector<float> memory = std::vector<float>(8 * 60, 0.5F), lse = std::vector<float>(20);
  fib_pattern* pattern = nullptr;
  fib_attention call;
  fib_array out = array(3), grad_out = array(4);
  fib_gradients gradients{array(5), array(6), array(7), {}};
};

void expect_refused(fib_status status, const std::string& part) {
  EXPECT_EQ(status, FIB_INVALID_ARGUMENT) << part;
  const std::string error = fib_last_error();
  EXPECT_NE(error.find(part), std::string::npos) << error;
  EXPECT_EQ(error.find('\n'), std::string::npos) << error;
}

/// Neither direction begins.
void expect_both_refuse(const std::function<void(CCall&)>& spoil, const std::string& part) {
  CCall c;
  spoil(c);
  const std::vector<float> before = c.memory;
  expect_refused(c.forward(), part);
  expect_refused(c.backward(), part);
  EXPECT_EQ(c.memory, before) << part;
}

TEST(CInterface, calls_as_they_should_be_are_carried_out) {
  CCall c;
  EXPECT_EQ(c.forward(), FIB_OK) << fib_last_error();
  EXPECT_EQ(c.backward(), FIB_OK) << fib_last_error();
}

TEST(CInterface, null_is_an_error_or_nothing) {
  const fib_geometry geometry{4, 1, 2, -1, 0, 0, 0, 0};
  fib_pattern* pattern = nullptr;
  expect_refused(fib_pattern_from_spec(nullptr, &geometry, &pattern), "null");
  expect_refused(fib_pattern_from_spec("local", nullptr, &pattern), "null");
  expect_refused(fib_pattern_from_spec("local", &geometry, nullptr), "null");
  expect_refused(fib_pattern_from_heads(nullptr, &geometry, &pattern), "heads must not be null");
  expect_refused(fib_pattern_rectangular(nullptr, 1, 2, 2, &pattern), "heads must not be null");
  EXPECT_EQ(fib_pattern_heads(nullptr), 0);
  EXPECT_EQ(fib_pattern_query_tokens(nullptr), 0);
  EXPECT_EQ(fib_pattern_key_tokens(nullptr), 0);
  EXPECT_EQ(fib_pattern_pairs(nullptr, -1), -1);
  EXPECT_EQ(fib_pattern_pruning_ratio(nullptr), 0.0);
  EXPECT_EQ(fib_pattern_contains(nullptr, 0, 0, 0), 0);
  fib_attention_init(nullptr);
  expect_refused(fib_set_simd_target(nullptr), "null");
  CCall c;
  expect_refused(fib_attention_forward(c.pattern, nullptr, c.out, nullptr), "call must not be null");
  expect_refused(fib_attention_backward(c.pattern, &c.call, c.out, nullptr, c.grad_out, &c.gradients), "lse");
  expect_refused(fib_attention_backward(c.pattern, &c.call, c.out, c.lse.data(), c.grad_out, nullptr), "gradients");
  c.call.v.data = nullptr;
  expect_refused(c.forward(), "v must not be null");
}

TEST(CInterface, counts_of_a_pattern_that_cannot_be_are_refused_before_they_are_read) {
  const int64_t offset = 1;
  const int32_t pair[] = {0, 0};
  fib_pattern* pattern = nullptr;
  const auto from = [&](const fib_head& head, const fib_geometry& geometry) {
    return fib_pattern_from_heads(&head, &geometry, &pattern);
  };
  const fib_head good{&offset, 1, 0, pair, 1};
  expect_refused(from(good, {4, 1, kHuge, -1, 0, 0, 0, 0}), "heads must be 1 to 65536");
  expect_refused(from(good, {4, 1, -1, -1, 0, 0, 0, 0}), "heads must be 1 to 65536");
  expect_refused(from(good, {kHuge, 1, 1, -1, 0, 0, 0, 0}), "patches must be 1 to");
  expect_refused(from(good, {4, kHuge, 1, -1, 0, 0, 0, 0}), "cls must be 0 to 1024");
  expect_refused(from({&offset, kHuge, 0, nullptr, 0}, {4, 1, 1, -1, 0, 0, 0, 0}), "num_offsets must be 0 to");
  expect_refused(from({&offset, -1, 0, nullptr, 0}, {4, 1, 1, -1, 0, 0, 0, 0}), "num_offsets must be 0 to");
  expect_refused(from({nullptr, 1, 0, nullptr, 0}, {4, 1, 1, -1, 0, 0, 0, 0}), "offsets must not be null");
  expect_refused(from({&offset, 1, 0, pair, kHuge}, {4, 1, 1, -1, 0, 0, 0, 0}), "num_pairs must be at most");
  expect_refused(from({&offset, 1, 0, nullptr, 1}, {4, 1, 1, -1, 0, 0, 0, 0}), "pairs must not be null");
  expect_refused(fib_pattern_rectangular(&good, 1, kHuge, kHuge, &pattern), "tokens must be 1 to");
  expect_refused(fib_pattern_rectangular(&good, kHuge, 2, 2, &pattern), "heads must be 1 to");
  EXPECT_EQ(pattern, nullptr);
}

TEST(CInterface, sizes_that_cannot_be_are_refused) {
  expect_both_refuse([](CCall& c) { c.call.batch = -1; }, "batch");
  expect_both_refuse([](CCall& c) { c.call.dim = 0; }, "dim must be 1 to 512, got 0");
  expect_both_refuse([](CCall& c) { c.call.value_dim = kHuge; }, "value_dim");
  expect_both_refuse([](CCall& c) { c.call.type = static_cast<fib_type>(7); }, "type must be");
  expect_both_refuse([](CCall& c) { c.call.masking = static_cast<fib_masking>(-1); }, "masking must be");
  expect_both_refuse([](CCall& c) { c.call.dropout = std::numeric_limits<double>::quiet_NaN(); }, "dropout");
  expect_both_refuse([](CCall& c) { c.call.scale = std::numeric_limits<double>::infinity(); }, "scale");
}

TEST(CInterface, strides_that_reach_beyond_memory_are_refused) {
  for (const int64_t stride : {kHuge, kHuge / 4, -kHuge, std::numeric_limits<int64_t>::min()}) {
    expect_both_refuse([&](CCall& c) { c.call.q.token_stride = stride; }, "strides of q reach beyond all memory");
    expect_both_refuse([&](CCall& c) { c.call.v.batch_stride = stride; }, "strides of v reach beyond all memory");
  }
}

TEST(CInterface, rows_that_are_written_must_not_overlap) {
  for (const auto& member : {&fib_array::batch_stride, &fib_array::head_stride, &fib_array::token_stride}) {
    for (const int64_t stride : {0, 1, -2}) {
      CCall c;
      c.out.*member = stride;
      expect_refused(c.forward(), "rows of out overlap");
      CCall d;
      d.gradients.dk.*member = stride;
      expect_refused(d.backward(), "rows of dk overlap");
      CCall read;  // what is read may: an expanded tensor has strides of 0
      read.call.k.*member = 0;
      EXPECT_EQ(read.forward(), FIB_OK) << fib_last_error();
    }
  }
}

TEST(CInterface, what_is_written_must_not_be_an_input) {
  for (const auto& member : {&fib_attention::q, &fib_attention::k, &fib_attention::v}) {
    CCall c;
    c.out = c.call.*member;
    expect_refused(c.forward(), "out must not be");
    CCall d;
    d.gradients.dv = d.call.*member;
    expect_refused(d.backward(), "dv must not be");
  }
  CCall c;
  c.gradients.dk = c.gradients.dq;
  expect_refused(c.backward(), "dk must not be dq");
}

TEST(CInterface, arrays_must_be_aligned) {
  const auto moved = [](fib_array& a) { a.data = static_cast<char*>(a.data) + 1; };
  expect_both_refuse([&](CCall& c) { moved(c.call.q); }, "q must be aligned to 4 bytes");
  CCall c;
  moved(c.out);
  expect_refused(c.forward(), "out must be aligned to 4 bytes");
}

TEST(CInterface, a_batch_of_nothing_is_nothing) {
  CCall c;
  c.call.batch = 0;
  c.call.q.data = c.call.k.data = c.call.v.data = c.out.data = nullptr;
  EXPECT_EQ(c.forward(), FIB_OK) << fib_last_error();
}

TEST(CInterface, what_is_no_number_stays_where_it_can_be_seen) {
  CCall c;
  c.memory[0] = std::numeric_limits<float>::quiet_NaN();  // q of the first sample's class token
  ASSERT_EQ(c.forward(), FIB_OK);
  EXPECT_NE(c.memory[3 * 60], c.memory[3 * 60]) << "the row that saw it";
  for (size_t i = 3; i < 60; ++i) EXPECT_EQ(c.memory[3 * 60 + i], 0.5F) << "and no other";
}

}  // namespace
