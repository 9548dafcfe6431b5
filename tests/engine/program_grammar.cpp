// SPDX-License-Identifier: Apache-2.0
#include "program_grammar.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace fib::test {

__extension__ using Wide = __int128;
using engine::Buffer;
using engine::Operand;
using engine::Program;
using engine::Role;
using engine::Step;
using engine::StepKind;

uint64_t SeededChoices::below(uint64_t count) {  // splitmix64
  uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return (z ^ z >> 31) % count;
}

namespace {

constexpr int64_t power(int exponent) { return int64_t{1} << exponent; }
constexpr std::array kSizes{int64_t{0}, int64_t{1}, int64_t{2},  int64_t{16},   int64_t{17}, int64_t{5461},
                            power(14),  power(16),  power(31),   power(32) - 1, power(32),   power(33),
                            power(62),  power(20),  int64_t{48}, int64_t{3}};

class Grammar {
 public:
  explicit Grammar(Choices& choices) : choices_(choices) {}

  Program program() {
    program_.sample = {1, 4, 4};
    program_.classes = 16;
    input_ = buffer(Buffer::Kind::input, 16);
    output_ = buffer(Buffer::Kind::output, 16);
    program_.arena_elements = one_of<int64_t>({16, 16, 1 << 14, power(32), power(33)});
    if (choices_.below(2) == 0) program_.steps.push_back(copy(arena()));  // something that others can read
    const uint64_t steps = 1 + choices_.below(3);
    for (uint64_t i = 0; i < steps; ++i) add_step();
    if (!often()) add_blocks();
    if (!often()) add_loop();
    program_.steps.push_back(copy(output_));
    return std::move(program_);
  }

 private:
  template <class T>
  T one_of(std::initializer_list<T> list) {
    return *(list.begin() + choices_.below(list.size()));
  }
  bool often() { return choices_.below(4) != 0; }
  /// Mostly small, so that programs are accepted; else from the edges of types.
  int64_t size() { return often() ? one_of<int64_t>({1, 1, 2, 16}) : kSizes[choices_.below(kSizes.size())]; }
  int64_t odd_size() { return kSizes[choices_.below(kSizes.size())]; }
  std::array<int64_t, 2> pair(std::initializer_list<int64_t> list) {
    const int64_t first = one_of(list);
    return {first, often() ? first : one_of(list)};
  }

  int32_t buffer(Buffer::Kind kind, int64_t elements) {
    program_.buffers.push_back({kind, elements, 0, kind == Buffer::Kind::tensor ? "weights" : "", TensorType::f32});
    return static_cast<int32_t>(program_.buffers.size() - 1);
  }
  int32_t tensor() {
    const int32_t place = buffer(Buffer::Kind::tensor, one_of<int64_t>({16, 16, 256, 4096}));
    program_.buffers.back().type = often() ? TensorType::f32 : one_of({TensorType::bf16, TensorType::i8});
    return place;
  }
  /// What the step before has written.
  int32_t written() { return program_.steps.empty() ? arena() : program_.steps.back().at(Role::out).buffer; }
  int32_t arena() { return buffer(Buffer::Kind::arena, often() ? program_.arena_elements : odd_size()); }

  /// Dense, or one value seen many times.
  Operand operand(int32_t buffer, const std::vector<int64_t>& sizes, bool dense) {
    Operand o{buffer, 0, sizes, std::vector<int64_t>(sizes.size())};
    Wide stride = 1;
    for (size_t d = sizes.size(); d-- > 0; stride *= sizes[d]) {
      if (stride > power(40)) stride = power(40);
      o.strides[d] = dense ? static_cast<int64_t>(stride) : 0;
    }
    if (!dense && often()) o.strides.back() = 1;
    return o;
  }
  Step copy(int32_t out) {
    Step s;
    s.at(Role::x) = operand(input_, {16}, true), s.at(Role::out) = operand(out, {16}, true);
    return s;
  }
  void read(Step& s, Role role, const std::vector<int64_t>& sizes) {
    s.at(role) = operand(often() ? input_ : tensor(), sizes, !often());
  }
  void write(Step& s, const std::vector<int64_t>& sizes) { s.at(Role::out) = operand(arena(), sizes, often()); }
  void weights(Step& s, Role role) {
    const int32_t place = tensor();
    s.at(role) = operand(place, {program_.buffers[static_cast<size_t>(place)].elements}, true);
  }
  void scratch(Step& s) {
    if (!often()) return;
    const int64_t elements = one_of<int64_t>({16, 16, program_.arena_elements});
    s.at(Role::scratch) = operand(arena(), {elements}, true);
  }

