# SPDX-License-Identifier: Apache-2.0
# ONNX's messages and its checker. Debian 12 and 13 give the target different names.
find_package(Protobuf REQUIRED)
find_package(ONNX REQUIRED)
add_library(fib_onnx_messages INTERFACE)
target_link_libraries(fib_onnx_messages INTERFACE $<IF:$<TARGET_EXISTS:ONNX::onnx>,ONNX::onnx,onnx>)
