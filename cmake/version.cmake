# SPDX-License-Identifier: Apache-2.0
# FIB_COMMIT: the commit being built, "unknown" outside a git tree. A new commit configures anew.
set(FIB_COMMIT unknown)
find_package(Git QUIET)
if(GIT_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${PROJECT_SOURCE_DIR} rev-parse --show-toplevel --short=12 HEAD
                  OUTPUT_VARIABLE fib_git OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE fib_git_failed)
  string(REPLACE "\n" ";" fib_git "${fib_git}")
  list(LENGTH fib_git fib_git_lines)
  # A source archive unpacked inside somebody else's repository is not that repository's commit.
  if(NOT fib_git_failed AND fib_git_lines EQUAL 2)
    list(GET fib_git 0 fib_git_top)
    if(fib_git_top STREQUAL PROJECT_SOURCE_DIR)
      list(GET fib_git 1 FIB_COMMIT)
      execute_process(COMMAND ${GIT_EXECUTABLE} -C ${PROJECT_SOURCE_DIR} rev-parse --path-format=absolute --git-path logs/HEAD
                      OUTPUT_VARIABLE fib_git_log OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
      if(EXISTS "${fib_git_log}")
        set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${fib_git_log}")
      endif()
    endif()
  endif()
endif()