  Operand kept(const std::vector<int64_t>& sizes) {
    const int64_t elements = often() ? one_of<int64_t>({16, 256, 4096}) : odd_size();
    program_.state_elements = std::max(program_.state_elements, often() ? elements : odd_size());
    return operand(buffer(Buffer::Kind::state, elements), sizes, often());
  }

  void add_step() {
    Step s;
    s.kind = often() ? static_cast<StepKind>(choices_.below(static_cast<uint64_t>(StepKind::row_blocks)))
                     : one_of({StepKind::linear, StepKind::conv2d});  // of the largest products
    s.function = static_cast<engine::Function>(choices_.below(often() ? 1 : 8));
    fill(s);
    program_.steps.push_back(std::move(s));
  }

  /// The last step in blocks of rows.
  void add_blocks() {
    Step loop;
    loop.kind = StepKind::row_blocks;
    const std::vector<int64_t> rows = program_.steps.back().at(Role::out).sizes;
    const int64_t block = std::max<int64_t>(1, often() && !rows.empty() ? rows[0] : size());
    loop.attributes = engine::RowBlocks{often() ? block : one_of<int64_t>({2, 3, power(32), power(62)}), block};
    loop.body = {program_.steps.back()};
    for (const Role role : {Role::x, Role::out, Role::weights}) {
      Operand& o = loop.body[0].at(role);
      if (o.given() && often()) o.advance = static_cast<int64_t>(std::min<Wide>(Wide{block} * o.strides[0], power(62)));
    }
    program_.steps.back() = loop;
  }

  /// The last steps again and again; one of them copies a row of a table.
  void add_loop() {
    Step row, loop;
    read(row, Role::x, {size()});
    write(row, row.at(Role::x).sizes);
    row.at(Role::x).advance = often() ? row.at(Role::x).sizes[0] : odd_size();
    if (!often()) row.at(Role::out).advance = 1;
    loop.kind = StepKind::repeat;
    loop.attributes = engine::Repeat{often() ? one_of<int64_t>({1, 2, 3, 16}) : odd_size()};
    loop.body = {row, program_.steps.back()};
    program_.steps.back() = loop;
  }

  void fill(Step& s) {
    switch (s.kind) {
      case StepKind::conv1d:
        return conv1d(s);
      case StepKind::group_norm: {
        const int64_t channels = often() ? odd_size() : size();
        read(s, Role::x, {1, channels, size()});
        s.attributes = engine::GroupNorm{often() ? 1 : std::max<int64_t>(1, size()), 1e-5};
        weights(s, Role::weights), weights(s, Role::bias);
        return write(s, s.at(Role::x).sizes);
      }
      case StepKind::denoise:
        rows(s);
        if (!often()) read(s, Role::residual, s.at(Role::x).sizes);
        return weights(s, Role::weights);

      case StepKind::linear:
        return linear(s);
      case StepKind::attention:
        return attention(s);
      case StepKind::matmul:
        return matmul(s);
      case StepKind::conv2d:
      case StepKind::depthwise:
      case StepKind::max_pool2d:
        return window(s);
      case StepKind::embedding:
        return embedding(s);
      case StepKind::cached_attention:
        return cached_attention(s);
      case StepKind::mean: {
        const int64_t rows = size();
        read(s, Role::x, {rows, size(), size()});
        return write(s, {rows});
      }
      case StepKind::plan_merging:
      case StepKind::plan_keeping:
        return plan(s);
      case StepKind::merge_tokens:
      case StepKind::take_tokens:
        return moved_tokens(s);
      case StepKind::tell_tokens:
        return facts(s);
      default:
        return rows(s);
    }
  }

