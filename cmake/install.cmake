# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` gives: headers, library, program with man pages and completions, a CMake package and a pkg-config file.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/fibottention)
install(TARGETS fibottention EXPORT fibottention-targets)
# fibottention::engine, and what it is made of.
install(TARGETS fib_engine fib_tables EXPORT fibottention-targets)
install(DIRECTORY include/fibottention DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET fib)
  install(TARGETS fib)
  foreach(plugin fib_video fib_arm fib_http)
    if(TARGET ${plugin})
      install(TARGETS ${plugin} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/fibottention)
    endif()
  endforeach()
  install(DIRECTORY recipes DESTINATION ${CMAKE_INSTALL_DATADIR}/fibottention)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/manual/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${PROJECT_BINARY_DIR}/completions/bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME fib)
  install(FILES ${PROJECT_BINARY_DIR}/completions/zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions RENAME _fib)
  install(FILES ${PROJECT_BINARY_DIR}/completions/fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d RENAME fib.fish)
endif()

install(EXPORT fibottention-targets NAMESPACE fibottention:: DESTINATION ${package_dir})
configure_package_config_file(cmake/fibottention-config.cmake.in fibottention-config.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(fibottention-config-version.cmake COMPATIBILITY SameMinorVersion)
# Relative to the .pc file, so that the installed tree can be moved.
file(RELATIVE_PATH pc_prefix /root/${CMAKE_INSTALL_LIBDIR}/pkgconfig /root)
# A static library does not bring what it needs itself: then plain `pkg-config --libs` must name it.
get_target_property(library_kind fibottention TYPE)
if(library_kind STREQUAL STATIC_LIBRARY)
  set(pc_libs " ${OpenMP_CXX_FLAGS} -lstdc++")
else()
  set(pc_private .private)
endif()
configure_file(cmake/fibottention.pc.in fibottention.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/fibottention-config.cmake ${PROJECT_BINARY_DIR}/fibottention-config-version.cmake
        DESTINATION ${package_dir})
install(FILES ${PROJECT_BINARY_DIR}/fibottention.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
