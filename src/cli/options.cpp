// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "attention/registry.h"
#include "base/atomic_file.h"
#include "base/text.h"

namespace fib::cli {
namespace {

void merge(AttentionSpec& spec, const std::string& key, const std::string& value) {
  if (value.empty()) return;
  for (const auto& [k, v] : spec.options) {
    if (k == key)
      throw std::invalid_argument(fmt::format("{} is given twice: {} in --attention, {} as --{}", k, v, value, k));
  }
  spec.options.emplace_back(key, value);
}

/// The whole text as a finite number; nothing otherwise.
std::optional<double> finite_number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

CLI::Validator integer_within(IntegerRange range) {
  const auto refuse_others = [range](const std::string& text) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    if (whole && value >= range.least && value <= range.most) return std::string();
    return fmt::format("must be an integer from {} to {}, got {}", range.least, range.most, in_quotes(text));
  };
  return CLI::Validator(refuse_others, "");
}

CLI::Validator word_among(const std::vector<std::string>& words) {
  const auto refuse_others = [words](const std::string& text) {
    if (std::ranges::find(words, text) != words.end()) return std::string();
    return fmt::format("must be {}, got {}", fmt::join(words, " or "), in_quotes(text));
  };
  return CLI::Validator(refuse_others, "");
}

/// The same for one attention and for several.
template <class Arguments>
void add_shorthands(CLI::App& app, Arguments& a) {
  app.add_option("--wmin", a.wmin, "short for wmin in --attention: window of the first head")->type_name("N");
  app.add_option("--wmax", a.wmax, "short for wmax in --attention: window of the last head")->type_name("N");
  app.add_flag("--modified", a.modified, "short for --attention fibottention-modified");
}

const char* const kAttentionHelp = "NAME or NAME:key=value,key=value; fib attentions lists them";

bool has_option(const AttentionSpec& spec, const std::string& key) {
  const auto& options = attention::find_mechanism(spec.name).options;
  return std::any_of(options.begin(), options.end(), [&](const PatternOption& o) { return o.key == key; });
}

void merge_into_those_that_have_it(std::vector<AttentionSpec>& specs, const std::string& key,
                                   const std::string& value) {
  if (value.empty()) return;
  bool taken = false;
  for (AttentionSpec& spec : specs) {
    if (!has_option(spec, key)) continue;
    merge(spec, key, value);
    taken = true;
  }
  if (!taken) throw std::invalid_argument(fmt::format("--{} {}: none of the attentions given has it", key, value));
}

void modify(std::vector<AttentionSpec>& specs) {
  bool taken = false;
  for (AttentionSpec& spec : specs) {
    if (spec.name != "fibottention") continue;
    spec.name = "fibottention-modified";
    taken = true;
  }
  if (!taken) throw std::invalid_argument("--modified goes with --attention fibottention, which is not given");
}

}  // namespace

CLI::Option* add_integer(CLI::App& app, const std::string& name, int64_t& target, IntegerRange range,
                         const std::string& help) {
  return app.add_option(name, target, help)->check(integer_within(range))->type_name("N");
}

CLI::Validator number_within(NumberRange range) {
  const auto refuse_others = [range](const std::string& text) {
    const std::optional<double> value = finite_number(text);
    if (value && *value >= range.least && *value <= range.most) return std::string();
    return fmt::format("must be a number from {} to {}, got {}", range.least, range.most, in_quotes(text));
  };
  return CLI::Validator(refuse_others, "");
}

CLI::Option* add_number(CLI::App& app, const std::string& name, double& target, NumberRange range,
                        const std::string& help) {
  return app.add_option(name, target, help)->check(number_within(range))->type_name("X");
}

CLI::Option* add_choice(CLI::App& app, const std::string& name, std::string& target,
                        const std::vector<std::string>& words, const std::string& help) {
  return app.add_option(name, target, help)
      ->check(word_among(words))
      ->type_name(fmt::format("{}", fmt::join(words, "|")));
}

CLI::Option* add_choices(CLI::App& app, const std::string& name, std::vector<std::string>& target,
                         const std::vector<std::string>& words, const std::string& help) {
  return app.add_option(name, target, help)
      ->delimiter(',')
      ->check(word_among(words))
      ->type_name(fmt::format("{},…", fmt::join(words, "|")));
}

void check_ending(const std::string& option, const std::string& file, const std::string& ending) {
  if (file.size() > ending.size() && file.ends_with(ending)) return;
  throw std::invalid_argument(fmt::format("{} takes a name that ends in {}, got {}", option, ending, in_quotes(file)));
}

void check_output(const std::string& option, const std::string& file, const std::string& ending) {
  if (file.empty()) return;
  check_ending(option, file, ending);
  check_writable(file);
}

CLI::Option* add_integers(CLI::App& app, const std::string& name, std::vector<int64_t>& target, IntegerRange range,
                          const std::string& help) {
  return app.add_option(name, target, help)->delimiter(',')->check(integer_within(range))->type_name("N,N,…");
}

void add_attention_options(CLI::App& app, AttentionArguments& a) {
  app.add_option("--attention", a.attention, kAttentionHelp)->type_name("SPEC")->capture_default_str();
  add_shorthands(app, a);
}