  void linear(Step& s) {
    const int64_t m = size(), k = often() ? odd_size() : size(), n = often() ? k : odd_size();
    read(s, Role::x, {m, k});
    if (choices_.below(2) == 0) s.at(Role::x) = operand(written(), {m, k}, false);
    write(s, {m, n});
    if (!often()) s.at(Role::x) = operand(s.at(Role::out).buffer, {m, k}, false);
    weights(s, Role::weights);
    if (!often()) weights(s, Role::bias);
    if (!often()) weights(s, Role::scale);
    scratch(s);
  }
  void attention(Step& s) {
    engine::Attention a{one_of<const char*>({"full", "topk:k=1", "fibottention", "no_such"}), {}, false};
    auto& g = a.geometry;
    g.heads = size(), g.head_dim = g.value_dim = size(), g.cls = one_of<int64_t>({0, 1});
    g.query_grid = {size(), size()}, g.key_grid = often() ? g.query_grid : fib::attention::Grid{size(), size()};
    const Wide tokens = Wide{g.query_grid.height} * g.query_grid.width + g.cls;
    const auto t = static_cast<int64_t>(std::min<Wide>(tokens, power(50)));
    for (const Role role : {Role::q, Role::k, Role::v}) read(s, role, {1, g.heads, t, g.head_dim});
    write(s, {1, g.heads, t, g.value_dim});
    s.attributes = a;
  }
  void plan(Step& s) {
    const int64_t n = size(), tokens = size(), cls = one_of<int64_t>({0, 1, 2, power(32)});
    s.attributes = engine::TokenPlan{often() ? one_of<int64_t>({0, 0, 1, 8}) : odd_size(), cls};
    if (s.kind == StepKind::plan_merging) {
      read(s, Role::k, {n, size(), tokens, size()});
      return write(s, {n, tokens});
    }
    read(s, Role::x, {n, tokens});
    write(s, {n, often() ? tokens + cls % power(40) : size()});
  }
  void moved_tokens(Step& s) {
    const int64_t n = size(), from = size(), to = size(), channels = size();
    s.attributes = engine::TokenMerge{often()};
    read(s, Role::x, {n, from, channels});
    read(s, Role::y, {n, s.kind == StepKind::merge_tokens ? from : to});
    if (s.kind == StepKind::merge_tokens && often()) read(s, Role::scale, {n, from});
    write(s, {n, to, channels});
  }
  void facts(Step& s) {
    const int64_t n = size(), height = size(), width = size(), tokens = size();
    const auto first = static_cast<int64_t>(std::min<Wide>(Wide{height} * width + 1, power(50)));
    const char* fact = one_of<const char*>({"sizes", "slots", "ranks", "order", "slot_bias", "no_such"});
    s.attributes = engine::TokenFacts{fact, tokens, 1, height, width};
    read(s, Role::x, {n, first});
    write(s, {n, fact == std::string("slot_bias") ? first : tokens});
  }
  void embedding(Step& s) {
    const int64_t tokens = size(), channels = size();
    read(s, Role::x, {tokens});
    read(s, Role::y, {size(), channels});
    if (!often()) read(s, Role::residual, {size(), channels});
    write(s, {tokens, channels});
  }
  void cached_attention(Step& s) {
    engine::CachedAttention a;
    a.heads = size(), a.head_dim = size(), a.rows = often() ? one_of<int64_t>({1, 4, 16}) : odd_size();
    a.rotary_base = one_of<double>({0, 0, 10000, -1, 1e300});
    const int64_t heads = often() ? std::clamp<int64_t>(a.heads, 0, 16) : one_of<int64_t>({0, 1, 2});
    for (int64_t h = 0; h < heads; ++h)
      a.distances.push_back(often() ? std::vector<int64_t>{0} : std::vector<int64_t>{0, often() ? 3 : odd_size()});
    const std::vector<int64_t> tokens{size(), a.heads, a.head_dim}, cache{a.heads, a.rows, a.head_dim};
    for (const Role role : {Role::q, Role::k, Role::v}) read(s, role, tokens);
    for (const Role role : {Role::keys, Role::values}) s.at(role) = kept(cache);
    if (!often()) s.at(one_of({Role::keys, Role::q})).buffer = one_of({input_, output_, arena()});
    write(s, tokens);
    s.attributes = a;
  }
  void matmul(Step& s) {
    const int64_t m = size(), k = size(), n = size();
    read(s, Role::x, {m, k});
    read(s, Role::y, {k, n});
    write(s, {m, n});
  }
  void rows(Step& s) {
    const std::vector<int64_t> sizes{size(), size()};
    read(s, Role::x, sizes);
    read(s, Role::y, sizes);
    write(s, sizes);
    if (s.kind != StepKind::layer_norm) return;
    s.attributes = engine::LayerNorm{};
    weights(s, Role::weights);
    weights(s, Role::bias);
  }
  void conv1d(Step& s) {
    const int64_t taps = one_of<int64_t>({1, 3, 5461, 1 << 14}), stride = one_of<int64_t>({1, 2, 1 << 14}),
                  padding = one_of<int64_t>({0, 1, 2, 1 << 14}), channels = often() ? odd_size() : size(),
                  time = one_of<int64_t>({1, 4, 16, 1 << 14});
    s.attributes = engine::Conv1d{taps, stride, padding};
    read(s, Role::x, {1, channels, time});
    write(s, {1, std::max<int64_t>(0, (time + 2 * padding - taps) / stride + 1), size()});
    weights(s, Role::weights);
    if (!often()) weights(s, Role::bias);
    scratch(s);
  }
  void window(Step& s) {
    engine::Window w;
    w.kernel = pair({1, 3, 1 << 14}), w.stride = pair({1, 2, 5461});
    w.padding = pair({0, 1, 1 << 14}), w.groups = often() ? 1 : std::max<int64_t>(1, size());
    const int64_t channels = often() ? odd_size() : size(), h = one_of<int64_t>({1, 1, 4, 1 << 14}),
                  width = often() ? h : size();
    const auto steps = [&](size_t axis, int64_t side) {
      return std::max<int64_t>(0, (side % power(40) + 2 * w.padding[axis] - w.kernel[axis]) / w.stride[axis] + 1);
    };
    read(s, Role::x, {1, channels, h, width});
    write(s, {1, steps(0, h), steps(1, width), s.kind == StepKind::conv2d ? size() : channels});
    s.attributes = w;
    if (s.kind == StepKind::max_pool2d) return;
    weights(s, Role::weights);
    if (!often()) weights(s, Role::bias);
    if (s.kind == StepKind::conv2d) scratch(s);
  }

