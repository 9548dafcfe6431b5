// SPDX-License-Identifier: Apache-2.0
#include "models/model.h"

#include <stdexcept>

#include "models/vit.h"

namespace fib::models {

ModelPtr make(const std::string& name, const Options& options) {
  const Dimensions dims = dimensions(name, options);
  if (dims.row.kind == "vit") return std::make_shared<Vit>(dims);
  throw std::logic_error("model " + name + " is of a kind without a backbone: " + dims.row.kind);
}

}  // namespace fib::models
