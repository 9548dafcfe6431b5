# SPDX-License-Identifier: Apache-2.0
# The rooms that need torch.

# ops: an OBJECT library, because static linking drops objects that only register operators.
fib_room_sources(ops ops)
add_library(fib_ops OBJECT ${ops})
fib_use_torch(fib_ops)

# The names of mechanisms, for those who have the library alone; programs of ours ask the registry itself.
fib_room_sources(names attention/torch/names)
add_library(fib_names OBJECT ${names})
fib_use_torch(fib_names)
target_link_libraries(fib_names PUBLIC fib_tables)

# The operator for Python and C++ programs, self-contained: the kernels are inside.
add_library(fibottention_torch SHARED)
target_link_libraries(fibottention_torch PRIVATE fib_ops fib_names)
install(TARGETS fibottention_torch)
# Debian's Python looks there, whatever folder libraries have.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/fibottention DESTINATION lib/python3/dist-packages
        PATTERN __pycache__ EXCLUDE)
if(NOT FIB_BUILD_PROGRAM)
  return()
endif()

# A graph as an ONNX file. It needs no torch itself, but only torch records a graph.
fib_room_sources(onnx engine/onnx)
add_library(fib_onnx STATIC ${onnx})
target_link_libraries(fib_onnx PUBLIC fib_engine PRIVATE fib_onnx_messages)
fib_warnings(fib_onnx)

# What lives above the operator. A new file in these rooms is built by existing.
foreach(room attention/torch models/torch engine/torch training/torch analysis/torch bench/torch report/torch)
  fib_room_sources(rooms ${room})
endforeach()
add_library(fib_rooms STATIC ${rooms} ${PROJECT_SOURCE_DIR}/cmake/torch_pch.cpp)
fib_use_torch(fib_rooms)
target_link_libraries(fib_rooms PUBLIC fib_prediction fib_runs fib_bench fib_report fmt::fmt)

# What a program of ours links: the rooms, and the operator's registrations.
add_library(fib_with_torch INTERFACE)
target_link_libraries(fib_with_torch INTERFACE fib_rooms $<TARGET_OBJECTS:fib_ops> fib_torch_settings)

# Policies that act in the simulators.
fib_room_sources(policies robots/torch)
fib_room_sources(policies bench/torch/robots)
fib_room_sources(policies report/torch/robots)
add_library(fib_policies STATIC ${policies})
fib_use_torch(fib_policies)
target_link_libraries(fib_policies PUBLIC fib_rooms fib_policy_report)
target_link_libraries(fib_with_torch INTERFACE fib_policies)

# Decoders of texts and time series: how they compute and learn.
fib_room_sources(decoders sequences/torch)
fib_room_sources(decoders report/torch/sequences)
add_library(fib_decoders STATIC ${decoders})
fib_use_torch(fib_decoders)
target_link_libraries(fib_decoders PUBLIC fib_rooms fib_sequences)
target_link_libraries(fib_with_torch INTERFACE fib_decoders)

# The second program: the commands that need torch.
fib_room_sources(torch_cli cli/torch)
fib_room_sources(sequence_cli cli/torch/sequences)
add_library(fib_sequence_commands STATIC ${sequence_cli})
fib_use_torch(fib_sequence_commands)
target_link_libraries(fib_sequence_commands PUBLIC fib_cli fib_decoders)
add_executable(fib-torch ${torch_cli})
target_link_libraries(fib-torch PRIVATE fib_sequence_commands fib_cli fib_data fib_onnx fib_with_torch)
fib_use_torch(fib-torch)
fib_bind_blas(fib-torch)

install(TARGETS fib-torch RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/fibottention)