  Choices& choices_;
  Program program_;
  int32_t input_ = 0, output_ = 0;
};

/// What a step needs of the operands that are read as a whole, whatever their sizes say.
class Bounds {
 public:
  explicit Bounds(const Program& program) : program_(program) {}

  std::string run() {
    for (const Step& s : program_.steps) {
      check(s, 1, 1);
      for (const Step& inner : s.body) {
        if (s.kind == StepKind::repeat) {
          check(inner, 1, 1);
          moved(inner, s.as<engine::Repeat>().count);
        } else {
          check(inner, s.as<engine::RowBlocks>().rows, s.as<engine::RowBlocks>().block);
        }
      }
    }
    return found_;
  }

 private:
  const Program& program_;
  std::string found_;

  /// In the body of a loop, with all rows and those of a block.
  void check(const Step& s, Wide rows, Wide block) {
    for (size_t i = 0; i < engine::kRoles; ++i) strided(s, static_cast<Role>(i), rows - block);
    if (s.body.empty()) packed(s);
  }

  /// Where the operands of a loop's step are in its last time.
  void moved(const Step& s, Wide count) {
    for (size_t i = 0; i < engine::kRoles; ++i) {
      const Operand& o = s.operands[i];
      if (!o.given()) continue;
      Wide last = (count - 1) * o.advance;
      for (size_t d = 0; d < o.sizes.size(); ++d) last += (Wide{o.sizes[d]} - 1) * o.strides[d];
      need(s, static_cast<Role>(i), last + 1);
    }
  }

