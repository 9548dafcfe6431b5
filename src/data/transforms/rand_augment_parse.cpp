// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>

#include "data/transforms/rand_augment.h"

namespace fib {
namespace {

[[noreturn]] void refuse(std::string_view text, const std::string& what) {
  throw std::invalid_argument("RandAugment '" + std::string(text) + "': " + what +
                              "; accepted is rand with sections such as -m9 -n2 -p0.5 -mstd0.5 -mmax10 -inc1");
}

struct Section {
  std::string_view key, value;
};

Section split_section(std::string_view section, std::string_view text) {
  const size_t digits = section.find_first_of("0123456789");
  if (digits == std::string_view::npos || digits == 0)
    refuse(text, "section '" + std::string(section) + "' is not a name and a number");
  return {section.substr(0, digits), section.substr(digits)};
}

template <class T>
T number(const Section& section, std::string_view text, T low, T high) {
  T value{};
  const char* end = section.value.data() + section.value.size();
  const auto parsed = std::from_chars(section.value.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || !(value >= low && value <= high))
    refuse(text, "'" + std::string(section.key) + std::string(section.value) + "' is not a number from " +
                     std::to_string(low) + " to " + std::to_string(high));
  return value;
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
    // timm takes inc0 for inc1: whoever writes it means something else.
    number(section, text, 1, 1);
    augment.increasing = true;
  } else {
    refuse(text, "unknown section '" + std::string(section.key) + "'");
  }
}

}  // namespace

RandAugment RandAugment::parse(std::string_view text) {
  RandAugment augment;
  std::set<std::string_view> seen;
  size_t begin = text.find('-');
  if (text.substr(0, begin) != "rand") refuse(text, "it does not begin with 'rand'");
  while (begin != std::string_view::npos) {
    const size_t end = text.find('-', begin + 1);
    const Section section =
        split_section(text.substr(begin + 1, end == std::string_view::npos ? end : end - begin - 1), text);
    if (!seen.insert(section.key).second) refuse(text, "section '" + std::string(section.key) + "' is given twice");
    set_section(augment, section, text);
    begin = end;
  }
  return augment;
}

}  // namespace fib
