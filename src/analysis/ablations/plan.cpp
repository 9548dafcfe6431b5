// SPDX-License-Identifier: Apache-2.0
#include "analysis/ablations/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "data/registry/datasets.h"
#include "models/cost.h"
#include "robots/policy.h"
#include "robots/robot.h"
#include "training/recipe/model_options.h"
#include "training/recipe/options.h"
#include "training/run/summary.h"

namespace fib::ablations {
namespace {

using training::Recipe;

struct ScaleRecipes {
  Scale scale;
  const char* word;
  std::vector<std::pair<const char*, const char*>> recipes;  ///< name of the data, file
};

const std::vector<ScaleRecipes>& all_scales() {
  static const std::vector<ScaleRecipes> all = {
      {Scale::tiny, "tiny", {{"fashion", "ablation-tiny.toml"}}},
      {Scale::small, "small", {{"c10", "cifar10-small.toml"}}},
      {Scale::paper, "paper", {{"c10", "deit-cifar10.toml"}, {"c100", "deit-cifar100.toml"}}},
  };
  return all;
}

const ScaleRecipes& shared_recipes(Scale scale) { return all_scales()[static_cast<size_t>(scale)]; }

/// Data and file of each run of a row.
std::vector<std::pair<std::string, std::string>> recipe_files(const Ablation& ablation, Scale scale) {
  const ScaleRecipes& shared = shared_recipes(scale);
  if (ablation.recipes.empty()) return {shared.recipes.begin(), shared.recipes.end()};
  const auto own = ablation.recipes.find(shared.word);
  return own != ablation.recipes.end() ? own->second : std::vector<std::pair<std::string, std::string>>();
}

const Backbone& backbone_of(const Ablation& ablation, const AblationRow& row, Scale scale) {
  static const Backbone own;
  if (row.backbone.empty()) return own;
  const auto& scales = ablation.backbones.at(row.backbone);
  const auto found = scales.find(word_of(scale));
  if (found != scales.end()) return found->second;
  throw std::invalid_argument(ablation.name + ": backbone " + row.backbone + " has no options for the scale " +
                              word_of(scale));
}

/// fib-wmin:wmin=5,wmax=N/3 as a name that files may have.
std::string file_name(const std::string& attention) {
  std::string name = attention;
  for (char& c : name) c = c == ':' || c == ',' ? '_' : c == '/' ? '-' : c;
  return name;
}

/// Where the runs of one row on one dataset with one seed come from.
struct RunMaker {
  const AblationRow& row;
  const Backbone& backbone;
  const Request& request;
  size_t place;
  std::string data, file;
  int64_t seed;

  /// The recipe, changed for the backbone, by the user, and by `settings` of this run alone.
  Run make(const std::string& prefix, const Settings& settings) const {
    Run run;
    run.row = place;
    run.data = data;
    training::read_toml_file(run.recipe, request.recipes / file);
    run.recipe.model.attention = row.attention;
    run.recipe.run.seed = seed;
    run.arguments = {"--recipe", (request.recipes / file).string(), "--attention=" + row.attention,
                     "--seed=" + std::to_string(seed)};
    for (const Settings* part : {&backbone.settings, &request.overrides, &settings}) {
      for (const auto& [key, value] : *part) {
        const training::Option& option = training::find_option(key);
        option.parse(run.recipe, value);
        run.arguments.push_back(option.flag() + "=" + value);
      }
    }
    match(run);
    const std::string attention = run.matched ? run.matched->attention.to_string() : row.attention;
    run.directory = request.out / word_of(request.scale) /
                    (prefix + file_name(attention) + "." + data + "." + std::to_string(seed));
    training::check_recipe(run.recipe);
    return run;
  }

  /// At the request's budget of pairs, unless the row is that mechanism or says its own.
  void match(Run& run) const {
    const AttentionSpec own = AttentionSpec::parse(row.attention);
    if (!request.match_pairs || own.name == request.match_pairs->name || !attention::leaves_pairs_open(own)) return;
    run.matched = match_pairs(run.recipe, *request.match_pairs);
    run.recipe.model.attention = run.matched->attention.to_string();
    run.arguments[2] = "--attention=" + run.recipe.model.attention;
  }

  /// The model, UPop's search in it, and the training of what the search leaves.
  std::vector<Run> pruned() const {
    Run model = make(backbone.settings.empty() ? "" : row.backbone + "-dense.", {});
    Settings found = backbone.search;
    found.emplace_back("weights", training::RunFiles{model.directory}.best().string());
    Run search = make(row.backbone + "-search.", found);
    Run last = make(row.backbone + ".", {{"weights", training::RunFiles{search.directory}.pruned().string()}});
    search.verb = "prune";
    search.stage = 1;
    last.stage = 2;
    model.preparation = search.preparation = true;
    return {std::move(model), std::move(search), std::move(last)};
  }

