// SPDX-License-Identifier: Apache-2.0
#include "engine/torch/record.h"

#include <ATen/record_function.h>
#include <fmt/format.h>

#include <stdexcept>

#include "engine/clean.h"
#include "engine/torch/translate.h"

namespace fib::engine {
namespace {

using attention::Inputs;
using attention::Mechanism;

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
    const at::Tensor out = at::zeros({samples.size(0), g.query_tokens(), g.heads * g.value_dim}, samples.options());
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
  const at::Tensor images = at::zeros(input_sizes(model.dimensions(), batch));
  Draft draft;
  for (const auto& item : model.named_parameters()) draft.name(item.value(), item.key());
  for (const auto& item : model.named_buffers()) draft.name(item.value(), item.key());
  draft.input = draft.new_value(images.sizes());
  draft.bind(images, draft.input);
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
