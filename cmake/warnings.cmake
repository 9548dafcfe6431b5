# SPDX-License-Identifier: Apache-2.0
# Warnings for our own targets only; headers of dependencies are system headers.
function(fib_warnings target)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:C,CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wundef>
    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual>
    # GCC 12 sees overlapping and overlong copies in `"literal" + std::string` (its bug 105651), and later ones too see
    # arrays overrun inside torch::autograd::Function. From 13 on it takes the optional guard of LibTorch 2.6's futures for
    # uninitialized.
    "$<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict;-Wno-stringop-overflow>"
    $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds>
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,13>>:-Wno-maybe-uninitialized>
    $<$<BOOL:${FIB_WERROR}>:-Werror>)
endfunction()
