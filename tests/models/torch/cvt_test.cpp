// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "helpers.h"

namespace fib::models {
namespace {

/// As its authors have it: rates of the stages 0, 0 and that of the option.
TEST(Cvt, drops_paths_in_its_last_stage_alone) {
  Options options = with_attention("full");
  options.drop_path = 0.9;
  Dimensions dims = dimensions("mini_cvt", options);
  dims.row.stages[1].depth = 3;
  dims.row.stages[2].depth = 1;  // a first block drops nothing
  const ModelPtr model = make_cvt(dims);
  model->train();
  const at::Tensor x = images(*model, 4);
  EXPECT_TRUE(at::equal(model->forward(x), model->forward(x)));
}

}  // namespace
}  // namespace fib::models
