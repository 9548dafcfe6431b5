# SPDX-License-Identifier: Apache-2.0
# How our targets meet LibTorch: one precompiled header for all of them, and the OpenMP build of OpenBLAS for programs.
find_package(Torch REQUIRED)

# What every target with torch in it is compiled with. The flags must agree to the letter, or the precompiled header is
# not used: hence -fPIC for programs too (CMake would choose -fPIE) and -fopenmp everywhere.
add_library(fib_torch_settings INTERFACE)
target_link_libraries(fib_torch_settings INTERFACE ${TORCH_LIBRARIES} OpenMP::OpenMP_CXX fibottention)
target_include_directories(fib_torch_settings SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
target_include_directories(fib_torch_settings INTERFACE ${PROJECT_SOURCE_DIR}/src)
# Without NDEBUG torch's headers give RecordFunction another layout than Debian's library has.
target_compile_definitions(fib_torch_settings INTERFACE $<$<NOT:$<CONFIG:Release>>:NDEBUG>)
target_compile_options(fib_torch_settings INTERFACE -fPIC $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess> ${FIB_LIGHT_OPTIMIZATION})

# The precompiled header: torch's headers cost about 20 s per file without it.
add_library(fib_torch_pch OBJECT ${PROJECT_SOURCE_DIR}/cmake/torch_pch.cpp)
set_target_properties(fib_torch_pch PROPERTIES POSITION_INDEPENDENT_CODE OFF)
target_link_libraries(fib_torch_pch PRIVATE fib_torch_settings)
target_precompile_headers(fib_torch_pch PRIVATE <torch/torch.h> <torch/library.h>)
fib_warnings(fib_torch_pch) # -Wpedantic changes what the compiler predefines

function(fib_use_torch target)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_link_libraries(${target} PUBLIC fib_torch_settings)
  target_precompile_headers(${target} REUSE_FROM fib_torch_pch)
  fib_warnings(${target})
endfunction()

# Debian's LibTorch asks for libblas.so.3, an alternative that may be OpenBLAS with its own thread pool, which
# oversubscribes the cores. A program that needs the OpenMP build itself, by RUNPATH, is served first, and LibTorch gets
# what is already loaded. Elsewhere LibTorch brings its own BLAS and nothing is done.
find_path(FIB_OPENBLAS_OPENMP libopenblas.so.0
  PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp NO_DEFAULT_PATH
  DOC "Folder of the OpenMP build of OpenBLAS")

function(fib_bind_blas program)
  if(FIB_OPENBLAS_OPENMP)
    target_link_options(${program} PRIVATE
      LINKER:--push-state,--no-as-needed
      ${FIB_OPENBLAS_OPENMP}/libopenblas.so.0 ${FIB_OPENBLAS_OPENMP}/libblas.so.3 ${FIB_OPENBLAS_OPENMP}/liblapack.so.3
      LINKER:--pop-state)
    set_property(TARGET ${program} APPEND PROPERTY BUILD_RPATH ${FIB_OPENBLAS_OPENMP})
    set_property(TARGET ${program} APPEND PROPERTY INSTALL_RPATH ${FIB_OPENBLAS_OPENMP})
  endif()
endfunction()
