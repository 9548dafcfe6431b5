// SPDX-License-Identifier: Apache-2.0
#include "engine/torch/record.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>
#include <fmt/format.h>
#include <torch/library.h>

#include <algorithm>
#include <optional>
#include <set>
#include <stdexcept>

#include "engine/clean.h"
#include "engine/torch/translate.h"

namespace fib::engine {
namespace {

using attention::Inputs;
using attention::Mechanism;

// ---- Shapes without values: what depends on the image is a tensor on torch's meta device, which has sizes and no
// memory. What follows from the weights alone is computed on the CPU as ever, for its numbers are constants of the
// graph.

/// Above every other key, so that an operator is seen before torch chooses a device.
constexpr auto kMode = c10::DispatchKey::TESTING_ONLY_GenericMode;
using Stack = torch::jit::Stack;
using Excluded = c10::impl::ExcludeDispatchKeyGuard;

at::Tensor without_values(const at::Tensor& t) {
  return !t.defined() || t.is_meta() ? t : at::empty_strided(t.sizes(), t.strides(), t.options().device(at::kMeta));
}

/// Constants among the arguments lose their values, so that all are on one device.
c10::IValue without_values(const c10::IValue& argument) {
  if (argument.isTensor()) return without_values(argument.toTensor());
  if (!argument.isTensorList()) return argument;
  c10::List<at::Tensor> list;
  for (const at::Tensor& t : argument.toTensorVector()) list.push_back(without_values(t));
  return list;
}

/// The output of operators that have no meta kernel.
at::Tensor output_without_kernel(const std::string& name, const c10::IValue* arguments) {
  static const std::set<std::string> same_shape = {"aten::layer_norm", "aten::batch_norm", "aten::roll"};
  if (same_shape.contains(name)) return at::empty(arguments[0].toTensor().sizes(), arguments[0].toTensor().options());
  if (name != "aten::conv2d") return {};
  const at::Tensor x = arguments[0].toTensor(), weight = arguments[1].toTensor();
  if (!arguments[4].isIntList()) return {};
  const std::vector<int64_t> stride = arguments[3].toIntVector(), padding = arguments[4].toIntVector();
  const auto side = [&](size_t axis) {
    const auto d = static_cast<int64_t>(axis) + 2;
    return (x.size(d) + 2 * padding[axis % padding.size()] - weight.size(d)) / stride[axis % stride.size()] + 1;
  };
  return at::empty({x.size(0), weight.size(0), side(0), side(1)}, x.options());
}

/// Calls an operator whose inputs depend on the image, for the shapes of its outputs.
void call_for_shapes(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  const Excluded guard(kMode);
  const size_t count = op.schema().arguments().size();
  const auto arguments = stack->end() - static_cast<ptrdiff_t>(count);
  std::transform(arguments, stack->end(), arguments, [](const c10::IValue& v) { return without_values(v); });
  const at::Tensor output = output_without_kernel(op.schema().name(), &*arguments);
  if (!output.defined()) return op.redispatchBoxed(keys, stack);
  torch::jit::drop(*stack, count);
  torch::jit::push(*stack, output);
}

/// Tensors that a model makes on the device of its input are constants: they are made on the CPU.
void make_constants_on_cpu(Stack::iterator begin, Stack::iterator end) {
  for (auto argument = begin; argument != end; ++argument) {
    if (argument->isDevice() && argument->toDevice().is_meta()) *argument = c10::Device(at::kCPU);
  }
}

/// What every operator passes while a forward is recorded. One that is made of others, and that the graph does not know
/// by itself, calls these on what it was given.
void call_while_recording(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  const c10::DispatchKeySet below = keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kMode);
  const auto begin = stack->end() - static_cast<ptrdiff_t>(op.schema().arguments().size());
  const std::vector<at::Tensor> tensors = tensors_in({begin, stack->end()});
  const bool depends = std::any_of(tensors.begin(), tensors.end(), [](const at::Tensor& t) { return t.is_meta(); });
  const bool composite = op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
  if (depends && (is_known(op.schema().name()) || !composite)) return call_for_shapes(op, below, stack);
  if (!depends) make_constants_on_cpu(begin, stack->end());
  op.redispatchBoxed(below, stack);
}

/// Until the end of the scope, operators of this thread compute shapes where they see the image.
class ShapesOnly {
 public:
  ShapesOnly() : library_(torch::Library::IMPL, "_", kMode, __FILE__, __LINE__) {
    library_.fallback(torch::CppFunction::makeFromBoxedFunction<&call_while_recording>());
    mode_.emplace(kMode);
  }

