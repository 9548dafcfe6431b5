// SPDX-License-Identifier: Apache-2.0
// The settings of fib adapt; torch/adaptation.h is the task.
#pragma once

#include "training/option_row.h"

namespace fib::training {

struct Recipe;

struct AdaptationSettings {
  int64_t ridge_images = 0;
  int64_t branch_epochs = 0;
  double fade_fraction = 0.5;
  double temperature = 2;
  double features = 1;

  static OptionRows<AdaptationSettings> rows();
  friend bool operator==(const AdaptationSettings&, const AdaptationSettings&) = default;
};

/// The defaults of fib adapt: small steps from trained weights, no averaged weights.
Recipe adaptation_recipe();

}  // namespace fib::training
