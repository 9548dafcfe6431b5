// SPDX-License-Identifier: Apache-2.0
#include "bench/torch/attention_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>

#include "base/atomic_file.h"
#include "bench/benchmarks.h"
#include "engine/fib_file.h"
#include "engine/lower.h"
#include "engine/torch/record.h"
#include "models/card.h"
#include "patterns/measured_offsets.h"
#include "training/torch/classification.h"

namespace fib::bench {
namespace {

using attention::MechanismPtr;
using Table = std::vector<std::vector<double>>;  ///< [L][K]

// ---- The curve ------------------------------------------------------------------------------------------------------

/// The candidates on a layer's lower convex hull, from the least loss on, each faster than the one before.
std::vector<size_t> hull(const std::vector<double>& loss, const std::vector<double>& ms) {
  std::vector<size_t> order(loss.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order,
                           [&](size_t a, size_t b) { return std::pair(loss[a], ms[a]) < std::pair(loss[b], ms[b]); });
  const auto price = [&](size_t from, size_t to) { return (loss[to] - loss[from]) / (ms[from] - ms[to]); };
  std::vector<size_t> chosen;
  for (const size_t next : order) {
    if (!chosen.empty() && ms[next] >= ms[chosen.back()]) continue;
    while (chosen.size() > 1 &&
           price(chosen[chosen.size() - 2], chosen.back()) >= price(chosen[chosen.size() - 2], next))
      chosen.pop_back();
    chosen.push_back(next);
  }
  return chosen;
}

struct Step {
  size_t layer, to;
  double price;  ///< loss for a millisecond
};

// ---- Losses ---------------------------------------------------------------------------------------------------------

/// Another mechanism computes in the place of one, while it lives.
class Substitute final : public attention::ForwardHook {
 public:
  Substitute(MechanismPtr place, const AttentionSpec& spec)
      : place_(std::move(place)), other_(attention::make(spec, place_->geometry())) {
    other_->eval();
    place_->set_forward_hook(this);
  }
  ~Substitute() override { place_->set_forward_hook(nullptr); }
  Substitute(const Substitute&) = delete;
  Substitute& operator=(const Substitute&) = delete;

  at::Tensor forward(const attention::Mechanism&, const attention::Inputs& in) override { return other_->forward(in); }
  at::Tensor forward_packed(const attention::Mechanism&, const at::Tensor& qkv, const at::Tensor& bias) override {
    return other_->forward_packed(qkv, bias);
  }

