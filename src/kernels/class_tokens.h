// SPDX-License-Identifier: Apache-2.0
// Class tokens meet all tokens: their partial results are kept by chunk and joined in chunk order by the last task to
// finish.
#pragma once

#include "kernels/call.h"

namespace fib::kernels {

/// How a head of `tokens` tokens, cls of them class tokens, is cut.
ClassChunks class_chunks(int64_t tokens, int64_t cls);

/// Each joins the chunks of all class tokens of one (sample, head).
template <class T>
void join_forward(const SupportCall<T>& call, TileIndex at);
template <class T>
void join_query_gradients(const SupportCall<T>& call, TileIndex at);
template <class T>
void join_key_gradients(const SupportCall<T>& call, TileIndex at);

}  // namespace fib::kernels
