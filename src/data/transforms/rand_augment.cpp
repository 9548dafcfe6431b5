// SPDX-License-Identifier: Apache-2.0
#include "data/transforms/rand_augment.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>

#include "base/rng.h"
#include "base/text.h"
#include "data/transforms/pillow_ops.h"

namespace fib {
namespace {

double enhance_factor(double level, double sign, bool increasing) {
  // "No change" is 1: the increasing set moves away from it, the other walks through it.
  return increasing ? std::max(0.1, 1 + sign * level * 0.9) : level * 1.8 + 0.1;
}

double posterize_bits(double level, bool increasing) {
  const int bits = static_cast<int>(level * 4);
  return increasing ? 4 - bits : bits;
}

double solarize_threshold(double level, bool increasing) {
  const int threshold = std::min(256, static_cast<int>(level * 256));
  return increasing ? 256 - threshold : threshold;
}

[[noreturn]] void refuse(std::string_view text, const std::string& what) {
  throw std::invalid_argument(
      fmt::format("RandAugment {}: {}; accepted is rand with sections such as -m9 -n2 -p0.5 -mstd0.5 -mmax10 -inc1",
                  in_quotes(text), what));
}

struct Section {
  std::string_view key, value;
};

Section split_section(std::string_view section, std::string_view text) {
  const size_t digits = section.find_first_of("0123456789");
  if (digits == std::string_view::npos || digits == 0)
    refuse(text, fmt::format("section {} is not a name and a number", in_quotes(section)));
  return {section.substr(0, digits), section.substr(digits)};
}

template <class T>
T number(const Section& section, std::string_view text, T low, T high) {
  const auto value = parse_number<T>(section.value);
  if (!value || !(*value >= low && *value <= high))
    refuse(text,
           fmt::format("'{}{}' is not a number from {} to {}", section.key, printable(section.value, 20), low, high));
  return *value;
}

void set_section(RandAugment& augment, const Section& section, std::string_view text) {
  if (section.key == "m") {
    augment.magnitude = number(section, text, 0, 100);
  } else if (section.key == "n") {
    augment.layers = number(section, text, 0, 100);
  } else if (section.key == "p") {
    augment.probability = number(section, text, 0.0, 1.0);
  } else if (section.key == "mstd") {
    augment.magnitude_std = number(section, text, 0.0, 1e9);
    // timm reads any deviation above 100 as "uniform between 0 and m".
    if (augment.magnitude_std > 100) augment.magnitude_std = std::numeric_limits<double>::infinity();
  } else if (section.key == "mmax") {
    augment.magnitude_max = number(section, text, 1, 100);
  } else if (section.key == "inc") {
    // timm takes inc0 for inc1, which is hardly what its author meant.
    number(section, text, 1, 1);
    augment.increasing = true;
  } else {
    refuse(text, "unknown section " + in_quotes(section.key));
  }
}

}  // namespace

double augment_argument(AugmentOp op, double level, bool negative, bool increasing) {
  const double part = level / 10, sign = negative ? -1 : 1;
  switch (op) {
    case AugmentOp::autocontrast:
    case AugmentOp::equalize:
    case AugmentOp::invert:
      return 0;
    case AugmentOp::rotate:
      return sign * part * 30;
    case AugmentOp::posterize:
      return posterize_bits(part, increasing);
    case AugmentOp::solarize:
      return solarize_threshold(part, increasing);
    case AugmentOp::solarize_add:
      return std::min(128, static_cast<int>(part * 110));
    case AugmentOp::color:
    case AugmentOp::contrast:
    case AugmentOp::brightness:
    case AugmentOp::sharpness:
      return enhance_factor(part, sign, increasing);
    case AugmentOp::shear_x:
    case AugmentOp::shear_y:
      return sign * part * 0.3;
    case AugmentOp::translate_x:
    case AugmentOp::translate_y:
      return sign * part * 0.45;
  }
  return 0;
}

void apply_augment(Image& image, AugmentOp op, double argument, const Fill& fill) {
  switch (op) {
    case AugmentOp::autocontrast:
      return autocontrast(image);
    case AugmentOp::equalize:
      return equalize(image);
    case AugmentOp::invert:
      return invert(image);
    case AugmentOp::rotate:
      image = rotated(image, argument, fill);
      return;
    case AugmentOp::posterize:
      return posterize(image, static_cast<int>(argument));
    case AugmentOp::solarize:
      return solarize(image, static_cast<int>(argument));
    case AugmentOp::solarize_add:
      return solarize_add(image, static_cast<int>(argument));
    case AugmentOp::color:
      return enhance_color(image, argument);
    case AugmentOp::contrast:
      return enhance_contrast(image, argument);
    case AugmentOp::brightness:
      return enhance_brightness(image, argument);
    case AugmentOp::sharpness:
      return enhance_sharpness(image, argument);
    case AugmentOp::shear_x:
      image = warped(image, {.b = argument}, fill);
      return;
    case AugmentOp::shear_y:
      image = warped(image, {.d = argument}, fill);
      return;
    case AugmentOp::translate_x:
      image = warped(image, {.c = argument * static_cast<double>(image.width)}, fill);
      return;
    case AugmentOp::translate_y:
      image = warped(image, {.f = argument * static_cast<double>(image.height)}, fill);
      return;
  }
}

double RandAugment::draw_level(CounterRng& rng) const {
  double level = magnitude;
  if (std::isinf(magnitude_std)) {
    level = uniform_between(rng, 0, magnitude);
  } else if (magnitude_std > 0) {
    level += magnitude_std * standard_normal(rng);
  }
  return std::clamp(level, 0.0, magnitude_max);
}

void RandAugment::apply(Image& image, const Fill& fill, CounterRng& rng) const {
  for (int i = 0; i < layers; ++i) {
    const auto op = static_cast<AugmentOp>(rng.below(kAugmentOps));
    if (!bernoulli(rng, probability)) continue;
    const double level = draw_level(rng);
    apply_augment(image, op, augment_argument(op, level, bernoulli(rng, 0.5), increasing), fill);
  }
}

RandAugment RandAugment::parse(std::string_view text) {
  RandAugment augment;
  std::set<std::string_view> seen;
  size_t begin = text.find('-');
  if (text.substr(0, begin) != "rand") refuse(text, "it does not begin with 'rand'");
  while (begin != std::string_view::npos) {
    const size_t end = text.find('-', begin + 1);
    const Section section =
        split_section(text.substr(begin + 1, end == std::string_view::npos ? end : end - begin - 1), text);
    if (!seen.insert(section.key).second) refuse(text, fmt::format("section '{}' is given twice", section.key));
    set_section(augment, section, text);
    begin = end;
  }
  return augment;
}

}  // namespace fib
