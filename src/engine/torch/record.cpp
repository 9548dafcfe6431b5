// SPDX-License-Identifier: Apache-2.0
#include "engine/torch/record.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>
#include <fmt/format.h>
#include <torch/library.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "engine/simplify.h"
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

/// Calls an operator whose inputs depend on the image, for the shapes of its outputs.
void call_for_shapes(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  const Excluded guard(kMode);
  const size_t count = op.schema().arguments().size();
  const auto arguments = stack->end() - static_cast<ptrdiff_t>(count);
  std::transform(arguments, stack->end(), arguments, [](const c10::IValue& v) { return without_values(v); });
  const std::vector<int64_t> sizes = sizes_without_kernel({op.schema().name(), {arguments, stack->end()}, {}});
  if (sizes.empty()) return op.redispatchBoxed(keys, stack);
  const at::Tensor output = at::empty(sizes, arguments->toTensor().options());
  torch::jit::drop(*stack, count);
  torch::jit::push(*stack, output);
}

/// Tensors that a model makes on the device of its input are constants: they are made on the CPU.
void make_constants_on_cpu(Stack::iterator begin, Stack::iterator end) {
  for (auto argument = begin; argument != end; ++argument) {
    if (argument->isDevice() && argument->toDevice().is_meta()) *argument = c10::Device(at::kCPU);
  }
}

/// What every operator passes while a forward is recorded. A composite operator without a rule of its own calls its
/// parts on what it was given.
void call_while_recording(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  const c10::DispatchKeySet below = keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kMode);
  const auto begin = stack->end() - static_cast<ptrdiff_t>(op.schema().arguments().size());
  const std::vector<at::Tensor> tensors = tensors_in({begin, stack->end()});
  const bool depends = std::any_of(tensors.begin(), tensors.end(), [](const at::Tensor& t) { return t.is_meta(); });
  const bool composite = op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
  if (depends && (has_rule(op.schema().name()) || !composite)) return call_for_shapes(op, below, stack);
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

/// While one lives, what this thread calls of torch is added to a builder. An operator that the graph knows is a node;
/// one that it does not know is looked into, for it may be made of others that it knows.
class Recorder final : public attention::ForwardHook, public Recording {
 public:
  explicit Recorder(GraphBuilder& builder) : builder_(builder) {
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
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

  at::Tensor forward(const Mechanism& mechanism, const Inputs& in) override {
    std::vector<ValueId> ids{builder_.id_of(in.q), builder_.id_of(in.k), builder_.id_of(in.v)};
    return recorded(mechanism, std::move(ids), in.bias, in.q, false);
  }

  at::Tensor forward_packed(const Mechanism& mechanism, const at::Tensor& qkv, const at::Tensor& bias) override {
    return recorded(mechanism, {builder_.id_of(qkv)}, bias, qkv, true);
  }

  at::Tensor repeat(int64_t count, const at::Tensor& first, const std::vector<at::Tensor>& tables,
                    const Body& body) override {
    if (builder_.loop) throw std::runtime_error("recording: a second loop");
    GraphLoop loop{.count = count, .first = builder_.id_of(first), .rows = {}};
    const at::Tensor state = new_tensor(first.sizes(), loop.state);
    std::vector<at::Tensor> rows;
    for (const at::Tensor& table : tables) {
      std::vector<int64_t> sizes = table.sizes().vec();
      sizes.erase(sizes.begin() + (builder_.depends(table) ? 1 : 0));
      GraphLoop::Row row{kNoValue, builder_.id_of(table)};
      rows.push_back(new_tensor(sizes, row.row));
      loop.rows.push_back(row);
    }
    builder_.in_loop = true;
    loop.next = builder_.id_of(body(state, rows));
    builder_.in_loop = false;
    builder_.loop = loop;
    return state;
  }

  at::Tensor denoise(const at::Tensor& x, const at::Tensor& predicted, const at::Tensor& coefficients,
                     const at::Tensor& fresh) override {
    std::vector<ValueId> inputs{builder_.id_of(x), builder_.id_of(predicted), builder_.id_of(coefficients)};
    if (fresh.defined()) inputs.push_back(builder_.id_of(fresh));
    const Excluded guard(kMode);
    const at::Tensor out = at::empty(x.sizes(), at::kMeta);
    builder_.bind(out, builder_.add(Op::denoise, std::move(inputs), out.sizes()));
    return out;
  }

 private:
  /// Without values, and a value of the graph.
  at::Tensor new_tensor(at::IntArrayRef sizes, ValueId& id) {
    const Excluded guard(kMode);
    const at::Tensor tensor = at::empty(sizes, at::kMeta);
    builder_.bind(tensor, id = builder_.new_value(sizes));
    return tensor;
  }

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
    for (const at::Tensor& t : tensors_in(frame.call.inputs)) frame.depends = frame.depends || builder_.depends(t);
    frame.closed = !frame.depends || has_rule(frame.call.name);
    if (!frame.closed) refuse_writing(f);
  }

