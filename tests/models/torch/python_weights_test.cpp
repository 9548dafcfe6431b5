// SPDX-License-Identifier: Apache-2.0
// A file saved here is read by a few lines of Python and gives the same logits in an independent ViT.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>

#include "base/npy.h"
#include "files.h"
#include "models/torch/weights.h"

namespace fib::models {
namespace {

void write_array(const std::filesystem::path& file, const at::Tensor& values) {
  const at::Tensor t = values.contiguous();
  write_npy<double>(file, t.sizes().vec(), {t.data_ptr<double>(), static_cast<size_t>(t.numel())});
}

TEST(SavedWeights, give_the_same_logits_in_python) {
  const at::NoGradGuard no_grad;
  const test::TemporaryDirectory directory;
  torch::manual_seed(1);
  const ModelPtr model = make("mini_vit");
  model->to(at::kDouble);
  model->eval();
  for (auto& parameter : model->parameters()) parameter.add_(at::randn_like(parameter), 0.1);
  const at::Tensor images = at::randn({2, 3, 64, 64}, at::kDouble);
  save_weights(*model, directory / "w.safetensors");
  write_array(directory / "x.npy", images);
  write_array(directory / "y.npy", model->forward(images));

  const std::string folder = directory.path().string();
  const int status = std::system(("/usr/bin/python3 -B " FIB_TEST_DATA "/../python/vit_reference.py " + folder +
                                  "/w.safetensors 3 " + folder + "/x.npy " + folder + "/y.npy")
                                     .c_str());
  if (WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 127) GTEST_SKIP() << "no /usr/bin/python3 with torch";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace fib::models
