// SPDX-License-Identifier: Apache-2.0
// What every function of the C interface does with an exception.
#pragma once

#include <new>
#include <stdexcept>

#include "fibottention/fibottention.h"

namespace fib::kernels {

/// Keeps the message for fib_last_error, and gives the status back.
fib_status report_failure(fib_status status, const char* message) noexcept;

/// Runs the body; whatever it throws becomes a code and a message.
template <class Body>
fib_status guarded(const Body& body) noexcept {
  try {
    body();
    return FIB_OK;
  } catch (const std::invalid_argument& e) {
    return report_failure(FIB_INVALID_ARGUMENT, e.what());
  } catch (const std::bad_alloc&) {
    return report_failure(FIB_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& e) {
    return report_failure(FIB_FAILURE, e.what());
  } catch (...) {
    return report_failure(FIB_FAILURE, "unknown failure");
  }
}

}  // namespace fib::kernels
