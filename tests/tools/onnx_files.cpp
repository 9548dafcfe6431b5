// SPDX-License-Identifier: Apache-2.0
// Writes small models as ONNX files, with images and LibTorch's logits, for scripts/compare-onnxruntime.sh to run in
// another program. Usage: make_onnx_files DIR
#include <cstdio>
#include <filesystem>

#include "attention/registry.h"
#include "base/npy.h"
#include "engine/onnx/export.h"
#include "engine/torch/record.h"
#include "engine/torch/some_model.h"

namespace {

using namespace fib;
using engine::AttentionForm;

void save(const std::filesystem::path& file, const at::Tensor& t) {
  write_npy<float>(file, t.sizes(), {t.data_ptr<float>(), static_cast<size_t>(t.numel())});
}

/// BASE.onnx, BASE.images.npy and BASE.logits.npy.
void write_files(const std::string& base, const std::string& name, const std::string& attention, AttentionForm form,
                 const std::string& tokens = "") {
  const at::NoGradGuard no_grad;
  const models::ModelPtr model = test::some_model(name, attention, tokens);
  const at::Tensor images = test::noise_for(*model, 2);
  engine::write_onnx(engine::record(*model), base + ".onnx", {17, {form}, {}});
  save(base + ".images.npy", images);
  save(base + ".logits.npy", model->forward(images).contiguous());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: make_onnx_files DIR\n", stderr), 2;
  const auto base = [&](const std::string& name) { return std::string(argv[1]) + "/" + name; };
  for (const std::string& name : test::minis()) {
    write_files(base(name + " full"), name, "full", AttentionForm::smaller);
    write_files(base(name + " fibottention gather"), name, "fibottention", AttentionForm::gather);
    write_files(base(name + " fibottention mask"), name, "fibottention", AttentionForm::mask);
    write_files(base(name + " topk"), name, "topk", AttentionForm::smaller);
  }
  for (const attention::MechanismInfo& m : attention::mechanisms())
    write_files(base("mini_vit " + m.name), "mini_vit", m.name, AttentionForm::smaller);
  for (const auto& [attention, tokens] : test::reduced_attentions())
    write_files(base("mini_vit " + attention + " " + tokens), "mini_vit", attention, AttentionForm::smaller, tokens);
  for (const AttentionForm form : {AttentionForm::gather, AttentionForm::mask}) {
    const std::string as = form == AttentionForm::mask ? " mask" : " gather";
    write_files(base("mini_vit grid" + as), "mini_vit", "fibottention:grid=3", form);
    write_files(base("mini_vit summaries" + as), "mini_vit", "fibottention:grid=3,summaries=3x2", form);
    write_files(base(form == AttentionForm::mask ? "mini_vit zero mask" : "mini_vit zero gather"), "mini_vit",
                "fibottention:masking=zero", form);
  }
}
