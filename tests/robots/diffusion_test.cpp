// SPDX-License-Identifier: Apache-2.0
#include "robots/diffusion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "files.h"
#include "golden_fill.h"

namespace fib::robots {
namespace {

/// Golden numbers: diffusers' DDPMScheduler, squaredcos_cap_v2, 100 steps, in float64.
TEST(NoiseSchedule, is_the_published_cosine) {
  const NoiseSchedule schedule(100);
  const std::map<int64_t, std::pair<double, double>> golden = {
      {0, {0.0006312815983416931, 0.9993687184016583}},   {1, {0.0011169370373218523, 0.9982524864661346}},
      {10, {0.00553036971493337, 0.9667167048805273}},    {50, {0.03154633936072582, 0.4782646329454781}},
      {98, {0.7499392803846627, 0.00024285722793500596}}, {99, {0.999, 2.4285722793500615e-07}}};
  for (const auto& [t, values] : golden) {
    EXPECT_NEAR(schedule.beta(t), values.first, 1e-14) << t;
    EXPECT_NEAR(schedule.alpha_bar(t), values.second, 1e-13) << t;
  }
}

double one_step(const DenoisingStep& s, double x, double predicted, double fresh) {
  const double clean = std::clamp((x - s.noise * predicted) / s.signal, -1.0, 1.0);
  return s.clean * clean + s.sample * x + s.predicted * predicted + s.fresh * fresh;
}

/// Also diffusers', on the streams x_t, eps and z.
TEST(DdpmSteps, are_those_of_the_reference) {
  const std::vector<double> x = golden::stream("x_t", 4), e = golden::stream("eps", 4), z = golden::stream("z", 4);
  const std::map<int64_t, std::vector<double>> expected = {
      {0, {-0.684259211696178, 0.6204805713829693, 0.20026146068537962, 0.7230799643862877}},
      {1, {-0.6870073566507058, 0.6384389701335745, 0.20939301562495719, 0.7312522118906208}},
      {50, {-0.7159535008495665, 0.7840777304559108, 0.2824722951624883, 0.776866455204922}},
      {99, {-0.19191622682156745, 0.9424238627140706, 0.4748366228654757, 0.382565100982814}}};
  const std::vector<DenoisingStep> steps = ddpm_steps(NoiseSchedule(100));
  ASSERT_EQ(steps.size(), size_t{100});
  for (const auto& [t, values] : expected) {
    const DenoisingStep& step = steps[static_cast<size_t>(99 - t)];
    ASSERT_EQ(step.time, t);
    for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(one_step(step, x[i], e[i], z[i]), values[i], 1e-12) << t;
  }
}

TEST(NoiseSchedule, mixes_signal_and_noise_as_the_reference) {
  const std::vector<double> x = golden::stream("x_t", 4), e = golden::stream("eps", 4);
  const double expected[] = {-0.7155832644599206, 0.6253744138013054, 0.14808571732798026, 0.004135315008063689};
  const NoiseSchedule schedule(100);
  for (size_t i = 0; i < 4; ++i) {
    const double mixed = std::sqrt(schedule.alpha_bar(50)) * x[i] + std::sqrt(1 - schedule.alpha_bar(50)) * e[i];
    EXPECT_NEAR(mixed, expected[i], 1e-12);
  }
}

/// The slow way: Bayes' rule for three Gaussians, x₀ → x_prev → x_t, without any closed form of the posterior.
TEST(DdpmSteps, are_the_posterior_of_two_gaussians) {
  const NoiseSchedule schedule(100);
  for (const DenoisingStep& s : ddpm_steps(schedule)) {
    if (s.time == 0) continue;
    const double prior_variance = 1 - schedule.alpha_bar(s.time - 1),
                 prior_gain = std::sqrt(schedule.alpha_bar(s.time - 1));
    const double gain = std::sqrt(1 - schedule.beta(s.time)), variance = schedule.beta(s.time);
    const double precision = 1 / prior_variance + gain * gain / variance;
    EXPECT_NEAR(s.clean, prior_gain / prior_variance / precision, 1e-10);
    EXPECT_NEAR(s.sample, gain / variance / precision, 1e-10);
    EXPECT_NEAR(s.fresh * s.fresh, 1 / precision, 1e-10);
  }
}

/// The exact noise leads back to the clean sample in any number of steps.
TEST(DdimSteps, undo_noise_that_is_known) {
  const NoiseSchedule schedule(100);
  for (const int64_t count : {1, 3, 10, 16, 100}) {
    const std::vector<DenoisingStep> steps = ddim_steps(schedule, count);
    ASSERT_EQ(static_cast<int64_t>(steps.size()), count);
    EXPECT_EQ(steps.back().time, 0);
    const double clean = 0.37, noise = -1.2;
    double x = steps.front().signal * clean + steps.front().noise * noise;
    for (const DenoisingStep& s : steps) x = one_step(s, x, noise, 0);
    EXPECT_NEAR(x, clean, 1e-9) << count;
  }
}

TEST(Samplers, are_known_by_name) {
  const NoiseSchedule schedule(100);
  EXPECT_EQ(sampler_steps("ddpm", schedule).size(), size_t{100});
  EXPECT_EQ(sampler_steps("ddim:16", schedule).size(), size_t{16});
  for (const char* wrong : {"ddim", "ddim:0", "ddim:101", "ddim:4x", "euler", ""}) {
    EXPECT_TRUE(test::mentions(test::error_of([&] { sampler_steps(wrong, schedule); }), "accepted are ddpm and ddim:K"))
        << wrong;
  }
}

}  // namespace
}  // namespace fib::robots
