/* SPDX-License-Identifier: Apache-2.0 */
/* Mechanisms by name for C and for other languages: what there is, and whether a text of a person names one. Errors are
 * those of fibottention.h. The wheel for Python is built on these two and on fibottention.h. */
#ifndef FIBOTTENTION_MECHANISMS_H_
#define FIBOTTENTION_MECHANISMS_H_

#include "fibottention/fibottention.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every support set as JSON: [{"name":...,"summary":...,"options":[{"key":...,"default":...,"help":...},...]},...].
 * Null with an error; else valid until the next call on this thread. */
FIB_API const char* fib_mechanisms(void);

/* Checks NAME or NAME:key=value,...: its name, its options and their words. *spec is then what fib_pattern_from_spec
 * takes, without the option `masking`, which is *masking. Valid until the next call on this thread. */
FIB_API fib_status fib_mechanism_check(const char* text, const char** spec, fib_masking* masking);

#ifdef __cplusplus
}
#endif

#endif /* FIBOTTENTION_MECHANISMS_H_ */
