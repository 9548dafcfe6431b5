// SPDX-License-Identifier: Apache-2.0
// Outputs computed elsewhere, by a public reference in float64, on the golden fill.
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "oracle/case_run.h"

namespace fib::test {
namespace {

constexpr int64_t kHeads = 4, kPatches = 16, kDim = 8;

std::vector<HeadPattern> same_heads(const HeadPattern& pattern) { return std::vector<HeadPattern>(kHeads, pattern); }

std::vector<HeadPattern> heads_of(const std::string& name, const nlohmann::json& golden) {
  std::vector<int64_t> every(kPatches - 1);
  std::iota(every.begin(), every.end(), 1);
  if (name == "full") return same_heads({0, every, true, {}});
  if (name == "longformer_w1_cls_global") return same_heads({0, {1}, true, {}});
  if (name == "local_w2_no_diagonal") return same_heads({0, {1, 2}, false, {}});
  if (name == "sparse_transformer_headsplit_local1_stride5") {
    return {{0, {1}, true, {}}, {0, {5, 10, 15}, true, {}}, {0, {1}, true, {}}, {0, {5, 10, 15}, true, {}}};
  }
  if (name == "bigbird_w1_g1_explicit_pairs") {
    HeadPattern head{0, {1}, true, {}};
    for (const auto& p : golden[name]["pairs"]) head.pairs.push_back({p[0].get<int32_t>(), p[1].get<int32_t>()});
    return same_heads(head);
  }
  const std::string offsets_of = name == "fib_wythoff_scorezero" ? "fibottention_wythoff_wmin2_wmax12" : name;
  std::vector<HeadPattern> heads;
  for (const auto& offsets : golden[offsets_of]["offsets"]) heads.push_back({0, offsets, false, {}});
  return heads;
}

std::vector<double> attend(const SupportSet& support, Masking masking) {
  const AttentionShape shape{1, kHeads, kPatches + 1, kPatches + 1, kDim, kDim};
  const int64_t row = kDim, head = (kPatches + 1) * kDim, count = kHeads * head;
  const std::vector<double> q = golden::stream("q", count), k = golden::stream("k", count),
                            v = golden::stream("v", count);
  std::vector<double> out(q.size());
  AttentionOptions<double> options;
  options.masking = masking;
  attention_forward<double>(support, shape,
                            {{q.data(), count, head, row}, {k.data(), count, head, row}, {v.data(), count, head, row}},
                            {out.data(), count, head, row}, nullptr, options);
  return out;
}

TEST(Golden, fill_gives_the_published_stream) {
  EXPECT_EQ(golden::fnv1a64("cls_token"), UINT64_C(0x4121142b781a9599));
  const std::vector<double> input = golden::stream("input", 4);
  EXPECT_EQ(input[0], -0.8043633146849236);
  EXPECT_EQ(input[3], -0.45111067425569296);
}

TEST(Golden, supports_give_the_reference_outputs) {
  const auto golden = nlohmann::json::parse(std::ifstream(FIB_TEST_DATA "/attention_ops.json"))["results"];
  EXPECT_EQ(golden.size(), 8u);
  for (const auto& [name, expected] : golden.items()) {
    SCOPED_TRACE(name);
    const SupportSet support(kPatches, 1, heads_of(name, golden));
    for_each_target([&, &want = expected, &op = name] {
      const auto out = attend(support, op == "fib_wythoff_scorezero" ? Masking::zero : Masking::exclude);
      for (size_t i = 0; i < 8; ++i) EXPECT_NEAR(out[i], want["first8"][i].get<double>(), 1e-14);
      EXPECT_NEAR(std::sqrt(std::inner_product(out.begin(), out.end(), out.begin(), 0.0)), want["l2"], 1e-12);
      EXPECT_NEAR(std::accumulate(out.begin(), out.end(), 0.0), want["sum"], 1e-12);
      EXPECT_EQ(std::max_element(out.begin(), out.end()) - out.begin(), want["argmax"].get<int64_t>());
    });
  }
}

}  // namespace
}  // namespace fib::test
