// SPDX-License-Identifier: Apache-2.0
// Meshes for small images: robosuite's have a hundred thousand triangles in all, a camera of 84 pixels sees a
// centimeter of the arm as one of them.
#pragma once

#include <string>

namespace fib::robots {

/// A binary STL file's triangles with their corners drawn together into cells of this side; those that vanish are left
/// out. Throws std::runtime_error, naming the file, for anything else.
std::string coarse_stl(const std::string& file, double cell);

}  // namespace fib::robots
