// SPDX-License-Identifier: Apache-2.0
// How each family of mechanisms makes its heads. A variant is a row of the registry that names one of these.
#pragma once

#include <functional>
#include <vector>

#include "fibottention/pattern.h"
#include "patterns/options.h"
#include "patterns/sequences.h"

namespace fib {

using HeadMaker = std::function<std::vector<HeadPattern>(const OptionValues&, const PatternGeometry&)>;

std::vector<HeadPattern> make_full(const OptionValues&, const PatternGeometry&);
std::vector<HeadPattern> make_local(const OptionValues&, const PatternGeometry&);
std::vector<HeadPattern> make_longformer(const OptionValues&, const PatternGeometry&);
std::vector<HeadPattern> make_bigbird(const OptionValues&, const PatternGeometry&);
std::vector<HeadPattern> make_sparse_transformer(const OptionValues&, const PatternGeometry&);
std::vector<HeadPattern> make_random(const OptionValues&, const PatternGeometry&);
std::vector<HeadPattern> make_dilation(const OptionValues&, const PatternGeometry&);
std::vector<HeadPattern> make_dilation_varying(const OptionValues&, const PatternGeometry&);
std::vector<HeadPattern> make_fib_wmin(const OptionValues&, const PatternGeometry&);
std::vector<HeadPattern> make_fib_shift(const OptionValues&, const PatternGeometry&);

/// Head i uses row i of an array of Fibonacci sequences, in windows from wmin to wmax.
HeadMaker rows_of(SequenceStart (*row)(int64_t));
/// All heads use one sequence, in the window w.
HeadMaker all_heads(DilationSequence sequence);

}  // namespace fib
