// SPDX-License-Identifier: Apache-2.0
#include "cli/layer_options.h"

#include "cli/options.h"

namespace fib::cli {

void add_layer_options(CLI::App& app, LayerArguments& a) {
  add_integer(app, "--layer", a.layer, {0, kMaxTokens}, "permute the heads as layer L does")->type_name("L");
  add_integer(app, "--cls", a.cls, {0, kMaxClassTokens}, "class tokens before the patches")->capture_default_str();
  app.add_flag("--causal", a.causal, "a token sees itself and those before it only");
}

PatternGeometry geometry_of(const LayerArguments& a, int64_t patches, int64_t heads) {
  PatternGeometry geometry{.patches = patches, .cls = a.cls, .heads = heads, .layer = {}, .causal = a.causal};
  if (a.layer != LayerArguments::kNoLayer) geometry.layer = a.layer;
  return geometry;
}

}  // namespace fib::cli
