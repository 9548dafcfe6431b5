// SPDX-License-Identifier: Apache-2.0
// Arithmetic of strided arrays: what can be seen another way without moving a value.
#pragma once

#include <optional>

#include "engine/program.h"

namespace fib::engine {

int64_t product_of(const std::vector<int64_t>& sizes);
/// All of a buffer in the order of its elements.
Operand dense(int32_t buffer, const std::vector<int64_t>& sizes);
/// Dense too, but with the dimensions in memory ordered as these strides say, largest first.
Operand dense_in_order(int32_t buffer, const std::vector<int64_t>& sizes, const std::vector<int64_t>& like);
/// Dimension i is dimension order[i] of the operand.
Operand permuted(const Operand& operand, const std::vector<int64_t>& order);
/// As NumPy broadcasts.
Operand broadcast(const Operand& operand, const std::vector<int64_t>& sizes);
/// None where values would have to move.
std::optional<Operand> reshaped(const Operand& operand, const std::vector<int64_t>& sizes);
/// As a matrix [M,C] with consecutive values in its rows; none where values would have to move.
std::optional<Operand> rows_of(const Operand& operand);
/// The first block of a matrix's rows, in the body of row_blocks if there are more.
Operand first_block(const Operand& matrix, int64_t block);

}  // namespace fib::engine
