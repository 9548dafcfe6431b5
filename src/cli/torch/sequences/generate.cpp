// SPDX-License-Identifier: Apache-2.0
// fib generate and fib bench decode.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/measure.h"
#include "base/read_file.h"
#include "base/text.h"
#include "cli/app.h"
#include "cli/commands/sequences.h"
#include "cli/output.h"
#include "cli/stop_signals.h"
#include "kernels/machine.h"
#include "report/fields.h"
#include "sequences/torch/decode_bench.h"
#include "sequences/torch/trained_text.h"

namespace fib::cli {
namespace {

using sequences::TrainedText;
using sequences::Writer;

constexpr size_t kLongestPrompt = size_t{1} << 24;

std::string prompt_of(const GenerateArguments& a) {
  std::string prompt = a.prompt == "-" ? read_file("/dev/stdin", kLongestPrompt) : a.prompt;
  if (prompt.empty()) throw std::invalid_argument("--prompt: received no text, accepted at least one character");
  return prompt;
}

std::vector<int32_t> encoded(const TrainedText& text, const std::string& prompt) {
  try {
    return text.vocabulary.encode(prompt);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("--prompt: {}", error.what()));
  }
}

/// Shows text as it comes. On a terminal what could act on it is shown as its numbers; bytes that may belong to one
/// character are shown once it is whole.
class Stream {
 public:
  void show(const std::string& text) {
    if (!terminal_) return write(text);
    for (const char c : text) {
      waiting_ += c;
      if (is_whole()) flush();
    }
  }
  void flush() {
    if (waiting_ == "\n" || waiting_ == "\t") {
      write(waiting_);
    } else {
      write(printable(waiting_, kLongestQuote));
    }
    waiting_.clear();
  }

 private:
  static void write(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }
  bool is_whole() const {
    const auto lead = static_cast<unsigned char>(waiting_[0]);
    const size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    return waiting_.size() >= bytes;
  }

  bool terminal_ = isatty(STDOUT_FILENO) != 0;
  std::string waiting_;
};

struct Written {
  std::string text;
  int64_t tokens = 0;
  double seconds = 0;
};

Written write_on(Writer& writer, const TrainedText& text, const GenerateArguments& a, const CancelToken& cancel) {
  Stream stream;
  Written written;
  const Stopwatch watch;
  for (; written.tokens < a.tokens && !cancel.requested(); ++written.tokens) {
    const std::string symbol = text.vocabulary.decode(writer.next());
    written.text += symbol;
    if (!a.json) stream.show(symbol);
  }
  written.seconds = watch.seconds();
  if (!a.json) stream.flush();
  return written;
}

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
  const TrainedText text = sequences::open_text(a.run);
  const std::string prompt = prompt_of(a);
  const std::vector<int32_t> symbols = encoded(text, prompt);
  CancelSource cancel;
  const StopSignals signals(cancel);
  Writer writer(*text.model, {.temperature = a.temperature, .top_k = a.top_k}, static_cast<uint64_t>(a.seed));
  writer.read(symbols);
  if (!a.json && !globals.quiet) Stream().show(prompt);
  const Written written = write_on(writer, text, a, cancel.token());
  if (a.json) {
    print_json({{"model", text.recipe.model.name},
                {"attention", text.recipe.model.attention},
                {"prompt", prompt},
                {"text", written.text},
                {"tokens", written.tokens},
                {"seed", a.seed},
                {"ms_per_token", 1e3 * written.seconds / static_cast<double>(std::max<int64_t>(1, written.tokens))},
                {"cache_mb", static_cast<double>(writer.cache().bytes()) / kMegabyte}});
  } else {
    fmt::print("\n");
  }
  if (cancel.token().requested()) throw Exit{128 + std::max(1, cancel.token().signal())};
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