 private:
  torch::Library library_;
  std::optional<c10::impl::IncludeDispatchKeyGuard> mode_;
};

// ---- The forward as nodes

/// While one lives, what this thread calls of torch is added to a draft. An operator that the graph knows is a node;
/// one that it does not know is looked into, for it may be made of others that it knows.
class Recorder final : public attention::StandIn {
 public:
  explicit Recorder(Draft& draft) : draft_(draft) {
    current_ = this;
    handle_ = at::addThreadLocalCallback(at::RecordFunctionCallback(&Recorder::on_start, &Recorder::on_end)
                                             .needsInputs(true)
                                             .needsOutputs(true)
                                             .scopes({at::RecordScope::FUNCTION}));
  }
  ~Recorder() override {
    at::removeCallback(handle_);
    current_ = nullptr;
  }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Torch does not let exceptions of callbacks through.
  void throw_what_went_wrong() const {
    if (error_) std::rethrow_exception(error_);
  }

  at::Tensor forward(const Mechanism& asked, const Inputs& in) override {
    std::vector<ValueId> ids{draft_.id_of(in.q), draft_.id_of(in.k), draft_.id_of(in.v)};
    return answered(asked, std::move(ids), in.bias, in.q, false);
  }

  at::Tensor forward_packed(const Mechanism& asked, const at::Tensor& qkv, const at::Tensor& bias) override {
    return answered(asked, {draft_.id_of(qkv)}, bias, qkv, true);
  }

 private:
  struct Frame {
    TorchCall call;
    bool closed = false;  // nothing inside it is recorded
    bool depends = false;
  };

  static std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& f) {
    current_->guarded([&] { current_->start(f); });
    return nullptr;
  }

  static void on_end(const at::RecordFunction& f, at::ObserverContext*) {
    current_->guarded([&] { current_->end(f); });
  }

  template <class Body>
  void guarded(const Body& body) {
    try {
      body();
    } catch (...) {
      if (!error_) error_ = std::current_exception();
    }
  }

  void start(const at::RecordFunction& f) {
    Frame& frame = frames_.emplace_back();
    if (frames_.size() > 1 && frames_[frames_.size() - 2].closed) {
      frame.closed = true;
      return;
    }
    frame.call.name = f.name();
    for (const c10::IValue& input : f.inputs()) frame.call.inputs.push_back(input);
    for (const at::Tensor& t : tensors_in(frame.call.inputs)) frame.depends = frame.depends || draft_.depends(t);
    frame.closed = !frame.depends || is_known(frame.call.name);
    if (!frame.closed) refuse_writing(f);
  }

  static void refuse_writing(const at::RecordFunction& f) {
    const auto schema = f.operator_schema();
    if (schema && schema->is_mutable())
      throw std::runtime_error(fmt::format("recording: {} writes into what the graph has computed", f.name()));
  }

  void end(const at::RecordFunction& f) {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    const bool inside_closed = !frames_.empty() && frames_.back().closed;
    if (inside_closed || f.outputs().empty()) return;
    frame.call.outputs = f.outputs();
    if (!frame.depends) return inherit_names(frame.call);
    if (is_known(frame.call.name)) return translate(frame.call, draft_);
    for (const at::Tensor& t : tensors_in(frame.call.outputs)) {
      if (!draft_.depends(t)) throw std::runtime_error(fmt::format("recording: a graph has no {}", frame.call.name));
    }
  }

  void inherit_names(const TorchCall& call) {
    const std::vector<at::Tensor> from = tensors_in(call.inputs);
    if (from.empty()) return;
    for (const at::Tensor& t : tensors_in(call.outputs)) draft_.inherit_name(from.front(), t);
  }

