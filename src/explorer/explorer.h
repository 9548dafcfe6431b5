/* SPDX-License-Identifier: Apache-2.0 */
/* What the page calls in WebAssembly: C functions that take and give text. Requests and answers are the JSON of view.h;
 * an answer stays valid until the next call, and is {"error": "one line"} where a request was refused. A side is one of
 * the two mechanisms that the page shows beside each other, 0 or 1. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

const char* fib_explorer_mechanisms(void);
/* Makes the support that the functions below speak of. */
const char* fib_explorer_open(int side, const char* request);
const char* fib_explorer_cost(const char* request);
const char* fib_explorer_keys(int side, int query);
const char* fib_explorer_overlap(int side);
/* A JSON string. */
const char* fib_explorer_svg(int side);
/* pixels x pixels bytes of enum Pixel; null where there is no such mask. */
const unsigned char* fib_explorer_mask(int side, int head, int pixels);

#ifdef __cplusplus
}
#endif
