// SPDX-License-Identifier: Apache-2.0
#include "models/torch/weights.h"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <unordered_set>
#include <utility>
#include <vector>

#include "models/kinds.h"

namespace fib::models {
namespace {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

/// Parameters, then buffers, in the order of the state dict.
NamedTensors state(const torch::nn::Module& module) {
  NamedTensors all;
  for (const auto& item : module.named_parameters()) all.emplace_back(item.key(), item.value().detach());
  for (const auto& item : module.named_buffers()) all.emplace_back(item.key(), item.value().detach());
  return all;
}

bool is_floating(TensorType type) {
  return type == TensorType::f64 || type == TensorType::f32 || type == TensorType::f16 || type == TensorType::bf16;
}

at::ScalarType scalar_type(TensorType type) {
  switch (type) {
    case TensorType::i64:
      return at::kLong;
    case TensorType::i32:
      return at::kInt;
    case TensorType::i16:
      return at::kShort;
    case TensorType::i8:
      return at::kChar;
    case TensorType::u8:
      return at::kByte;
    case TensorType::boolean:
      return at::kBool;
    case TensorType::f64:
      return at::kDouble;
    default:
      return at::kFloat;
  }
}

/// A copy in float, or double where the file has double; integers as they are.
at::Tensor to_tensor(const TensorView& view) {
  const at::Tensor t = at::empty(view.shape, scalar_type(view.type));
  const auto count = static_cast<size_t>(t.numel());
  if (view.type == TensorType::f64) {
    copy_values(view, std::span(t.data_ptr<double>(), count));
  } else if (is_floating(view.type)) {
    copy_values(view, std::span(t.data_ptr<float>(), count));
  } else {
    std::copy(view.bytes.begin(), view.bytes.end(), static_cast<std::byte*>(t.data_ptr()));
  }
  return t;
}

TensorType tensor_type(const std::string& name, const at::Tensor& t) {
  switch (t.scalar_type()) {
    case at::kDouble:
      return TensorType::f64;
    case at::kFloat:
      return TensorType::f32;
    case at::kHalf:
      return TensorType::f16;
    case at::kBFloat16:
      return TensorType::bf16;
    case at::kLong:
      return TensorType::i64;
    case at::kInt:
      return TensorType::i32;
    case at::kBool:
      return TensorType::boolean;
    default:
      throw std::invalid_argument("tensor " + name + " has a type that is not saved: " + toString(t.scalar_type()));
  }
}

/// Names for an error: the first few and how many there are.
class NameList {
 public:
  void add(const std::string& name) {
    if (++count_ <= kShown) text_ += (text_.empty() ? "" : ", ") + name;
  }
  bool empty() const { return count_ == 0; }
  /// "3 missing (a, b, c)"
  std::string summary(const char* what) const {
    return std::to_string(count_) + " " + what + " (" + text_ + (count_ > kShown ? ", …" : "") + ")";
  }

 private:
  static constexpr int64_t kShown = 4;
  int64_t count_ = 0;
  std::string text_;
};

struct Problems {
  NameList missing, unexpected, misshapen;

