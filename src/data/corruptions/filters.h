// SPDX-License-Identifier: Apache-2.0
// The filters of the blurs and of the weather.
#pragma once

#include <vector>

#include "data/corruptions/float_image.h"

namespace fib::corruptions {

/// What lies beyond the edge.
enum class Border {
  nearest,     ///< the edge again: aaa|abc
  mirror,      ///< with the edge: cba|abc (SciPy's reflect)
  mirror_101,  ///< without the edge: cb|abc (OpenCV's default)
};
/// The index inside that stands for `i`, of `size` pixels.
int inside(int i, int size, Border border);

/// Weights at −radius … radius, radius = ⌊truncate · sigma + ½⌋, as SciPy has them; sigma 0 gives the 1 alone.
std::vector<double> gaussian_weights(double sigma, double truncate);
FloatImage gaussian(const FloatImage& image, double sigma, double truncate = 4, Border border = Border::nearest);

/// An odd square of weights.
struct Kernel {
  int side = 1;
  std::vector<double> weights = {1};
};
/// A disc on a grid of 17 × 17, smoothed by a Gaussian of 3 × 3 with deviation `alias`.
Kernel defocus_kernel(double radius, double alias);
/// Correlation with mirror_101 borders, per channel.
FloatImage filtered(const FloatImage& image, const Kernel& kernel);

/// Where a moving point was, and how long: one-sided, 2 · radius + 1 steps of one pixel, weights of half a Gaussian.
struct MotionStep {
  int dx, dy;
  double weight;
};
std::vector<MotionStep> motion_steps(int radius, double sigma, double degrees);
FloatImage motion_blurred(const FloatImage& image, int radius, double sigma, double degrees);

/// Linear interpolation at a point beyond whose pixels the border rule holds.
double sampled(const FloatImage& image, double y, double x, int channel, Border border);

/// The middle, enlarged to the size of the whole by linear interpolation; factor ≥ 1.
FloatImage zoomed(const FloatImage& image, double factor);

}  // namespace fib::corruptions