  at::Tensor answered(const Mechanism& asked, std::vector<ValueId> inputs, const at::Tensor& bias,
                      const at::Tensor& samples, bool packed) {
    const attention::Geometry& g = asked.geometry();
    inputs.push_back(bias.defined() ? draft_.id_of(bias) : kNoValue);
    const Excluded guard(kMode);
    const at::Tensor out = at::empty({samples.size(0), g.query_tokens(), g.heads * g.value_dim}, samples.options());
    Attention attributes{asked.spec().to_string(), g, packed};
    draft_.bind(out, draft_.add(Op::attention, std::move(inputs), out.sizes(), std::move(attributes)));
    return out;
  }

  static thread_local Recorder* current_;
  Draft& draft_;
  at::CallbackHandle handle_ = 0;
  std::vector<Frame> frames_;
  std::exception_ptr error_;
};

thread_local Recorder* Recorder::current_ = nullptr;

/// Modes of a model that recording needs, until the end of the scope: gradients count as asked for, so that no operator
/// writes into what another has read, and no parameter has one, so that nothing is kept for them.
class RecordingModes {
 public:
  explicit RecordingModes(models::Model& model) : grad_mode_(true) {
    for (at::Tensor& p : parameters_ = model.parameters()) {
      needed_.push_back(p.requires_grad());
      p.set_requires_grad(false);
    }
  }
  ~RecordingModes() {
    for (size_t i = 0; i < parameters_.size(); ++i) parameters_[i].set_requires_grad(needed_[i]);
  }
  RecordingModes(const RecordingModes&) = delete;
  RecordingModes& operator=(const RecordingModes&) = delete;

 private:
  at::AutoGradMode grad_mode_;
  std::vector<at::Tensor> parameters_;
  std::vector<bool> needed_;
};

/// Mechanisms that are nodes answer through the recorder until the end of the scope.
class StandIns {
 public:
  StandIns(models::Model& model, attention::StandIn& stand_in) {
    for (const auto& part : model.modules(false)) {
      const auto mechanism = std::dynamic_pointer_cast<Mechanism>(part);
      if (mechanism == nullptr || mechanism->info().composed) continue;
      mechanism->set_stand_in(&stand_in);
      mechanisms_.push_back(mechanism);
    }
  }
  ~StandIns() {
    for (const auto& mechanism : mechanisms_) mechanism->set_stand_in(nullptr);
  }
  StandIns(const StandIns&) = delete;
  StandIns& operator=(const StandIns&) = delete;

 private:
  std::vector<attention::MechanismPtr> mechanisms_;
};

void check_recordable(const models::Model& model) {
  if (model.is_training()) throw std::invalid_argument("recording: the model is in training mode");
  for (const at::Tensor& p : model.parameters()) {
    if (p.device().is_cpu() && p.scalar_type() == at::kFloat) continue;
    throw std::invalid_argument("recording: the model's parameters must be float32 on the CPU");
  }
}

/// Images [B,C,h,w], or clips [B,C,T,h,w].
std::vector<int64_t> input_sizes(const models::Dimensions& d, int64_t batch) {
  std::vector<int64_t> sizes = d.sample_shape();
  sizes.insert(sizes.begin(), batch);
  return sizes;
}

Draft draft_of(models::Model& model, int64_t batch) {
  const at::Tensor images = at::empty(input_sizes(model.dimensions(), batch), at::kMeta);
  Draft draft;
  for (const auto& item : model.named_parameters()) draft.name(item.value(), item.key());
  for (const auto& item : model.named_buffers()) draft.name(item.value(), item.key());
  draft.input = draft.new_value(images.sizes());
  draft.bind(images, draft.input);
  const ShapesOnly shapes;
  Recorder recorder(draft);
  const StandIns stand_ins(model, recorder);
  const at::Tensor logits = model.forward(images);
  recorder.throw_what_went_wrong();
  draft.output = draft.id_of(logits);
  return draft;
}

}  // namespace

Graph record(models::Model& model) {
  check_recordable(model);
  const RecordingModes modes(model);
  Graph graph = cleaned(merged(draft_of(model, 2), draft_of(model, 3)));
  validate(graph);
  return graph;
}

}  // namespace fib::engine
