// SPDX-License-Identifier: Apache-2.0
#include "training/recipe/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "base/nearest.h"
#include "base/text.h"
#include "training/recipe/begin.h"

namespace fib::training {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

[[noreturn]] void refuse(const Option& option, std::string_view received) {
  throw std::invalid_argument(option.key + ": received " + printable(received, kLongestQuote) + ", accepted " +
                              option.accepted());
}

std::string number_text(double value) {
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

std::string flag_of(const std::string& key) {
  std::string name = "--" + key;
  std::ranges::replace(name, '_', '-');
  return name;
}

/// Of an interval: 1000000, not 1e+06.
std::string bound_text(double value) {
  constexpr double kExact = 1e15;
  const bool whole = value == std::trunc(value) && std::abs(value) < kExact;
  return whole ? std::to_string(static_cast<int64_t>(value)) : number_text(value);
}

/// Of "1,2.5"; no text is no numbers.
std::optional<Option::Numbers> parse_numbers(std::string_view text) {
  Option::Numbers numbers;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const auto number = parse_number<double>(text.substr(0, comma));
    if (!number) return std::nullopt;
    numbers.push_back(*number);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
    if (text.empty()) return std::nullopt;
  }
  return numbers;
}

std::optional<Span> parse_span(std::string_view text) {
  const auto numbers = parse_numbers(text);
  if (!numbers || numbers->size() != 2) return std::nullopt;
  return Span{numbers->front(), numbers->back()};
}

std::optional<bool> parse_switch(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return std::nullopt;
}

bool contains(const Interval& interval, double value) {
  const bool above = interval.open_least ? value > interval.least : value >= interval.least;
  const bool below = interval.open_most ? value < interval.most : value <= interval.most;
  return above && below && std::isfinite(value);
}

/// " from 0 and below 1"
std::string words(const Interval& interval) {
  std::string text;
  if (std::isfinite(interval.least)) text += (interval.open_least ? " above " : " from ") + bound_text(interval.least);
  if (std::isfinite(interval.most))
    text += (text.empty()         ? ""
             : interval.open_most ? " and"
                                  : "") +
            std::string(interval.open_most ? " below " : " to ") + bound_text(interval.most);
  return text;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

/// A TOML float needs a point or an exponent.
std::string float_text(double value) {
  std::string text = number_text(value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string float_list(const Option::Numbers& numbers) {
  std::vector<std::string> texts;
  for (const double number : numbers) texts.push_back(float_text(number));
  return "[" + joined(texts) + "]";
}

void check_value(const Option& option, const Option::Value& value) {
  const auto inside = [&](double x) { return contains(option.interval, x); };
  const bool good =
      std::visit(Overloaded{[&](const std::string& word) {
                              return option.choices.empty() || std::ranges::count(option.choices, word) > 0;
                            },
                            [&](int64_t x) { return inside(static_cast<double>(x)); },
                            [&](double x) { return inside(x); }, [](bool) { return true; },
                            [&](const Span& s) { return inside(s.low) && inside(s.high) && s.low <= s.high; },
                            [&](const Option::Numbers& numbers) {
                              return std::ranges::all_of(numbers, inside) && std::ranges::is_sorted(numbers);
                            }},
                 value);
  if (!good) refuse(option, to_toml(value));
}

/// As TOML must be, which names of files need not be. JSON must be too, and nlohmann looks.
bool is_utf8(const std::string& text) {
  try {
    return !nlohmann::json(text).dump().empty();
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

void require_line(const Option& option, const std::string& word) {
  if (std::ranges::any_of(word, [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
    throw std::invalid_argument(option.key + ": received text with control characters, accepted one line of text");
  if (!is_utf8(word))
    throw std::invalid_argument(option.key + ": received " + in_quotes(word) + ", accepted text in UTF-8");
}

template <class Group>
void append(std::vector<Option>& all, const std::string& section, Group Recipe::*group) {
  for (OptionRow<Group>& row : Group::rows()) {
    Option option{.section = section,
                  .key = std::move(row.key),
                  .field = {},
                  .help = std::move(row.help),
                  .interval = row.interval,
                  .choices = std::move(row.choices),
                  .decides_result = row.decides_result};
    std::visit(
        [&]<class T>(T Group::*member) {
          option.field = Field<T>{[=](const Recipe& recipe) -> const T& { return recipe.*group.*member; },
                                  [=](Recipe& recipe) -> T& { return recipe.*group.*member; }};
        },
        row.field);
    all.push_back(std::move(option));
  }
}

std::vector<Option> all_options() {
  std::vector<Option> all;
  append(all, "model", &Recipe::model);
  append(all, "data", &Recipe::data);
  append(all, "augment", &Recipe::augment);
  append(all, "optimizer", &Recipe::optimizer);
  append(all, "schedule", &Recipe::schedule);
  append(all, "ema", &Recipe::ema);
  append(all, "prune", &Recipe::prune);
  append(all, "adapt", &Recipe::adapt);
  append(all, "run", &Recipe::run);
  return all;
}

}  // namespace

std::string to_toml(const Option::Value& value) {
  return std::visit(
      Overloaded{[](const std::string& word) { return quoted(word); }, [](int64_t x) { return std::to_string(x); },
                 [](double x) { return float_text(x); }, [](bool on) { return std::string(on ? "true" : "false"); },
                 [](const Span& s) {
                   return float_list({s.low, s.high});
                 },
                 [](const Option::Numbers& numbers) { return float_list(numbers); }},
      value);
}

std::string Option::flag() const { return flag_of(key); }

std::string Option::accepted() const {
  return std::visit(
      Overloaded{[&](const Field<std::string>&) { return choices.empty() ? std::string("text") : joined(choices); },
                 [&](const Field<int64_t>&) { return "an integer" + words(interval); },
                 [&](const Field<double>&) { return "a number" + words(interval); },
                 [](const Field<bool>&) { return std::string("true or false"); },
                 [&](const Field<Span>&) { return "two numbers" + words(interval) + ", the smaller first"; },
                 [&](const Field<Numbers>&) { return "numbers" + words(interval) + ", growing"; }},
      field);
}

Option::Value Option::get(const Recipe& recipe) const {
  return std::visit([&](const auto& f) { return Value(f.read(recipe)); }, field);
}

void Option::set(Recipe& recipe, const Value& value) const {
  check_value(*this, value);
  std::visit(
      [&](const auto& f) {
        using T = std::remove_reference_t<decltype(f.write(recipe))>;
        const T* typed = std::get_if<T>(&value);
        if (typed == nullptr) refuse(*this, to_toml(value));
        if constexpr (std::is_same_v<T, std::string>) require_line(*this, *typed);
        f.write(recipe) = *typed;
      },
      field);
}

void Option::parse(Recipe& recipe, std::string_view text) const {
  const auto use = [&](const auto& parsed) {
    if (!parsed) refuse(*this, "'" + std::string(text) + "'");
    set(recipe, *parsed);
  };
  std::visit(Overloaded{[&](const Field<std::string>&) { set(recipe, std::string(text)); },
                        [&](const Field<int64_t>&) { use(parse_number<int64_t>(text)); },
                        [&](const Field<double>&) { use(parse_number<double>(text)); },
                        [&](const Field<bool>&) { use(parse_switch(text)); },
                        [&](const Field<Span>&) { use(parse_span(text)); },
                        [&](const Field<Numbers>&) { use(parse_numbers(text)); }},
             field);
}

const std::vector<Option>& options() {
  static const std::vector<Option> table = all_options();
  return table;
}

const std::vector<RenamedOption>& renamed_options() {
  static const std::vector<RenamedOption> rows = {
      {"mix_probability", "mixup_prob"}, {"mix_switch", "mixup_switch_prob"},
      {"decay_on", "weight_decay_on"},   {"clip", "grad_clip"},
      {"smoothing", "label_smoothing"},  {"adapt_fade", "adapt_fade_fraction"},
  };
  return rows;
}

std::optional<std::string> renamed_flag(std::string_view flag) {
  for (const RenamedOption& renamed : renamed_options())
    if (flag_of(renamed.before) == flag) return flag_of(renamed.now);
  return std::nullopt;
}

std::optional<std::string> usual_flag(std::string_view flag) {
  struct Row {
    std::string_view elsewhere, here;
  };
  static constexpr Row kRows[] = {{"--pretrained", "--weights"},
                                  {"--finetune", "--weights"},
                                  {"--initial-checkpoint", "--weights"},
                                  {"--batch-size", "--batch"},
                                  {"--bs", "--batch"},
                                  {"--learning-rate", "--lr"},
                                  {"--num-epochs", "--epochs"},
                                  {"--dataset", "--data"},
                                  {"--data-dir", "--data"},
                                  {"--data-path", "--data"},
                                  {"--img-size", "--resolution"},
                                  {"--image-size", "--resolution"},
                                  {"--input-size", "--resolution"},
                                  {"--opt", "--optimizer"},
                                  {"--wd", "--weight-decay"},
                                  {"--sched", "--schedule"},
                                  {"--aa", "--rand-augment"},
                                  {"--clip-grad", "--grad-clip"},
                                  {"--num-workers", "--workers"},
                                  {"--patience", "--early-stop"},
                                  {"--output", "--out"},
                                  {"--output-dir", "--out"},
                                  {"--amp", "--precision"},
                                  {"--topk", "--top"},
                                  {"--top-k", "--top"},
                                  {"--checkpoint-path", "--weights"}};
  const auto row = std::ranges::find(kRows, flag, &Row::elsewhere);
  return row == std::end(kRows) ? std::nullopt : std::optional<std::string>(row->here);
}

const Option& find_option(std::string_view key) {
  const auto renamed = std::ranges::find(renamed_options(), key, &RenamedOption::before);
  if (renamed != renamed_options().end())
    throw std::invalid_argument("option '" + renamed->before + "' is called '" + renamed->now + "' now");
  return find_named(options(), "option", key, &Option::key);
}

void check_recipe(const Recipe& r) {
  const auto require = [](bool good, const std::string& message) {
    if (!good) throw std::invalid_argument(message);
  };
  require(r.optimizer.batch % r.optimizer.accumulate == 0,
          "batch " + std::to_string(r.optimizer.batch) +
              " does not divide into accumulate = " + std::to_string(r.optimizer.accumulate) + " parts");
  require(r.schedule.name != "milestones" || !r.schedule.milestones.empty(),
          "schedule = \"milestones\" needs the epochs at which the learning rate falls: milestones is empty");
  require(r.schedule.min_lr <= r.optimizer.peak_lr(), "min_lr " + number_text(r.schedule.min_lr) +
                                                          " must not exceed the learning rate " +
                                                          number_text(r.optimizer.peak_lr()));
  require(!frozen_blocks(r.model.freeze) || !r.model.weights.empty(),
          "freeze keeps values of weights: give --weights FILE");
  require(!frozen_blocks(r.model.freeze) || r.prune.ratio == 0,
          "pruning trains all blocks: freeze must be empty, got " + r.model.freeze);
  require(r.schedule.early_stop == 0 || r.data.validation_fraction > 0,
          "early_stop looks at the validation set: validation_fraction must be above 0");
  require(r.augment.eval_crops != 2, "eval_crops 2: accepted are 1 and 3");
  // Averages would be of weights whose masks were others.
  require(r.prune.ratio == 0 || r.ema.decay == 0,
          "pruning takes the weights of the last step: ema must be 0, got " + number_text(r.ema.decay));
  require(r.schedule.warmup_lr <= r.optimizer.peak_lr(), "warmup_lr " + number_text(r.schedule.warmup_lr) +
                                                             " must not exceed the learning rate " +
                                                             number_text(r.optimizer.peak_lr()));
}

}  // namespace fib::training