  void throw_if_any(const std::string& model) const {
    std::string text;
    const auto append = [&](const NameList& list, const char* what) {
      if (!list.empty()) text += (text.empty() ? "" : "; ") + list.summary(what);
    };
    append(missing, "missing");
    append(unexpected, "unexpected");
    append(misshapen, "misshapen");
    if (!text.empty()) throw std::runtime_error("weights do not fit " + model + ": " + text);
  }
};

std::string misfit(const std::string& name, at::IntArrayRef stored, at::IntArrayRef wanted) {
  std::ostringstream text;
  text << name << " is " << stored << ", not " << wanted;
  return text.str();
}

bool belongs_to(const std::string& name, const std::string& module) { return name.rfind(module + ".", 0) == 0; }

/// Pairs of a parameter and what goes into it; what does not fit is noted.
using Plan = std::vector<std::pair<at::Tensor, at::Tensor>>;

void plan_tensor(Plan& plan, Problems& problems, const Model& model, const SafetensorsFile& file,
                 const std::pair<std::string, at::Tensor>& target, const LoadOptions& options) {
  const auto& [name, parameter] = target;
  if (is_constructed(name)) return;
  const auto stored = [&](const std::string& wanted) {
    const TensorView* view = file.find(wanted);
    return view != nullptr ? to_tensor(*view) : at::Tensor();
  };
  at::Tensor value = stored(name);
  if (!value.defined()) value = model.made_of(name, stored);
  if (!value.defined()) {
    problems.missing.add(name);
    return;
  }
  value = model.adapted(name, value);
  if (value.sizes() == parameter.sizes()) {
    plan.emplace_back(parameter, value);
  } else if (!(options.new_classifier && belongs_to(name, model.dimensions().row.kind->classifier))) {
    problems.misshapen.add(misfit(name, value.sizes(), parameter.sizes()));
  }
}

void note_unexpected(Problems& problems, const NamedTensors& targets, const SafetensorsFile& file) {
  std::unordered_set<std::string> known;
  for (const auto& target : targets) known.insert(target.first);
  for (const TensorView& view : file.tensors()) {
    if (!known.count(view.name) && !is_constructed(view.name)) problems.unexpected.add(view.name);
  }
}

}  // namespace

std::vector<BlockWidth> stored_widths(const SafetensorsFile& file, const ModelRow& row) {
  if (!row.kind->prunable) return {};
  std::vector<BlockWidth> widths;
  for (int64_t block = 0; block < row.depth; ++block) {
    const std::string prefix = "blocks." + std::to_string(block) + ".";
    const TensorView* proj = file.find(prefix + "attn.proj.weight");
    const TensorView* fc1 = file.find(prefix + "mlp.fc1.weight");
    const bool usable = proj != nullptr && fc1 != nullptr && proj->shape.size() == 2 && fc1->shape.size() == 2 &&
                        proj->shape[1] % row.heads == 0;
    // What does not fit is said when it is loaded. Only a pruned model keeps its width outside of blocks.
    if (!usable || proj->shape[0] != row.dim || fc1->shape[1] != row.dim) return {};
    widths.push_back({proj->shape[1] / row.heads, fc1->shape[0]});
  }
  const BlockWidth own{row.dim / row.heads, 4 * row.dim};
  const bool pruned = std::any_of(widths.begin(), widths.end(), [&](const BlockWidth& w) { return w != own; });
  return pruned ? widths : std::vector<BlockWidth>();
}

int64_t stored_channels(const SafetensorsFile& file, const ModelRow& row) {
  const TensorView* stem = file.find(row.kind->stem);
  return stem != nullptr && stem->shape.size() == 4 ? stem->shape[1] : 0;
}

std::optional<int64_t> stored_frames(const SafetensorsFile& file) {
  const TensorView* times = file.find("time_embed");
  return times != nullptr && times->shape.size() == 3 ? std::optional(times->shape[1]) : std::nullopt;
}

bool is_constructed(const std::string& name) {
  static const std::unordered_set<std::string> kLeaves = {"relative_position_index", "attn_mask",
                                                          "num_batches_tracked"};
  return kLeaves.count(name.substr(name.rfind('.') + 1)) > 0;
}

namespace {

LoadReport report_of(const Model& model, const SafetensorsFile& file, const Plan& plan) {
  const std::string name = std::string(model.dimensions().row.kind->classifier) + ".weight";
  const at::Tensor classifier = model.named_parameters()[name];
  const TensorView* stored = file.find(name);
  const auto is_classifier = [&](const auto& filled) { return filled.first.data_ptr() == classifier.data_ptr(); };
  return {.tensors = static_cast<int64_t>(file.tensors().size()),
          .taken = static_cast<int64_t>(plan.size()),
          .stored_classes = stored != nullptr && stored->shape.size() == 2 ? stored->shape[0] : 0,
          .new_classifier = std::ranges::none_of(plan, is_classifier)};
}

}  // namespace

void load_weights(Model& model, const SafetensorsFile& file, const LoadOptions& options) {
  const at::NoGradGuard no_grad;
  const NamedTensors targets = state(model);
  Plan plan;
  Problems problems;
  for (const auto& target : targets) plan_tensor(plan, problems, model, file, target, options);
  note_unexpected(problems, targets, file);
  problems.throw_if_any(model.dimensions().row.name);
  for (auto& [parameter, value] : plan) parameter.copy_(value);
  if (options.report != nullptr) *options.report = report_of(model, file, plan);
}

void load_weights(Model& model, const std::filesystem::path& file, const LoadOptions& options) {
  load_weights(model, SafetensorsFile(file), options);
}

ModelPtr make_with_weights(const std::string& name, const std::filesystem::path& file, Options options,
                           const LoadOptions& load) {
  const SafetensorsFile weights(file);
  const TensorView* head = weights.find(std::string(find_row(name).kind->classifier) + ".weight");
  if (!options.classes && head != nullptr && head->shape.size() == 2) options.classes = head->shape[0];
  if (!options.frames && find_row(name).frames > 0) options.frames = stored_frames(weights);
  // A new classifier is not in the file, so it has to come from the initialisation.
  options.initialize = load.new_classifier;
  if (options.widths.empty()) options.widths = stored_widths(weights, find_row(name));
  ModelPtr model = make(name, options);
  model->to(load.type);
  load_weights(*model, weights, load);
  return model;
}

void save_weights(const torch::nn::Module& module, const std::filesystem::path& file, const TensorMetadata& metadata) {
  NamedTensors tensors = state(module);
  std::vector<TensorView> views;
  for (auto& [name, tensor] : tensors) {
    tensor = tensor.cpu().contiguous();
    views.push_back({name,
                     tensor_type(name, tensor),
                     tensor.sizes().vec(),
                     {static_cast<const std::byte*>(tensor.data_ptr()), static_cast<size_t>(tensor.nbytes())}});
  }
  write_safetensors(file, views, metadata);
}

}  // namespace fib::models
