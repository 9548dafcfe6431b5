// SPDX-License-Identifier: Apache-2.0
// rebuild-cifar10 PNGS OUT: CIFAR-10's published binary files out of a lossless copy in PNGs. A developer's tool, run
// by scripts/get-data.sh.
#include <exception>
#include <iostream>

#include "data/file_formats.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "rebuild-cifar10: got " << argc - 1 << " arguments, accepted are two: PNGS OUT\n";
    return 2;
  }
  try {
    for (const std::string& file : fib::rebuild_cifar10(argv[1], argv[2])) std::cout << file << "\n";
  } catch (const std::exception& error) {
    std::cerr << "rebuild-cifar10: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
