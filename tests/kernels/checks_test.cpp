// SPDX-License-Identifier: Apache-2.0
// Bad arguments are refused with one line that names the value received.
#include <stdexcept>

#include "oracle/case_run.h"

namespace fib::test {
namespace {

/// A valid call, to be spoiled in one place at a time.
struct Attempt {
  std::vector<HeadPattern> heads = {HeadPattern{0, {1}, false, {}}, HeadPattern{0, {2}, false, {}}};
  SupportSet support{4, 1, heads};
  AttentionShape shape{2, 2, 5, 5, 3, 3};
  std::vector<float> memory = std::vector<float>(2 * 2 * 5 * 5, 0.5f), lse = std::vector<float>(20, 0.0f);
  TokenView<const float> in{memory.data(), 30, 15, 3};
  TokenView<float> out{memory.data(), 30, 15, 3};
  AttentionInputs<float> inputs{in, in, in};
  AttentionGradients<float> gradients{out, out, out, {}};
  AttentionOptions<float> options;
  std::vector<int64_t> lengths{5, 5};

  std::string forward_error() {
    try {
      attention_forward<float>(support, shape, inputs, out, lse.data(), options);
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "";
  }
  std::string backward_error(const float* with_lse) {
    try {
      attention_backward<float>(support, shape, inputs, in, with_lse, in, gradients, options);
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "";
  }
};

void expect_mentions(const std::string& error, const std::vector<std::string>& words) {
  for (const std::string& word : words) EXPECT_NE(error.find(word), std::string::npos) << "'" << error << "'";
  EXPECT_EQ(error.find('\n'), std::string::npos);
}

template <class Spoil>
std::string refused(Spoil spoil) {
  Attempt a;
  spoil(a);
  return a.forward_error();
}

TEST(Checks, shapes_must_fit_the_support) {
  expect_mentions(refused([](Attempt& a) { a.shape.heads = 3; }), {"heads is 3", "has 2"});
  expect_mentions(refused([](Attempt& a) { a.shape.heads = 0; }), {"heads is 0", "has 2"});
  expect_mentions(refused([](Attempt& a) { a.shape.query_tokens = 6; }), {"query_tokens is 6", "has 5"});
  expect_mentions(refused([](Attempt& a) { a.shape.key_tokens = 4; }), {"key_tokens is 4", "has 5"});
  expect_mentions(refused([](Attempt& a) { a.shape.dim = 513; }), {"dim must be 1 to 512", "513"});
  expect_mentions(refused([](Attempt& a) { a.shape.value_dim = 0; }), {"value_dim", "got 0"});
  expect_mentions(refused([](Attempt& a) { a.shape.batch = -1; }), {"batch", "-1"});
}

TEST(Checks, pointers_must_be_there) {
  expect_mentions(refused([](Attempt& a) { a.inputs.k.data = nullptr; }), {"k must not be null"});
  expect_mentions(refused([](Attempt& a) { a.out.data = nullptr; }), {"out must not be null"});
  Attempt a;
  expect_mentions(a.backward_error(nullptr), {"lse must not be null"});
}

TEST(Checks, options_must_make_sense) {
  expect_mentions(refused([](Attempt& a) { a.options.dropout = 1.0; }), {"dropout", "1.0"});
  expect_mentions(refused([](Attempt& a) { a.options.dropout = std::nan(""); }), {"dropout", "nan"});
  expect_mentions(refused([](Attempt& a) { a.options.scale = INFINITY; }), {"scale", "inf"});
  expect_mentions(refused([](Attempt& a) {
                    a.lengths[1] = 6;
                    a.options.lengths = a.lengths.data();
                  }),
                  {"sample 1", "0 to 5", "got 6"});
  expect_mentions(refused([](Attempt& a) {
                    a.options.bias.data = a.memory.data();
                    a.options.bias.groups = 3;
                  }),
                  {"groups", "batch 2", "got 3"});
}

TEST(Checks, zero_masking_stands_alone) {
  const auto with = [](auto spoil) {
    return refused([&](Attempt& a) {
      a.options.masking = Masking::zero;
      spoil(a);
    });
  };
  expect_mentions(with([](Attempt& a) { a.options.dropout = 0.1; }), {"masking zero", "dropout"});
  expect_mentions(with([](Attempt& a) { a.options.lengths = a.lengths.data(); }), {"masking zero", "lengths"});
  expect_mentions(with([](Attempt& a) { a.options.bias.data = a.memory.data(); }), {"masking zero", "bias"});
  expect_mentions(with([](Attempt& a) { a.support = SupportSet(4, 1, a.heads, true); }), {"masking zero", "causal"});
}

TEST(Checks, a_bias_gradient_must_match_its_bias) {
  Attempt a;
  a.gradients.dbias = {a.memory.data(), 1, 0, 25, 5, 1};
  expect_mentions(a.backward_error(a.lse.data()), {"needs a bias"});
  a.options.bias = {a.memory.data(), 1, 0, 0, 5, 1};
  expect_mentions(a.backward_error(a.lse.data()), {"share heads alike", "0 and 25"});
  a.options.bias.groups = 2;
  expect_mentions(a.backward_error(a.lse.data()), {"1 groups", "the bias 2"});
}

}  // namespace
}  // namespace fib::test
