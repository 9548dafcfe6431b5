// SPDX-License-Identifier: Apache-2.0
// Sparse attention inside a program of yours: a support set, a forward pass, and its time beside dense attention.
// c++ -std=c++20 -O2 attention.cpp $(pkg-config --cflags --libs fibottention) -o attention && ./attention 1024
#include <fibottention/attention.h>
#include <fibottention/pattern.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <vector>

namespace {

constexpr int64_t kHeads = 12, kDim = 64;
using Clock = std::chrono::steady_clock;

template <class Body>
double shortest_ms(const Body& body) {
  double shortest = 1e9;
  for (int turn = 0; turn < 5; ++turn) {
    const auto start = Clock::now();
    body();
    shortest = std::fmin(shortest, std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  return shortest;
}

int run(int64_t patches) {
  const auto spec = fib::AttentionSpec::parse("fibottention:wmin=5");
  const auto support = fib::make_support(spec, {.patches = patches, .heads = kHeads});
  const int64_t tokens = support.query_tokens();  // the patches and a class token
  const fib::AttentionShape shape{1, kHeads, tokens, tokens, kDim, kDim};
  // q, k and v of one packed array [T,3,H,d], as a linear layer gives them; the output is [T,H·d].
  const int64_t channels = kHeads * kDim;
  std::vector<float> qkv(static_cast<size_t>(3 * tokens * channels)), out(static_cast<size_t>(tokens * channels));
  for (size_t i = 0; i < qkv.size(); ++i) qkv[i] = std::sin(static_cast<float>(i % 1000003));
  const auto part = [&](int64_t i) {
    return fib::TokenView<const float>{qkv.data() + i * channels, 0, kDim, 3 * channels};
  };
  const fib::AttentionInputs<float> inputs{part(0), part(1), part(2)};
  const fib::TokenView<float> output{out.data(), 0, kDim, channels};

  const double sparse = shortest_ms([&] { fib::attention_forward<float>(support, shape, inputs, output, nullptr); });
  const double dense = shortest_ms([&] { fib::dense_attention_forward<float>(shape, inputs, output, nullptr); });
  std::cout << tokens << " tokens on " << fib::simd_target() << ": " << 100 * support.pruning_ratio()
            << " % of the pairs left out, " << sparse << " ms, dense " << dense << " ms\n";
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) try {
  return run(argc > 1 ? std::atoll(argv[1]) : 1024);
} catch (const std::exception& error) {
  std::cerr << "attention: " << error.what() << "\n";
  return EXIT_FAILURE;
}