AttentionSpec attention_spec(const AttentionArguments& a) {
  AttentionSpec spec = AttentionSpec::parse(a.attention);
  if (a.modified && spec.name != "fibottention") {
    throw std::invalid_argument("--modified goes with --attention fibottention, got '" + spec.name + "'");
  }
  if (a.modified) spec.name = "fibottention-modified";
  merge(spec, "wmin", a.wmin);
  merge(spec, "wmax", a.wmax);
  return spec;
}

void add_attention_list_options(CLI::App& app, AttentionListArguments& a) {
  app.add_option("--attention", a.attentions, std::string(kAttentionHelp) + "; repeat it to compare")
      ->type_name("SPEC")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->capture_default_str();
  add_shorthands(app, a);
}

std::vector<AttentionSpec> attention_specs(const AttentionListArguments& a) {
  std::vector<AttentionSpec> specs;
  for (const std::string& text : a.attentions) specs.push_back(AttentionSpec::parse(text));
  for (const AttentionSpec& spec : specs) attention::check_spec(spec);
  if (a.modified) modify(specs);
  merge_into_those_that_have_it(specs, "wmin", a.wmin);
  merge_into_those_that_have_it(specs, "wmax", a.wmax);
  std::vector<AttentionSpec> distinct;
  for (const AttentionSpec& spec : specs) {
    const auto same = [&](const AttentionSpec& other) { return other.to_string() == spec.to_string(); };
    if (std::none_of(distinct.begin(), distinct.end(), same)) distinct.push_back(spec);
  }
  return distinct;
}

CLI::Option* add_match_pairs(CLI::App& app, std::string& target) {
  return app
      .add_option("--match-pairs", target,
                  "give the attention as many pairs as this one has, as nearly as can be: sets its w, random, k, dim, "
                  "ratio, stride or wmax")
      ->type_name("SPEC");
}

std::optional<AttentionSpec> target_of(const std::string& match_pairs) {
  if (match_pairs.empty()) return std::nullopt;
  AttentionSpec target = AttentionSpec::parse(match_pairs);
  attention::check_spec(target);
  return target;
}

void add_attention_place_options(CLI::App& app, PlaceArguments& a) {
  add_choice(app, "--attention-in", a.attention_in, models::attention_in_names(),
             "which attention of a model for clips is the one asked for; joint is over all patches of all frames");
  app.add_option("--attention-layers", a.attention_layers,
                 "layers that take the attention, counted from 0, such as 0-5,9; the others are dense; by default all")
      ->type_name("LAYERS");
  app.add_option("--tokens", a.tokens,
                 "fewer tokens from block to block, of ViT and DeiT: tome:r=13 merges, evit:keep=0.7,at=3,6,9 keeps "
                 "those that the class token attends to; all tokens by default")
      ->type_name("METHOD");
}

void add_place_options(CLI::App& app, PlaceArguments& a) {
  add_attention_place_options(app, a);
  add_integer(app, "--frames", a.frames, {1, 4096},
              "number of frames of a clip, for models that take clips; by default the model's own");
}

models::Options place_choice(const PlaceArguments& a) {
  models::Options choice;
  if (a.frames > 0) choice.frames = a.frames;
  if (!a.attention_in.empty()) choice.attention_in = models::attention_in_of(a.attention_in);
  choice.attention_layers = models::parse_layers(a.attention_layers);
  choice.tokens = models::TokenReduction::parse(a.tokens);
  return choice;
}

void add_layer_options(CLI::App& app, LayerArguments& a) {
  add_integer(app, "--layer", a.layer, {0, kMaxTokens}, "permute the heads as layer L does")->type_name("L");
  add_integer(app, "--cls", a.cls, {0, kMaxClassTokens}, "class tokens before the patches")->capture_default_str();
  app.add_flag("--causal", a.causal, "a token sees itself and those before it only");
  app.add_option("--grid-shape", a.grid_shape,
                 "how the patches lie, for the options grid and summaries: height and width, and frames of a clip; a "
                 "square by default")
      ->type_name("HxW");
}

namespace {

PatchGrid grid_of(const std::string& text) {
  std::vector<int64_t> sides;
  size_t begin = 0;
  for (size_t end = 0; end != std::string::npos; begin = end + 1) {
    end = text.find('x', begin);
    const auto side = parse_number<int64_t>(std::string_view(text).substr(begin, end - begin));
    if (!side || *side < 1 || *side > kMaxTokens || sides.size() == 3)
      throw std::invalid_argument(fmt::format("--grid-shape must be HxW or HxWxFRAMES, got {}", in_quotes(text)));
    sides.push_back(*side);
  }
  if (sides.size() == 1)
    throw std::invalid_argument(fmt::format("--grid-shape must be HxW or HxWxFRAMES, got {}", in_quotes(text)));
  return {sides[0], sides[1], sides.size() == 3 ? sides[2] : 1};
}

}  // namespace

PatternGeometry geometry_of(const LayerArguments& a, int64_t patches, int64_t heads) {
  PatternGeometry geometry{
      .patches = patches, .cls = a.cls, .heads = heads, .layer = {}, .causal = a.causal, .grid = {}};
  if (a.layer != LayerArguments::kNoLayer) geometry.layer = a.layer;
  if (!a.grid_shape.empty()) geometry.grid = grid_of(a.grid_shape);
  return geometry;
}

}  // namespace fib::cli
