// SPDX-License-Identifier: Apache-2.0
// fib generate: what it does with a decoder, and how a compiled one becomes one. Those of runs need torch.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/measure.h"
#include "base/read_file.h"
#include "base/text.h"
#include "cli/app.h"
#include "cli/commands/sequences.h"
#include "cli/output.h"
#include "cli/stop_signals.h"

namespace fib::cli {
namespace {

using sequences::TextCard;
using sequences::Writer;

constexpr size_t kLongestPrompt = size_t{1} << 24;

std::string prompt_of(const GenerateArguments& a) {
  std::string prompt = a.prompt == "-" ? read_file("/dev/stdin", kLongestPrompt) : a.prompt;
  if (prompt.empty()) throw std::invalid_argument("--prompt: received no text, accepted at least one character");
  return prompt;
}

std::vector<int32_t> encoded(const TextCard& text, const std::string& prompt) {
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

Written write_on(Writer& writer, const TextCard& text, const GenerateArguments& a, const CancelToken& cancel) {
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

}  // namespace

void generate(sequences::TokenModel& model, const TextCard& text, const GenerateArguments& a, const Globals& globals) {
  const std::string prompt = prompt_of(a);
  const std::vector<int32_t> symbols = encoded(text, prompt);
  CancelSource cancel;
  const StopSignals signals(cancel);
  Writer writer(model, {.temperature = a.temperature, .top_k = a.top_k}, static_cast<uint64_t>(a.seed));
  writer.read(symbols);
  if (!a.json && !globals.quiet) Stream().show(prompt);
  const Written written = write_on(writer, text, a, cancel.token());
  if (a.json) {
    print_json({{"model", text.model},
                {"attention", text.attention},
                {"prompt", prompt},
                {"text", written.text},
                {"tokens", written.tokens},
                {"seed", a.seed},
                {"ms_per_token", 1e3 * written.seconds / static_cast<double>(std::max<int64_t>(1, written.tokens))},
                {"cache_mb", static_cast<double>(model.cache_bytes()) / kMegabyte}});
  } else {
    fmt::print("\n");
  }
  if (cancel.token().requested()) throw Exit{128 + std::max(1, cancel.token().signal())};
}

void run_engine(const GenerateArguments& a, const Globals& globals) {
  use_threads(globals);
  sequences::CompiledText model(a.engine, a.limits.limits());
  generate(model, model.card(), a, globals);
}

}  // namespace fib::cli
