// SPDX-License-Identifier: Apache-2.0
#include "report/torch/robots/policy_bench_report.h"

#include <fmt/format.h>

#include "report/fields.h"

namespace fib::report {
namespace {

using Row = PolicyBenchReport;

std::string time_text(const bench::Timing& t) {
  return fmt::format("{:.2f} ms, median {:.2f}, of {} runs", t.min_ms, t.median_ms, t.runs);
}

Fields<Row> policy_bench_fields() {
  return {
      shown_field<Row>("policy", [](const Row& r) { return fmt::format("{}, {}", r.result.policy, r.result.sampler); }),
      shown_field<Row>("machine", [](const Row& r) { return fmt::format("{}, {} threads", r.machine, r.threads); }),
      shown_field<Row>("one decision, compiled", [](const Row& r) { return time_text(r.result.compiled); }),
      shown_field<Row>("one decision, LibTorch", [](const Row& r) { return time_text(r.result.torch); }),
      shown_field<Row>("ratio", [](const Row& r) { return fmt::format("{:.3f}", r.result.ratio()); }),
      shown_field<Row>("actions differ by",
                       [](const Row& r) { return fmt::format("{:.1e} of [-1, 1]", r.result.difference); }),
      hidden_field<Row>("compiled_ms", [](const Row& r) { return r.result.compiled.min_ms; }),
      hidden_field<Row>("torch_ms", [](const Row& r) { return r.result.torch.min_ms; }),
      hidden_field<Row>("difference", [](const Row& r) { return r.result.difference; }),
      hidden_field<Row>("sampler", [](const Row& r) { return r.result.sampler; })};
}

}  // namespace

nlohmann::ordered_json policy_bench_json(const PolicyBenchReport& report) {
  return fields_json(policy_bench_fields(), report);
}

std::string policy_bench_text(const PolicyBenchReport& report) { return fields_lines(policy_bench_fields(), report); }

}  // namespace fib::report
