// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "analysis/torch/over_images.h"
#include "attention/registry.h"
#include "base/read_file.h"
#include "report/torch/attention_sheet.h"
#include "report/torch/run_facts.h"
#include "robots/episode_images.h"
#include "robots/torch/rollout.h"
#include "training/run/summary.h"

namespace fib::report {
namespace {

using robots::Played;
using robots::Rollout;
using robots::TrainedPolicy;

/// What the policy's first camera saw.
std::vector<uint8_t> camera_image(const robots::RobotWorld& world, const robots::WorldState& state) {
  for (robots::ObservedValue& value : world.observe(state))
    if (!value.image.empty()) return std::move(value.image);
  return {};
}

EpisodeStrip strip_of(const std::string& which, uint32_t seed, const robots::RobotWorld& world, const Played& played) {
  std::vector<std::vector<uint8_t>> images;
  for (const size_t t : robots::strip_steps(played.states.size()))
    images.push_back(camera_image(world, played.states[t]));
  EpisodeStrip strip{which, seed, played.score, static_cast<int64_t>(played.states.size()) - 1};
  robots::append_strip(strip.frames.rgb, images);
  strip.frames.height = robots::image_side(images.front());
  strip.frames.width = static_cast<uint32_t>(images.size()) * strip.frames.height;
  return strip;
}

/// What the patches give to each patch, the mean of heads and patches: [N].
std::vector<double> looked_at(models::Model& model, const at::Tensor& image, int64_t layer) {
  const at::Tensor weights = model.inspect(image, layer).probabilities[0].mean(0);  // [T,T]
  const int64_t patches = weights.size(0) - 1;
  return numbers(weights.narrow(0, 1, patches).narrow(1, 1, patches).mean(0).to(at::kDouble));
}

/// The part of an image that the encoder sees, as bytes [3,crop,crop].
at::Tensor seen_part(const std::vector<uint8_t>& image, const robots::Observation& camera) {
  const at::Tensor bytes = robots::reduced_images(image, 1, camera.image_size)[0];
  const int64_t margin = (camera.image_size - camera.crop) / 2;
  return bytes.narrow(1, margin, camera.crop).narrow(2, margin, camera.crop);
}

SquareImage square_image(const at::Tensor& bytes) {
  const at::Tensor rgb = bytes.permute({1, 2, 0}).contiguous();
  return {static_cast<uint32_t>(rgb.size(0)), {rgb.data_ptr<uint8_t>(), rgb.data_ptr<uint8_t>() + rgb.numel()}};
}

/// First, middle and last frame.
std::vector<EncoderMap> maps_of(robots::VitEncoder& encoder, const robots::RobotWorld& world, const Played& played,
                                const robots::Policy& row) {
  models::Model& model = encoder.model();
  const int64_t side = model.dimensions().height;
  std::vector<EncoderMap> maps;
  for (const size_t t : {size_t{0}, played.states.size() / 2, played.states.size() - 1}) {
    const at::Tensor bytes =
        seen_part(camera_image(world, played.states[t]), row.image()).narrow(1, 0, side).narrow(2, 0, side);
    const at::Tensor image = encoder.seen(robots::normalized_images(bytes).unsqueeze(0));
    const auto last = static_cast<int64_t>(model.attentions().size()) - 1;
    maps.push_back({square_image(bytes), looked_at(model, image, 0), looked_at(model, image, last)});
  }
  return maps;
}

void add_encoder(PageRun& run, const TrainedPolicy& opened, const robots::RobotWorld& world, const Played& median) {
  const at::NoGradGuard no_grad;
  auto* encoder = dynamic_cast<robots::VitEncoder*>(opened.policy->encoder().cameras().front().get());
  if (encoder == nullptr) return;
  const auto mechanism = encoder->model().attentions().front();
  if (mechanism->info().support_set) run.support = attention::layer_support(mechanism->spec(), mechanism->geometry());
  if (!analysis::why_no_attention_maps(encoder->model()))
    run.episodes->maps = maps_of(*encoder, world, median, opened.policy->row());
}

std::vector<uint32_t> test_seeds() {
  std::vector<uint32_t> seeds(robots::kTestEpisodes);
  std::iota(seeds.begin(), seeds.end(), robots::kTestSeed);
  return seeds;
}

}  // namespace

bool is_policy_run(const std::string& directory) {
  return robots::is_robot(training::RunFiles{directory}.recipe().run.task);
}

PageRun policy_run(const std::string& directory) {
  const TrainedPolicy opened = robots::open_policy(directory);
  const training::RunFiles files{directory};
  PageRun run;
  run.directory = directory;
  run.record = read_run(directory);
  run.parameters = training::read_summary(files).parameters;
  run.config = read_file(files.config(), kMaxRecipeBytes);
  const std::string& sampler = opened.policy->row().sampler;
  const Rollout played =
      robots::roll_out(*opened.policy, opened.robot(), opened.normalizer, {.seeds = test_seeds(), .sampler = sampler});
  run.episodes = PlayedEpisodes{.count = robots::kTestEpisodes,
                                .mean_score = played.mean_score(),
                                .policy_ms = played.policy_ms(),
                                .sampler = sampler,
                                .strips = {},
                                .maps = {}};
  const auto world = robots::open_world(opened.robot());
  const std::vector<size_t> order = played.by_score();
  const size_t median = order[order.size() / 2];
  for (const auto& [which, i] : {std::pair{"best", order.back()}, {"median", median}, {"worst", order.front()}})
    run.episodes->strips.push_back(
        strip_of(which, robots::kTestSeed + static_cast<uint32_t>(i), *world, played.episodes[i]));
  add_encoder(run, opened, *world, played.episodes[median]);
  return run;
}

}  // namespace fib::report
