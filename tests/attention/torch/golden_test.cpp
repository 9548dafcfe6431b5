// SPDX-License-Identifier: Apache-2.0
#include "attention/torch/mechanism.h"
#include "golden_torch.h"

namespace fib::attention {
namespace {

/// q, k, v of the reference: one sample, 4 heads, a class token and 16 patches, 8 channels.
Inputs golden_inputs() {
  return {
      golden::tensor("q", {1, 4, 17, 8}), golden::tensor("k", {1, 4, 17, 8}), golden::tensor("v", {1, 4, 17, 8}), {}};
}

Geometry golden_geometry() {
  Geometry g;
  g.heads = 4;
  g.head_dim = g.value_dim = 8;
  g.query_grid = g.key_grid = {4, 4};
  return g;
}

/// The output as the reference lays it out, [B,H,T,d].
at::Tensor run(const std::string& spec) {
  const MechanismPtr attention = make(AttentionSpec::parse(spec), golden_geometry());
  attention->to(at::kDouble);
  for (auto& item : attention->named_parameters()) {
    const at::NoGradGuard no_grad;
    const std::string name = item.key() == "proj_k" ? "linformer.E" : "linformer.F";
    item.value().copy_(golden::tensor(name, item.value().sizes()));
  }
  return attention->forward(golden_inputs()).view({1, 17, 4, 8}).transpose(1, 2);
}

struct GoldenCase {
  const char* spec;
  const char* result;
};

class GoldenAttention : public testing::TestWithParam<GoldenCase> {};

TEST_P(GoldenAttention, equals_the_reference) {
  const auto results = golden::read_json("golden_attention_mechanisms.json")["attention_ops"]["results"];
  golden::expect_summary(run(GetParam().spec), results[GetParam().result], 1e-12, "with gradients");
  const at::NoGradGuard no_grad;
  golden::expect_summary(run(GetParam().spec), results[GetParam().result], 1e-12, "without");
}

INSTANTIATE_TEST_SUITE_P(
    Mechanisms, GoldenAttention,
    testing::Values(GoldenCase{"full", "full"}, GoldenCase{"topk", "topk3_over_all_keys"},
                    GoldenCase{"linformer", "linformer_k4"}, GoldenCase{"efficient:dim=0", "efficient_attention"},
                    GoldenCase{"fibottention:wmin=2,wmax=12", "fibottention_wythoff_wmin2_wmax12"},
                    GoldenCase{"fibottention-modified:wmin=2,wmax=12", "fibottention_modified_wmin2_wmax12"},
                    GoldenCase{"fibottention:wmin=2,wmax=12,masking=zero", "fib_wythoff_scorezero"},
                    GoldenCase{"longformer", "longformer_w1_cls_global"},
                    GoldenCase{"local:w=2", "local_w2_no_diagonal"},
                    GoldenCase{"sparse-transformer", "sparse_transformer_headsplit_local1_stride5"}),
    [](const auto& tested) { return std::string(tested.param.result); });

}  // namespace
}  // namespace fib::attention