  static void refuse_writing(const at::RecordFunction& f) {
    const auto schema = f.operator_schema();
    if (schema && schema->is_mutable())
      throw std::runtime_error(fmt::format("recording: {} writes in place, which a graph cannot hold", f.name()));
  }

  void end(const at::RecordFunction& f) {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    const bool inside_closed = !frames_.empty() && frames_.back().closed;
    if (inside_closed || f.outputs().empty()) return;
    frame.call.outputs = f.outputs();
    if (!frame.depends) return inherit_names(frame.call);
    if (has_rule(frame.call.name)) return translate(frame.call, builder_);
    for (const at::Tensor& t : tensors_in(frame.call.outputs)) {
      if (!builder_.depends(t))
        throw std::runtime_error(fmt::format("recording: unsupported operator {}", frame.call.name));
    }
  }

  void inherit_names(const TorchCall& call) {
    const std::vector<at::Tensor> from = tensors_in(call.inputs);
    if (from.empty()) return;
    for (const at::Tensor& t : tensors_in(call.outputs)) builder_.inherit_name(from.front(), t);
  }

  at::Tensor recorded(const Mechanism& mechanism, std::vector<ValueId> inputs, const at::Tensor& bias,
                      const at::Tensor& samples, bool packed) {
    const attention::Geometry& g = mechanism.geometry();
    inputs.push_back(bias.defined() ? builder_.id_of(bias) : kNoValue);
    const Excluded guard(kMode);
    const at::Tensor out = at::empty({samples.size(0), g.query_tokens(), g.heads * g.value_dim}, samples.options());
    Attention attributes{mechanism.spec().to_string(), g, packed};
    builder_.bind(out, builder_.add(Op::attention, std::move(inputs), out.sizes(), std::move(attributes)));
    return out;
  }

  static thread_local Recorder* current_;
  GraphBuilder& builder_;
  at::CallbackHandle handle_ = 0;
  std::vector<Frame> frames_;
  std::exception_ptr error_;
};

thread_local Recorder* Recorder::current_ = nullptr;

/// Modes of a model that recording needs, until the end of the scope: gradients count as asked for, so that no operator
/// writes into what another has read, and no parameter has one, so that nothing is kept for them.
class RecordingModes {
 public:
  explicit RecordingModes(torch::nn::Module& model) : grad_mode_(true) {
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

/// Until the end of the scope the recorder's hook stands for each mechanism that is a node.
class RecordedMechanisms {
 public:
  RecordedMechanisms(torch::nn::Module& model, attention::ForwardHook& hook) {
    for (const auto& part : model.modules(false)) {
      const auto mechanism = std::dynamic_pointer_cast<Mechanism>(part);
      if (mechanism == nullptr || mechanism->info().composed) continue;
      mechanism->set_forward_hook(&hook);
      mechanisms_.push_back(mechanism);
    }
  }
  ~RecordedMechanisms() {
    for (const auto& mechanism : mechanisms_) mechanism->set_forward_hook(nullptr);
  }
  RecordedMechanisms(const RecordedMechanisms&) = delete;
  RecordedMechanisms& operator=(const RecordedMechanisms&) = delete;

 private:
  std::vector<attention::MechanismPtr> mechanisms_;
};

void check_recordable(const torch::nn::Module& model) {
  if (model.is_training()) throw std::invalid_argument("recording: the model is in training mode");
  for (const at::Tensor& p : model.parameters()) {
    if (p.device().is_cpu() && p.scalar_type() == at::kFloat) continue;
    throw std::invalid_argument("recording: the model's parameters must be float32 on the CPU");
  }
}

GraphBuilder trace_of(torch::nn::Module& model, std::vector<int64_t> sizes, const RecordedForward& forward,
                      int64_t batch) {
  sizes.insert(sizes.begin(), batch);
  const at::Tensor input = at::empty(sizes, at::kMeta);
  GraphBuilder builder;
  for (const auto& item : model.named_parameters()) builder.name(item.value(), item.key());
  for (const auto& item : model.named_buffers()) builder.name(item.value(), item.key());
  builder.input = builder.new_value(input.sizes());
  builder.bind(input, builder.input);
  const ShapesOnly shapes;
  Recorder recorder(builder);
  const RecordedMechanisms mechanisms(model, recorder);
  const at::Tensor output = forward(input, recorder);
  recorder.rethrow();
  builder.output = builder.id_of(output);
  return builder;
}

}  // namespace

Graph record(torch::nn::Module& module, const std::vector<int64_t>& sample, const RecordedForward& forward) {
  check_recordable(module);
  const RecordingModes modes(module);
  Graph graph = simplified(merged(trace_of(module, sample, forward, 2), trace_of(module, sample, forward, 3)));
  validate(graph);
  return graph;
}

Graph record(models::Model& model) {
  return record(model, model.dimensions().sample_shape(),
                [&](const at::Tensor& images, Recording&) { return model.forward(images); });
}

}  // namespace fib::engine
