// SPDX-License-Identifier: Apache-2.0
#include <ATen/record_function.h>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>

#include "bench/torch/model_bench.h"

namespace fib::bench {
namespace {

using ProfileClock = std::chrono::steady_clock;

double milliseconds_since(ProfileClock::time_point begin) {
  return std::chrono::duration<double, std::milli>(ProfileClock::now() - begin).count();
}

/// How autograd's engine names the visit of a node; everything else is forward.
constexpr std::string_view kBackwardPrefix = "autograd::engine::evaluate_function: ";

struct KindWords {
  const char* kind;
  std::vector<std::string_view> words;
};

/// The first row with a word in the operator's name decides.
const std::vector<KindWords>& kind_table() {
  static const std::vector<KindWords> kTable = {
      {"attention", {"attention", "Attention"}},
      {"norm", {"norm", "Norm"}},
      {"linear", {"linear", "Linear", "mm", "Mm"}},
      {"activation", {"gelu", "Gelu", "sigmoid", "Sigmoid"}},
      {"convolution", {"conv", "Conv"}},
      {"loss", {"softmax", "Softmax", "Mean", "mean", "sum", "Sum"}},
      {"sums and factors", {"add", "Add", "mul", "Mul", "div", "Div", "sub", "Sub", "neg", "Neg"}},
      {"copies",
       {"copy", "Copy", "clone", "Clone", "contiguous", "cat", "Cat", "reshape", "Reshape", "Select", "Slice"}},
      {"gradients of parameters", {"AccumulateGrad"}}};
  return kTable;
}

/// What callbacks write to: torch takes plain functions, which cannot carry it.
struct ProfileSums {
  std::mutex guard;
  std::map<std::string, KindTime> kinds;

  void add(const std::string& name, double ms) {
    const bool backward = name.starts_with(kBackwardPrefix);
    const std::string kind = kind_of_operator(backward ? name.substr(kBackwardPrefix.size()) : name);
    const std::lock_guard lock(guard);
    KindTime& time = kinds[kind];
    time.kind = kind;
    (backward ? time.backward_ms : time.forward_ms) += ms;
  }
};
ProfileSums* profile_sums = nullptr;

/// Operators call operators: the outermost counts.
thread_local int operator_depth = 0;

struct OperatorBegin : at::ObserverContext {
  ProfileClock::time_point begin = ProfileClock::now();
};

std::unique_ptr<at::ObserverContext> begin_operator(const at::RecordFunction&) {
  return operator_depth++ == 0 ? std::make_unique<OperatorBegin>() : nullptr;
}

void end_operator(const at::RecordFunction& function, at::ObserverContext* context) {
  --operator_depth;
  if (context != nullptr)
    profile_sums->add(function.name(), milliseconds_since(static_cast<OperatorBegin*>(context)->begin));
}

class Observation {
 public:
  explicit Observation(ProfileSums& sums) {
    profile_sums = &sums;
    handle_ = at::addGlobalCallback(at::RecordFunctionCallback(begin_operator, end_operator)
                                        .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
  }
  ~Observation() { at::removeCallback(handle_); }
  Observation(const Observation&) = delete;
  Observation& operator=(const Observation&) = delete;

 private:
  at::CallbackHandle handle_;
};

}  // namespace

std::string kind_of_operator(const std::string& name) {
  for (const KindWords& row : kind_table()) {
    for (const std::string_view word : row.words) {
      if (name.find(word) != std::string::npos) return row.kind;
    }
  }
  return "other";
}

StepProfile profile_steps(int steps, const std::function<void()>& gradients, const std::function<void()>& update) {
  ProfileSums sums;
  StepProfile profile;
  for (int step = 0; step < steps; ++step) {
    auto begin = ProfileClock::now();
    {
      const Observation observation(sums);
      gradients();
    }
    profile.between_ms += milliseconds_since(begin) / steps;
    begin = ProfileClock::now();
    update();
    profile.optimizer_ms += milliseconds_since(begin) / steps;
  }
  for (auto& [kind, time] : sums.kinds) {
    time.forward_ms /= steps, time.backward_ms /= steps;
    profile.between_ms -= time.forward_ms + time.backward_ms;
    profile.kinds.push_back(time);
  }
  return profile;
}

}  // namespace fib::bench
