// SPDX-License-Identifier: Apache-2.0
// fib generate of a run, and fib bench decode.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "base/measure.h"
#include "cli/commands/sequences.h"
#include "cli/output.h"
#include "kernels/machine.h"
#include "report/fields.h"
#include "sequences/torch/decode_bench.h"
#include "sequences/torch/trained_text.h"

namespace fib::cli {
namespace {

const report::Fields<sequences::DecodeBenchRow>& decode_fields() {
  using Row = sequences::DecodeBenchRow;
  using report::count_field, report::hidden_field, report::number_field, report::optional_field, report::text_field;
  const auto least = [](const std::optional<bench::Timing>& t) {
    return t ? std::optional(t->min_ms) : std::optional<double>();
  };
  const auto median = [](const Row& r) {
    return r.token ? std::optional(r.token->median_ms) : std::optional<double>();
  };
  const auto reason = [](const Row& r) { return r.reason.empty() ? std::optional<std::string>() : r.reason; };
  const auto megabytes = [](const Row& r) { return static_cast<double>(r.cache_bytes) / kMegabyte; };
  static const report::Fields<Row> fields = {
      text_field<Row>("attention", "attention", [](const Row& r) { return r.attention; }),
      count_field<Row>("context", "context", [](const Row& r) { return r.context; }),
      number_field<Row>(
          "ms_per_token", "ms per token", [least](const Row& r) { return least(r.token); }, 3),
      hidden_field<Row>("ms_per_token_median", median),
      number_field<Row>(
          "attention_ms", "of them attention", [least](const Row& r) { return least(r.attention_step); }, 3),
      count_field<Row>("keys", "keys read", [](const Row& r) { return r.keys; }),
      number_field<Row>("cache_mb", "cache MB", megabytes, 1),
      optional_field<Row>("reason", reason)};
  return fields;
}

std::string decode_text(const std::vector<sequences::DecodeBenchRow>& rows) {
  std::string text = fields_table(decode_fields(), rows);
  for (const sequences::DecodeBenchRow& row : rows)
    if (!row.reason.empty()) text += fmt::format("{} at {}: {}\n", row.attention, row.context, row.reason);
  return text;
}

}  // namespace

void run(const GenerateArguments& a, const Globals& globals) {
  const sequences::TrainedText text = sequences::open_text(a.run);
  sequences::CachedDecoder model(*text.model);
  generate(model, text.card(), a, globals);
}

void run(const BenchDecodeArguments& a, const Globals& globals) {
  sequences::DecodeBenchOptions options{.model = a.model, .attentions = {}, .contexts = a.contexts, .timing = a.timing};
  for (const std::string& text : a.attentions) options.attentions.push_back(AttentionSpec::parse(text));
  std::vector<sequences::DecodeBenchRow> rows;
  {
    StatusLine line(globals.quiet);
    rows =
        sequences::bench_decode(options, [&](const std::string& what, double done) { show_share(line, what, done); });
  }
  if (a.json) {
    print_json({{"machine", machine_name()},
                {"threads", globals.threads},
                {"model", a.model},
                {"rows", fields_json(decode_fields(), rows)}});
  } else if (!globals.quiet) {
    fmt::print("{}", decode_text(rows));
  }
}

}  // namespace fib::cli
