# SPDX-License-Identifier: Apache-2.0
# Warnings for our own targets only; headers of dependencies are system headers.
function(fib_warnings target)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:C,CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wundef>
    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual>
    # GCC 12 sees an overlap in `"text" + std::string` that is not there (GCC bug 105651).
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>
    $<$<BOOL:${FIB_WERROR}>:-Werror>)
endfunction()
