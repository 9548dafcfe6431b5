// SPDX-License-Identifier: Apache-2.0
// The rows of arm_tasks(), and what they share.
#pragma once

#include "robots/arm_task.h"
#include "robots/numpy_random.h"

namespace fib::robots {

ArmTask lift_task();
ArmTask can_task();

/// Where every episode begins, with the published noise of 0.02 radians.
JointValues drawn_joints(NumpyRandom& random);
/// numpy.random.uniform(low, high).
inline double drawn_between(NumpyRandom& random, double low, double high) {
  return low + (high - low) * random.uniform();
}

}  // namespace fib::robots