  std::vector<Run> runs() const {
    if (!backbone.search.empty()) return pruned();
    return {make(row.backbone.empty() ? "" : row.backbone + ".", {})};
  }
};

void check_same(const Run& run) {
  const auto differing = training::differing_keys(training::RunFiles{run.directory}.recipe(), run.recipe);
  if (differing.empty()) return;
  std::string keys;
  for (const std::string& key : differing) keys += (keys.empty() ? "" : ", ") + key;
  throw std::invalid_argument("'" + run.directory.string() + "' holds a run with other values of: " + keys +
                              "; choose another --out");
}

bool is_policy(const Recipe& recipe) { return robots::is_robot(recipe.run.task); }

/// Two of each camera for every window into the published demonstrations.
double policy_images(const Recipe& recipe) {
  const auto& observations = robots::find_policy(recipe.model.name).task.observations;
  const auto cameras = std::ranges::count_if(observations, &robots::Observation::is_image);
  return 2 * static_cast<double>(cameras * robots::find_robot(recipe.run.task).recorded_rows) *
         recipe.data.train_fraction;
}

/// Of one epoch. A folder that is named by its path is not counted for an estimate: it is taken to have as many images
/// as CIFAR, or a thousand clips.
double training_images(const Recipe& recipe) {
  if (is_policy(recipe)) return policy_images(recipe);
  const DataSource source = parse_data_source(recipe.data.source);
  const DatasetRow& data = *source.row;
  const double counted = fib::training_images(source), kUncounted = data.clips ? 1e3 : 5e4;
  const double held_out = data.trained_share ? 0 : recipe.data.validation_fraction;  // what validates is divided off
  const double all = (counted > 0 ? counted : kUncounted) * (1 - held_out);
  const auto limit = static_cast<double>(recipe.data.limit_per_class * data.classes);
  return (limit > 0 ? std::min(all, limit) : all) * recipe.data.train_fraction;
}

/// Forward and twice as much backward, for every image of every epoch.
double training_macs(const Recipe& recipe) {
  return 3 * image_cost(recipe).total() * training_images(recipe) * static_cast<double>(recipe.schedule.epochs);
}

/// Its model of images or clips, or a policy's encoder; none for an encoder without attention.
std::optional<models::Dimensions> image_model(const Recipe& recipe) {
  if (is_policy(recipe))
    return robots::encoder_model(robots::find_policy(recipe.model.name), AttentionSpec::parse(recipe.model.attention));
  models::find_row(recipe.model.name);  // before the data: decoders learn from other kinds of it
  const DatasetRow& data = *parse_data_source(recipe.data.source).row;
  const models::Options options = training::model_options(recipe, {data.classes, data.channels});
  return models::dimensions(recipe.model.name, options);
}

/// Of the largest layer that takes the attention.
int64_t patch_tokens(const Recipe& recipe) {
  int64_t tokens = 1;
  if (const auto model = image_model(recipe))
    for (const models::AttentionLayer& layer : models::attention_layers(*model))
      if (layer.replaced) tokens = std::max(tokens, layer.geometry.query_grid.tokens());
  return tokens;
}

}  // namespace

models::Cost image_cost(const Recipe& recipe) {
  const auto model = image_model(recipe);
  return model ? models::cost(*model) : models::Cost{};
}

attention::EqualPairs match_pairs(const Recipe& recipe, const AttentionSpec& target) {
  const auto count = [&](const AttentionSpec& attention) {
    Recipe with = recipe;
    with.model.attention = attention.to_string();
    return image_cost(with).patch_pairs;
  };
  return attention::with_equal_pairs(AttentionSpec::parse(recipe.model.attention), target, patch_tokens(recipe), count);
}

bool has_data(const Recipe& recipe) {
  if (is_policy(recipe))
    return std::filesystem::exists(robots::recording_place(robots::find_robot(recipe.run.task), recipe.data.source));
  return find_dataset(parse_data_source(recipe.data.source)).has_value();
}

std::string how_to_get(const Recipe& recipe) {
  if (is_policy(recipe))
    return fmt::format("{}: its recording {} (docs/robots.md)", recipe.run.task,
                       robots::recording_place(robots::find_robot(recipe.run.task), recipe.data.source).string());
  const DatasetRow& row = *parse_data_source(recipe.data.source).row;
  return fmt::format("{}: {}", row.name, row.how_to_get);
}

Scale scale_of(const std::string& word) {
  for (const ScaleRecipes& s : all_scales())
    if (s.word == word) return s.scale;
  throw std::invalid_argument("scale '" + word + "': accepted are tiny, small and paper");
}

std::string word_of(Scale scale) { return shared_recipes(scale).word; }

bool has_scale(const Ablation& ablation, Scale scale) { return !recipe_files(ablation, scale).empty(); }

std::vector<NamedRecipe> recipes_of(const Ablation& ablation, const Request& request) {
  std::vector<NamedRecipe> recipes;
  for (const auto& [data, file] : recipe_files(ablation, request.scale)) {
    NamedRecipe& named = recipes.emplace_back(NamedRecipe{data, file, {}});
    training::read_toml_file(named.recipe, request.recipes / file);
  }
  return recipes;
}

std::vector<std::string> missing_weights(const std::vector<Run>& runs) {
  std::vector<std::string> missing;
  for (const Run& run : runs) {
    const std::string& weights = run.recipe.model.weights;
    if (run.stage > 0 || run.state == State::finished || weights.empty() || std::filesystem::exists(weights)) continue;
    if (std::ranges::count(missing, weights) == 0) missing.push_back(weights);
  }
  return missing;
}

void look_up(Run& run) {
  const training::RunFiles files{run.directory};
  run.state = std::filesystem::exists(files.config()) ? State::unfinished : State::missing;
  const auto summary = training::find_summary(files);
  if (!summary) return;
  run.state = State::finished;
  run.top1 = 100 * summary->test.evaluation.value(summary->score.name);
  run.seconds = summary->train_seconds;
}

std::vector<Run> plan(const Ablation& ablation, const Request& request) {
  if (!ablation.rows.empty() && !has_scale(ablation, request.scale))
    throw std::invalid_argument(ablation.name + " has no recipes for the scale " + word_of(request.scale));
  std::vector<Run> runs;
  for (size_t r = 0; r < ablation.rows.size(); ++r) {
    const AblationRow& row = ablation.rows[r];
    for (const auto& [data, file] : recipe_files(ablation, request.scale)) {
      for (int64_t seed = 0; seed < request.seeds; ++seed) {
        for (Run& run : RunMaker{row, backbone_of(ablation, row, request.scale), request, r, data, file, seed}.runs()) {
          look_up(run);
          if (run.state != State::missing) check_same(run);
          runs.push_back(std::move(run));
        }
      }
    }
  }
  if (request.match_pairs && std::ranges::none_of(runs, [](const Run& run) { return run.matched.has_value(); }))
    throw std::invalid_argument("--match-pairs: no row of " + ablation.name + " leaves its number of pairs open");
  return runs;
}

double estimated_seconds(const Run& run, const std::vector<Run>& others, double gmacs_per_second) {
  if (run.seconds) return *run.seconds;
  double macs = 0, seconds = 0;
  for (const Run& other : others) {
    if (!other.seconds) continue;
    macs += training_macs(other.recipe);
    seconds += *other.seconds;
  }
  const double rate = seconds > 0 ? macs / seconds : gmacs_per_second * 1e9;
  return training_macs(run.recipe) / rate;
}

// ---- What came of them

namespace {

analysis::BySeed top1_by_seed(const std::vector<Run>& runs, size_t row, const std::string& data) {
  analysis::BySeed values;
  for (const Run& run : runs)
    if (run.row == row && run.data == data && !run.preparation && run.top1) values[run.recipe.run.seed] = *run.top1;
  return values;
}

}  // namespace

analysis::Estimate measured(const std::vector<Run>& runs, size_t row, const std::string& data) {
  return analysis::estimate_over_seeds(top1_by_seed(runs, row, data));
}

size_t baseline_row(const Ablation& ablation, size_t row) {
  std::optional<size_t> first;
  for (size_t r = 0; r < ablation.rows.size(); ++r) {
    if (ablation.rows[r].backbone != ablation.rows[row].backbone) continue;
    if (ablation.rows[r].attention == "full") return r;
    if (!first) first = r;
  }
  return *first;
}

std::optional<analysis::PairedTest> compared(const std::vector<Run>& runs, size_t row, size_t baseline,
                                             const std::string& data) {
  return analysis::paired_by_seed(top1_by_seed(runs, row, data), top1_by_seed(runs, baseline, data));
}

}  // namespace fib::ablations
