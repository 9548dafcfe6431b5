// SPDX-License-Identifier: Apache-2.0
// A forward on a given number of samples, as it is recorded: nodes whose values have sizes in numbers.
#pragma once

#include <torch/torch.h>

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/graph.h"

namespace fib::engine {

/// What is known of a tensor that a node reads or writes.
struct TracedValue {
  std::string name;
  std::vector<int64_t> sizes;
  at::Tensor constant;  ///< undefined for what depends on the image
};

class GraphBuilder {
 public:
  std::vector<TracedValue> values;
  std::vector<Node> nodes;
  std::optional<GraphLoop> loop;
  bool in_loop = false;  ///< nodes that are added now are repeated
  ValueId input = kNoValue, output = kNoValue;

  /// Names for parameters and buffers.
  void name(const at::Tensor& tensor, const std::string& name);
  /// What is computed from named constants is called like the first of them.
  void inherit_name(const at::Tensor& from, const at::Tensor& to);

  /// From now on this tensor is that value. Its memory is not kept.
  void bind(const at::Tensor& tensor, ValueId value);
  /// Whether it was computed from the image.
  bool depends(const at::Tensor& tensor) const { return ids_.count(tensor.unsafeGetTensorImpl()) > 0; }
  /// The value that a tensor is; one that does not depend on the image becomes a constant.
  ValueId id_of(const at::Tensor& tensor);

  ValueId new_value(at::IntArrayRef sizes);
  /// Adds a node whose output has these sizes.
  ValueId add(Op op, std::vector<ValueId> inputs, at::IntArrayRef sizes, Attributes attributes = {});

 private:
  using Impl = c10::TensorImpl;
  /// An address that stays the tensor's own, and no memory of its elements.
  using Identity = c10::weak_intrusive_ptr<Impl, c10::UndefinedTensorImpl>;
  struct Named {
    Identity identity;
    std::string name;
  };

  std::unordered_map<const Impl*, ValueId> ids_, constants_;
  std::unordered_map<const Impl*, Named> names_;
  std::vector<Identity> identities_;
};

/// Merges two traces, of two samples and of three: extents that grow are counted per sample. (Torch treats an extent of
/// one in ways of its own.) Throws std::runtime_error where they differ in anything else.
Graph merged(const GraphBuilder& two, const GraphBuilder& three);

}  // namespace fib::engine