  void need(const Step& s, Role role, Wide elements) {
    const Operand& o = s.at(role);
    if (!o.given() && (role == Role::bias || role == Role::scale)) return;
    const Wide there = o.given() ? program_.buffers[static_cast<size_t>(o.buffer)].elements - Wide{o.offset} : 0;
    if (elements > there) found_ = fmt::format("{} of {}", name_of(role), name_of(s.kind));
  }
  void strided(const Step& s, Role role, Wide more_rows) {
    const Operand& o = s.at(role);
    if (!o.given()) return;
    Wide last = o.advance > 0 ? more_rows * o.strides[0] : 0;
    for (size_t d = 0; d < o.sizes.size(); ++d) last += (Wide{o.sizes[d]} - 1) * o.strides[d];
    need(s, role, last + 1);
  }
  /// A row of each distance, for every head.
  void cache(const Step& s) {
    const auto& a = s.as<engine::CachedAttention>();
    const Wide all = Wide{a.heads} * a.rows * a.head_dim;
    need(s, Role::keys, all), need(s, Role::values, all);
    if (!a.distances.empty() && static_cast<int64_t>(a.distances.size()) < a.heads) found_ = "heads without distances";
    for (const auto& head : a.distances) {
      for (const int64_t distance : head)
        if (distance >= a.rows) found_ = fmt::format("distance {} of {} rows", distance, a.rows);
    }
  }
  static Wide panels(Wide columns) { return (columns + 15) / 16 * 16; }

  void packed(const Step& s) {
    const auto &x = s.at(Role::x).sizes, &out = s.at(Role::out).sizes;
    if (s.kind == StepKind::linear) {
      const bool int8 = s.has(Role::scale);
      const Wide depth = int8 ? (Wide{x[1]} + 1) / 2 * 2 : x[1];
      need(s, Role::weights, panels(out[1]) * depth);
      need(s, Role::bias, panels(out[1]));
      need(s, Role::scale, panels(out[1]));
      if (int8) need(s, Role::scratch, x[0] * (depth / 2 + 1));
    }
    if (s.kind == StepKind::cached_attention) cache(s);
    if (s.kind == StepKind::group_norm) need(s, Role::weights, x[1]), need(s, Role::bias, x[1]);
    if (s.kind == StepKind::denoise) need(s, Role::weights, 6);
    if (s.kind == StepKind::conv1d) {
      const Wide depth = Wide{x[1]} * s.as<engine::Conv1d>().kernel;
      need(s, Role::weights, panels(out[2]) * depth);
      need(s, Role::bias, panels(out[2]));
    }
    if (s.kind == StepKind::layer_norm) need(s, Role::weights, x[1]), need(s, Role::bias, x[1]);
    const engine::Window window = s.attributes.get<engine::Window>() ? s.as<engine::Window>() : engine::Window{};
    const Wide taps = Wide{window.kernel[0]} * window.kernel[1];
    if (s.kind == StepKind::depthwise) need(s, Role::weights, taps * x[1]), need(s, Role::bias, x[1]);
    if (s.kind == StepKind::conv2d) {
      const Wide depth = x[1] / window.groups * taps, positions = Wide{out[0]} * out[1] * out[2];
      need(s, Role::weights, panels(out[3] / window.groups) * depth * window.groups);
      need(s, Role::bias, panels(out[3]));
      need(s, Role::scratch, std::min<Wide>(1024, positions) * depth);
    }
  }
};

}  // namespace

Program hostile_program(Choices& choices) { return Grammar(choices).program(); }

std::string out_of_bounds(const Program& program) { return Bounds(program).run(); }

}  // namespace fib::test
