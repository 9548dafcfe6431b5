// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "robots/numpy_random.h"
#include "robots/pusht_image.h"

namespace fib::robots {
namespace {

struct CoverageCase {
  Pose pose;
  double covered;
};

/// Computed with Shapely, the polygon library of the published environment.
TEST(PushTGeometry, coverage_is_that_of_the_published_environment) {
  const CoverageCase cases[] = {{kGoal, 1},
                                {{{260, 256}, kGoal.angle}, 0.8947900777874469},
                                {{{256, 250}, kGoal.angle + 0.05}, 0.7910779262437692},
                                {{{256, 256}, 0}, 0.32396670756662477},
                                {{{300, 300}, 1}, 0.23398090867074137},
                                {{{100, 100}, 0}, 0}};
  for (const CoverageCase& c : cases) EXPECT_NEAR(coverage(c.pose), c.covered, 1e-12);
}

/// Counting the points of a fine grid that lie in both needs no clipping.
TEST(PushTGeometry, coverage_agrees_with_counting_points) {
  const auto in_tee = [](Point p, const Pose& pose) {
    const double c = std::cos(pose.angle), s = std::sin(pose.angle);
    const double dx = p.x - pose.position.x, dy = p.y - pose.position.y;
    const double x = c * dx + s * dy, y = -s * dx + c * dy;
    return (std::abs(x) <= 60 && y >= 0 && y <= 30) || (std::abs(x) <= 15 && y >= 30 && y <= 120);
  };
  for (const Pose& pose : {Pose{{250, 270}, 2.5}, Pose{{230, 200}, -1}, Pose{{290, 300}, 4}}) {
    int64_t goal = 0, both = 0;
    for (double x = 100; x < 400; x += 0.5) {
      for (double y = 100; y < 400; y += 0.5) {
        if (!in_tee({x, y}, kGoal)) continue;
        ++goal;
        both += in_tee({x, y}, pose);
      }
    }
    EXPECT_NEAR(coverage(pose), static_cast<double>(both) / static_cast<double>(goal), 3e-3);
  }
}

/// numpy.random.RandomState(7): two of randint(50, 450), then randn() three times, then random_sample().
TEST(NumpyRandom, draws_what_numpy_draws) {
  NumpyRandom random(7);
  EXPECT_EQ(random.integer(50, 450), 225);
  EXPECT_EQ(random.integer(50, 450), 246);
  for (const double expected : {-0.3206032549443759, 1.4570832287334776, 0.09316606097975175})
    EXPECT_DOUBLE_EQ(random.normal(), expected);
  EXPECT_DOUBLE_EQ(random.uniform(), 0.07205113335976154);
}

TEST(PushTImage, shows_ground_walls_goal_block_and_agent) {
  const PushTScene scene{{{400, 100}, {{100, 400}, 0}}, {{{300, 450}, {304, 450}}}};
  const std::vector<uint8_t> canvas = draw_canvas(scene);
  ASSERT_EQ(canvas.size(), size_t{512 * 512 * 3});
  const auto color = [&](int x, int y) {
    const uint8_t* p = canvas.data() + (y * 512 + x) * 3;
    return std::array<int, 3>{p[0], p[1], p[2]};
  };
  EXPECT_EQ(color(299, 450), (std::array{255, 255, 255}));
  EXPECT_EQ(color(300, 450), (std::array{231, 76, 60}));
  EXPECT_EQ(color(5, 256), (std::array{211, 211, 211}));
  EXPECT_EQ(color(245, 267), (std::array{144, 238, 144}));
  EXPECT_EQ(color(100, 415), (std::array{143, 163, 184}));
  EXPECT_EQ(color(100, 400), (std::array{119, 136, 153}));
  EXPECT_EQ(color(400, 100), (std::array{78, 126, 255}));
  EXPECT_EQ(color(400, 113), (std::array{65, 105, 225}));
  EXPECT_EQ(draw_image(scene).size(), size_t{96 * 96 * 3});
}

/// Bars of the T, agent and all may hang over the edge: a body is not stopped by what is only drawn.
TEST(PushTImage, draws_what_lies_partly_outside) {
  const PushTState near{{-10, 520}, {{500, -40}, 1}}, far{{-100, 900}, {{-500, 900}, 1}};
  EXPECT_NO_THROW(draw_image({near, {{{-2, 511}, {2, 514}}}}));
  EXPECT_NO_THROW(draw_image({far}));
}

}  // namespace
}  // namespace fib::robots
