// SPDX-License-Identifier: Apache-2.0
// What `fib analyze attention-maps` can be told; cli/torch/analyze_attention_maps.cpp does it.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/subject_options.h"

namespace fib::cli {

struct MapsArguments {
  SubjectArguments subjects;
  std::vector<int64_t> indices;
  std::vector<std::string> files;
  std::vector<int64_t> patch;  ///< row and column from 1; empty: the middle
  std::string out;
  bool json = false;
};

inline void declare(CLI::App& command, MapsArguments& a) {
  add_subject_options(command, a.subjects, Subjects::many);
  command.add_option("IMAGE", a.files, "images to look at");
  add_integers(command, "--index", a.indices, {0, INT64_MAX}, "images of the test set, from 0; the first by default");
  add_integers(command, "--patch", a.patch, {1, 16384}, "row and column from 1 of the patch that looks; the middle");
  command.add_option("-o,--out", a.out, "the drawing, .svg or .png")->type_name("FILE");
  command.add_flag("--json", a.json, "the weights themselves");
  command.footer(
      "Example: fib analyze attention-maps --run runs/full --run runs/fibottention --index 3 --out maps.png\n"
      "Example: fib analyze attention-maps --model vit_tiny_patch16_224 --weights W.safetensors --data folder:IMAGES "
      "--patch 7,7 -o maps.svg cat.jpg");
}

inline Command analyze_attention_maps_command() {
  return torch_command<MapsArguments>(
      {"analyze attention-maps", "where each head looks, drawn over an image", Topic::trained}, declare);
}

}  // namespace fib::cli
