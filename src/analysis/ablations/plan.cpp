// SPDX-License-Identifier: Apache-2.0
#include "analysis/ablations/plan.h"

#include <algorithm>
#include <stdexcept>

#include "data/registry/datasets.h"
#include "models/cost.h"
#include "robots/policy.h"
#include "robots/robot.h"
#include "training/recipe/model_options.h"
#include "training/recipe/options.h"
#include "training/recipe/toml.h"
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

/// Data and recipe of each run of a row.
std::vector<std::pair<std::string, std::string>> recipes_of(const Ablation& ablation, Scale scale) {
  const ScaleRecipes& shared = shared_recipes(scale);
  if (ablation.recipes.empty()) return {shared.recipes.begin(), shared.recipes.end()};
  const auto own = ablation.recipes.find(shared.word);
  return own != ablation.recipes.end() ? own->second : std::vector<std::pair<std::string, std::string>>();
}

Recipe recipe_for(const AblationRow& row, const std::string& file, int64_t seed, const Request& request) {
  Recipe recipe;
  training::read_toml_file(recipe, request.recipes / file);
  recipe.attention = row.attention;
  recipe.seed = seed;
  for (const auto& [key, value] : request.overrides) training::find_option(key).parse(recipe, value);
  training::check_recipe(recipe);
  return recipe;
}

std::vector<std::string> arguments_for(const AblationRow& row, const std::string& file, int64_t seed,
                                       const Request& request) {
  std::vector<std::string> arguments = {"--recipe", (request.recipes / file).string(), "--attention=" + row.attention,
                                        "--seed=" + std::to_string(seed)};
  for (const auto& [key, value] : request.overrides)
    arguments.push_back(training::find_option(key).flag() + "=" + value);
  return arguments;
}

/// fib-wmin:wmin=5,wmax=N/3 as a name that files may have.
std::string file_name(const std::string& attention) {
  std::string name = attention;
  for (char& c : name) c = c == ':' || c == ',' ? '_' : c == '/' ? '-' : c;
  return name;
}

void check_same(const Run& run) {
  const auto differing = training::differing_keys(training::RunFiles{run.directory}.recipe(), run.recipe);
  if (differing.empty()) return;
  std::string keys;
  for (const std::string& key : differing) keys += (keys.empty() ? "" : ", ") + key;
  throw std::invalid_argument("'" + run.directory.string() + "' holds a run with other values of: " + keys +
                              "; choose another --out");
}

bool is_policy(const Recipe& recipe) { return robots::is_robot(recipe.task); }

/// Two of each camera for every window into the published demonstrations.
double policy_images(const Recipe& recipe) {
  const auto& observations = robots::find_policy(recipe.model).task.observations;
  const auto cameras = std::ranges::count_if(observations, &robots::Observation::is_image);
  return 2 * static_cast<double>(cameras * robots::find_robot(recipe.task).recorded_rows) * recipe.train_fraction;
}

/// Of one epoch. A folder of images is not counted for an estimate: it is taken to have as many as CIFAR, one of clips
/// to have a thousand.
double training_images(const Recipe& recipe) {
  if (is_policy(recipe)) return policy_images(recipe);
  const DatasetRow& data = *parse_data_source(recipe.data).row;
  const double kUncounted = data.clips ? 1e3 : 5e4;
  const double all = (data.training_images > 0 ? static_cast<double>(data.training_images) : kUncounted) *
                     (1 - recipe.validation_fraction);
  const auto limit = static_cast<double>(recipe.limit_per_class * data.classes);
  return (limit > 0 ? std::min(all, limit) : all) * recipe.train_fraction;
}

/// Forward and twice as much backward, for every image of every epoch.
double training_macs(const Recipe& recipe) {
  return 3 * image_cost(recipe).total() * training_images(recipe) * static_cast<double>(recipe.epochs);
}

}  // namespace

models::Cost image_cost(const Recipe& recipe) {
  if (is_policy(recipe))
    return robots::encoder_cost(robots::find_policy(recipe.model), AttentionSpec::parse(recipe.attention));
  const DatasetRow& data = *parse_data_source(recipe.data).row;
  const models::Options options = training::model_options(recipe, {data.classes, data.channels});
  return models::cost(models::dimensions(recipe.model, options));
}

bool has_data(const Recipe& recipe) {
  if (is_policy(recipe))
    return std::filesystem::exists(robots::recording_place(robots::find_robot(recipe.task), recipe.data));
  return find_dataset(parse_data_source(recipe.data)).has_value();
}

Scale scale_of(const std::string& word) {
  for (const ScaleRecipes& s : all_scales())
    if (s.word == word) return s.scale;
  throw std::invalid_argument("scale '" + word + "': accepted are tiny, small and paper");
}

std::string word_of(Scale scale) { return shared_recipes(scale).word; }

bool has_scale(const Ablation& ablation, Scale scale) { return !recipes_of(ablation, scale).empty(); }

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
  if (!has_scale(ablation, request.scale))
    throw std::invalid_argument(ablation.name + " has no recipes for the scale " + word_of(request.scale));
  std::vector<Run> runs;
  for (size_t r = 0; r < ablation.rows.size(); ++r) {
    for (const auto& [data, file] : recipes_of(ablation, request.scale)) {
      for (int64_t seed = 0; seed < request.seeds; ++seed) {
        const AblationRow& row = ablation.rows[r];
        const std::string name = file_name(row.attention) + "." + data + "." + std::to_string(seed);
        Run run{r,
                data,
                recipe_for(row, file, seed, request),
                arguments_for(row, file, seed, request),
                request.out / word_of(request.scale) / name,
                State::missing,
                std::nullopt,
                std::nullopt};
        look_up(run);
        if (run.state != State::missing) check_same(run);
        runs.push_back(std::move(run));
      }
    }
  }
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

}  // namespace fib::ablations