 private:
  MechanismPtr place_, other_;
};

/// Images and what the dense model says of them.
struct Sample {
  at::Tensor images;
  at::Tensor log_probabilities;  ///< [B,classes]
};

std::vector<Sample> samples_of(const training::TrainedModel& dense, const DatasetPtr& images,
                               const CancelToken& cancel) {
  std::vector<Sample> samples;
  const auto loader = dense.loader(images);
  BatchStream stream = loader->epoch(0);
  while (std::optional<Batch> batch = stream.next()) {
    cancel.throw_if_requested();
    const at::Tensor shown = training::images_of(*batch).clone();
    samples.push_back({shown, at::log_softmax(dense.module->forward(shown), 1)});
  }
  if (samples.empty()) throw std::invalid_argument("there is no image to choose by");
  return samples;
}

struct Judged {
  double loss = 0, kept = 0;
};

Judged judge(models::Model& model, const std::vector<Sample>& samples, const CancelToken& cancel) {
  double loss = 0, chosen = 0, best = 0, count = 0;
  for (const Sample& sample : samples) {
    cancel.throw_if_requested();
    const at::Tensor got = at::log_softmax(model.forward(sample.images), 1), wanted = sample.log_probabilities.exp();
    loss += (wanted * (sample.log_probabilities - got)).sum().item<double>();
    chosen += wanted.gather(1, got.argmax(1, true)).sum().item<double>();
    best += std::get<0>(wanted.max(1)).sum().item<double>();
    count += static_cast<double>(wanted.size(0));
  }
  return {loss / count, chosen / best};
}

// ---- Milliseconds ---------------------------------------------------------------------------------------------------

/// A file that is gone afterwards.
struct ScratchFile {
  explicit ScratchFile(std::filesystem::path name) : path(std::move(name)) {}
  ~ScratchFile() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  std::filesystem::path path;
};

/// How long it takes does not depend on the weights.
void compile(const training::TrainedModel& dense, const AttentionSpec& attention, const std::filesystem::path& file) {
  models::Options options = dense.module->dimensions().options;
  options.attention = attention;
  options.initialize = true;  // one that is loaded from a file was not
  torch::manual_seed(0);
  const models::ModelPtr model = models::make(dense.model, options);
  model->eval();
  models::ModelCard card = models::published_card(models::find_row(dense.model), options.channels);
  card.attention = attention.to_string(), card.resolution = model->dimensions().height;
  engine::FibContent content;
  content.card = models::to_metadata(card);
  engine::TensorStore tensors;
  content.programs.push_back(engine::lower(engine::record(*model), content.precision, tensors));
  engine::write_fib(file, content, tensors.views());
}

std::vector<double> time_compiled(const training::TrainedModel& dense, const std::vector<AttentionSpec>& attentions,
                                  const ChoiceOptions& options) {
  std::deque<ScratchFile> scratch;
  std::vector<std::string> files;
  for (const AttentionSpec& attention : attentions) {
    options.cancel.throw_if_requested();
    scratch.emplace_back(options.offsets.string() + fmt::format(".{}.fib", files.size()));
    files.push_back(scratch.back().path.string());
    compile(dense, attention, files.back());
  }
  std::vector<double> ms;
  const ModelBenchOptions one{.resolutions = {}, .attentions = {}, .choice = {}, .batch = 1, .timing = options.timing};
  for (const ModelBenchRow& row : bench_engines(files, one)) ms.push_back(row.ms.value());
  return ms;
}

/// What each candidate takes in each layer beyond what the dense model's does, from the times of whole models: layers
/// share what is saved as they share the work of dense attention.
Table milliseconds(const std::vector<models::AttentionLayer>& layers, const std::vector<double>& whole) {
  std::vector<double> work;
  for (const models::AttentionLayer& layer : layers)
    work.push_back(static_cast<double>(layer.samples) * attention::cost({"full", {}}, layer.geometry).executed_macs);
  const double all = std::accumulate(work.begin(), work.end(), 0.0);
  Table ms;
  for (const double share : work) {
    ms.emplace_back();
    for (const double time : whole) ms.back().push_back((time - whole.front()) * share / all);
  }
  return ms;
}

void require_single_layers(const training::TrainedModel& dense, const std::vector<models::AttentionLayer>& layers) {
  const auto mechanisms = dense.module->attentions();
  bool fit = mechanisms.size() == layers.size() && dense.module->dimensions().row.kind->compiles;
  for (size_t i = 0; fit && i < layers.size(); ++i)
    fit = mechanisms[i]->info().dense && layers[i].geometry.square() &&
          layers[i].geometry.layer == static_cast<int64_t>(i);
  if (!fit)
    throw std::invalid_argument(
        fmt::format("the layers of {} cannot be chosen one by one: that takes a dense model that compiles, with "
                    "attention of the same tokens in every block, such as a ViT",
                    dense.model));
}

double share_of_pairs(const AttentionChoice& choice, const Assignment& assignment,
                      const std::vector<models::AttentionLayer>& layers) {
  double pairs = 0;
  for (size_t i = 0; i < layers.size(); ++i)
    pairs += 1 - attention::cost(choice.candidates[assignment[i]], layers[i].geometry).pruning_ratio;
  return pairs / static_cast<double>(layers.size());
}

/// `count` of them, the first and the last among them.
std::vector<Assignment> spread(const std::vector<Assignment>& all, size_t count) {
  if (all.size() <= count) return all;
  std::vector<Assignment> some;
  for (size_t i = 0; i < count; ++i) some.push_back(all[i * (all.size() - 1) / (count - 1)]);
  return some;
}

}  // namespace

std::vector<Assignment> tradeoff(const Table& loss, const Table& ms) {
  Assignment now;
  std::vector<Step> steps;
  for (size_t layer = 0; layer < loss.size(); ++layer) {
    const std::vector<size_t> on_hull = hull(loss[layer], ms[layer]);
    now.push_back(on_hull.front());
    for (size_t i = 1; i < on_hull.size(); ++i) {
      const size_t from = on_hull[i - 1], to = on_hull[i];
      steps.push_back({layer, to, (loss[layer][to] - loss[layer][from]) / (ms[layer][from] - ms[layer][to])});
    }
  }
  std::ranges::stable_sort(steps, {}, &Step::price);
  std::vector<Assignment> curve = {now};
  for (const Step& step : steps) {
    now[step.layer] = step.to;
    curve.push_back(now);
  }
  return curve;
}

const ChoicePoint& AttentionChoice::keeping(double accuracy) const {
  const ChoicePoint* best = nullptr;
  for (const ChoicePoint& p : curve)
    if (p.pairs < 1 && p.kept >= accuracy && (best == nullptr || p.ms < best->ms)) best = &p;
  if (best != nullptr) return *best;
  throw std::invalid_argument(fmt::format(
      "no sparse mixture keeps {:g} of the accuracy with nothing trained: accepted is at most {:.3f}", accuracy,
      std::ranges::max(curve, {}, [](const ChoicePoint& p) { return p.pairs < 1 ? p.kept : 0; }).kept));
}

const ChoicePoint& AttentionChoice::faster(double times) const {
  const ChoicePoint* best = nullptr;
  for (const ChoicePoint& p : curve)
    if (p.pairs < 1 && speedup(p) >= times && (best == nullptr || p.kept > best->kept)) best = &p;
  if (best != nullptr) return *best;
  throw std::invalid_argument(
      fmt::format("the compiled model does not become {:g} times as fast by its attention: accepted is at most {:.2f} "
                  "at this resolution",
                  times, speedup(std::ranges::min(curve, {}, &ChoicePoint::ms))));
}

std::string AttentionChoice::text_of(const ChoicePoint& point) const {
  std::vector<std::string> parts;
  for (size_t k = 0; k < candidates.size(); ++k) {
    std::vector<int64_t> layers;
    for (size_t i = 0; i < point.assignment.size(); ++i)
      if (point.assignment[i] == k) layers.push_back(static_cast<int64_t>(i));
    if (!layers.empty()) parts.push_back(models::layers_text(layers) + " " + candidates[k].to_string());
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

AttentionChoice measure_choice(const training::TrainedModel& dense, const DatasetPtr& images,
                               const ChoiceOptions& options) {
  const at::NoGradGuard no_grad;
  const std::vector<models::AttentionLayer> layers = models::attention_layers(dense.module->dimensions());
  require_single_layers(dense, layers);
  AttentionChoice choice;
  choice.candidates = options.candidates;
  const std::vector<MechanismPtr> places = dense.module->attentions();
  options.progress("timing compiled models", 0);
  choice.candidate_ms = time_compiled(dense, choice.candidates, options);

  const std::vector<Sample> samples = samples_of(dense, images, options.cancel);
  for (const Sample& sample : samples) choice.images += sample.images.size(0);
  for (size_t i = 0; i < places.size(); ++i) {
    options.progress("measuring each layer", static_cast<double>(i) / static_cast<double>(places.size()));
    choice.loss.emplace_back(1, 0.0);
    for (size_t k = 1; k < choice.candidates.size(); ++k) {
      const Substitute substitute(places[i], choice.candidates[k]);
      choice.loss.back().push_back(judge(*dense.module, samples, options.cancel).loss);
    }
  }

  std::vector<AttentionSpec> mixtures;
  std::deque<ScratchFile> files;
  for (const Assignment& assignment :
       spread(tradeoff(choice.loss, milliseconds(layers, choice.candidate_ms)), options.points)) {
    options.progress("measuring mixtures", static_cast<double>(mixtures.size()) / static_cast<double>(options.points));
    std::deque<Substitute> substitutes;
    for (size_t i = 0; i < places.size(); ++i)
      if (assignment[i] > 0) substitutes.emplace_back(places[i], choice.candidates[assignment[i]]);
    const Judged judged = judge(*dense.module, samples, options.cancel);
    choice.curve.push_back({assignment, judged.loss, judged.kept, 0, share_of_pairs(choice, assignment, layers)});
    files.emplace_back(options.offsets.string() + fmt::format(".{}", files.size()));
    write_assignment(files.back().path, choice, assignment, dense.module->dimensions());
    mixtures.push_back({"offsets", {{"file", files.back().path.string()}}});
  }
  options.progress("timing mixtures", 0);
  // Beside the dense one, so that the ratio is of one run.
  mixtures.push_back(choice.candidates.front());
  const std::vector<double> ms = time_compiled(dense, mixtures, options);
  for (size_t i = 0; i < choice.curve.size(); ++i) choice.curve[i].ms = ms[i];
  choice.candidate_ms.front() = ms.back();
  return choice;
}

void write_assignment(const std::filesystem::path& file, const AttentionChoice& choice, const Assignment& assignment,
                      const models::Dimensions& dims) {
  const attention::Geometry first = models::attention_layers(dims).front().geometry;
  MeasuredOffsets offsets{first.query_grid.tokens(), static_cast<size_t>(first.heads), {}};
  for (const size_t k : assignment) offsets.layers.push_back({{}, choice.candidates[k].to_string()});
  write_file_atomically(file, to_text(offsets));
}

nlohmann::ordered_json to_json(const AttentionChoice& choice, const ChoicePoint& chosen) {
  nlohmann::ordered_json candidates = nlohmann::ordered_json::array(), curve = nlohmann::ordered_json::array();
  for (size_t k = 0; k < choice.candidates.size(); ++k) {
    std::vector<double> losses;
    for (const std::vector<double>& layer : choice.loss) losses.push_back(layer[k]);
    candidates.push_back(
        {{"attention", choice.candidates[k].to_string()}, {"ms", choice.candidate_ms[k]}, {"loss", losses}});
  }
  for (const ChoicePoint& p : choice.curve)
    curve.push_back({{"layers", choice.text_of(p)},
                     {"pairs", p.pairs},
                     {"loss", p.loss},
                     {"accuracy_kept", p.kept},
                     {"ms", p.ms},
                     {"speedup", choice.speedup(p)},
                     {"chosen", &p == &chosen}});
  return {{"images", choice.images}, {"candidates", candidates}, {"curve", curve}};
}

}  // namespace fib::bench
